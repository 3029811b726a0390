// How long pods took from step to step of their way, read off what the watches of all clusters said: for the figures of
// long runs.
import { PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { isRunning, type IsthmusWorld, type WorldCluster } from '../worlds/isthmus-world.ts';

const STEPS = ['chaperon', 'delegate', 'its node', 'bound', 'running'] as const;

/**
 * Seconds from each step to the next, medians by tenth of the order of creation, of the pods of these namespaces made
 * since `from`.
 */
export function secondsOfSteps(
  world: IsthmusWorld, namespaces: readonly string[], from: number,
): Readonly<Record<string, readonly number[]>> {
  const pods = [...firstTimes(world, namespaces, from).values()];
  const tenths = Array.from({ length: 10 }, (_, i) => pods.slice((i * pods.length) / 10, ((i + 1) * pods.length) / 10));
  return Object.fromEntries(STEPS.map(
    (step, index) =>
      [step, tenths.map((tenth) => medianOf(tenth.map((times) => (times[index + 1] ?? NaN) - (times[index] ?? NaN))))],
  ));
}

/** Tells that an object that belongs to the pod of this UID was seen at a step, at a time in ms. */
type Note = (uid: string | undefined, step: number, at: number) => void;

/** When each pod was first seen at each step, in ms, by UID. */
function firstTimes(
  { source, targets }: IsthmusWorld, namespaces: readonly string[], from: number,
): ReadonlyMap<string, number[]> {
  const times = new Map<string, number[]>();
  const note: Note = (uid = '', step, at) => {
    const known = times.get(uid);
    if (known !== undefined && at >= from) known[step] ??= at;
  };
  for (const { at, after: pod } of source.pods.history) {
    if (pod === undefined || at < from || !namespaces.includes(pod.metadata.namespace ?? '')) continue;
    const uid = pod.metadata.uid ?? '';
    if (!times.has(uid)) times.set(uid, [at]);
    if ((pod.spec.nodeName ?? '') !== '') note(uid, 4, at);
    if (isRunning(pod)) note(uid, 5, at);
  }
  for (const target of targets) noteTarget(target, note);
  return times;
}

function noteTarget({ chaperons, pods }: WorldCluster, note: Note): void {
  for (const { at, after: chaperon } of chaperons.history) note(chaperon?.metadata.labels?.[PARENT_UID_LABEL], 1, at);
  for (const { at, after: pod } of pods.history) {
    const uid = pod?.metadata.labels?.[PARENT_UID_LABEL];
    note(uid, 2, at);
    if ((pod?.spec.nodeName ?? '') !== '') note(uid, 3, at);
  }
}

function medianOf(ms: readonly number[]): number {
  return Math.round((ms.toSorted((a, b) => a - b)[Math.floor(ms.length / 2)] ?? NaN) / 100) / 10;
}
