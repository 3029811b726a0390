// Aggregates a V8 CPU profile by function and module (`node --cpu-prof`, Chrome DevTools Protocol `Profiler.Profile`).
// Pure.

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
}

/** A profile as V8 writes it; `timeDeltas` are µs, one for each sample. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples?: readonly number[];
  readonly timeDeltas?: readonly number[];
}

/** Time that was spent in one place itself, not in what it called. */
export interface SelfTime {
  /** A function with file and line, or a module. */
  readonly place: string;
  readonly ms: number;
  /** Of all time that was not idle, 0 to 1. */
  readonly fraction: number;
}

const IDLE = '(idle)';

function functionOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  return url === '' ? name : `${name} ${shortUrl(url)}:${lineNumber + 1}`;
}

/** From the package, or from the folder of ours, on. */
function shortUrl(url: string): string {
  const inPackage = url.lastIndexOf('/node_modules/');
  if (inPackage !== -1) return url.slice(inPackage + '/node_modules/'.length);
  const compiled = url.lastIndexOf('/build/');
  return compiled === -1 ? url : url.slice(compiled + '/build/'.length);
}

/** A package, a part of Node.js, or a folder of ours. */
function moduleOf(node: ProfileNode): string {
  const { url, functionName } = node.callFrame;
  if (url === '') return functionName.startsWith('(') ? functionName : 'built-in functions';
  if (url.startsWith('node:')) return url;
  const path = shortUrl(url);
  const depth = path.startsWith('@') || !url.includes('/node_modules/') ? 2 : 1;
  return path.split('/').slice(0, depth).join('/');
}

function selfTimes(profile: CpuProfile, placeOf: (node: ProfileNode) => string): readonly SelfTime[] {
  const places = new Map(profile.nodes.map((node) => [node.id, placeOf(node)]));
  const ms = new Map<string, number>();
  for (const [index, id] of (profile.samples ?? []).entries()) {
    const place = places.get(id) ?? 'unknown';
    if (place !== IDLE) ms.set(place, (ms.get(place) ?? 0) + (profile.timeDeltas?.[index] ?? 0) / 1_000);
  }
  const busy = [...ms.values()].reduce((sum, value) => sum + value, 0);
  return [...ms].map(([place, value]) => ({ place, ms: value, fraction: busy === 0 ? 0 : value / busy }))
    .toSorted((a, b) => b.ms - a.ms);
}

/** The functions that took most time themselves, most first. */
export function topFunctions(profile: CpuProfile, count: number): readonly SelfTime[] {
  return selfTimes(profile, functionOf).slice(0, count);
}

/** The modules that took most time themselves, most first. */
export function topModules(profile: CpuProfile, count: number): readonly SelfTime[] {
  return selfTimes(profile, moduleOf).slice(0, count);
}
