// Which executables a sandbox uses, and which of them must be built first. Pure.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { componentNames, type ComponentName } from './cluster-plan.ts';

/** The programs that the Go module makes: `kubernetes` is four in one. */
export type BuiltProgram = 'kubernetes' | 'kwok';

/** How to start each component: the executable and its leading arguments. */
export type ComponentCommands = Readonly<Record<ComponentName, readonly [string, ...string[]]>>;

/** What is there and what is not. */
export interface BinaryPlan {
  readonly commands: ComponentCommands;
  /** Programs that some command needs and the cache lacks. */
  readonly toBuild: readonly BuiltProgram[];
}

/** The built program that contains a component. */
export function programOf(component: ComponentName): BuiltProgram {
  return component === 'kwok' ? 'kwok' : 'kubernetes';
}

/**
 * The key of the cache folder of built programs: 16 hexadecimal digits over the module's files (name and text) and the
 * platform, so that another version or platform never meets the wrong executable.
 */
export function binariesKey(files: Readonly<Record<string, string>>, platform: string): string {
  const hash = createHash('sha256').update(platform);
  for (const name of Object.keys(files).toSorted()) hash.update(`\0${name}\0${files[name]}`);
  return hash.digest('hex').slice(0, 16);
}

/** Go's name of a platform that Node names, `linux/amd64` for `linux` and `x64`. */
export function goPlatform(platform: string, arch: string): string {
  const architectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };
  return `${platform === 'win32' ? 'windows' : platform}/${architectures[arch] ?? arch}`;
}

/** Chooses for each component: the ready-made executable where one is given, else the built program in `folder`. */
export function planBinaries(
  readyMade: Readonly<Partial<Record<ComponentName, string>>>,
  folder: string,
  built: ReadonlySet<BuiltProgram>,
): BinaryPlan {
  const entries = componentNames.map((name): readonly [ComponentName, readonly [string, ...string[]]] => {
    const given = readyMade[name];
    if (given !== undefined) return [name, [given]];
    const program = join(folder, programOf(name));
    return [name, name === 'kwok' ? [program] : [program, name]];
  });
  const needed = componentNames.filter((name) => readyMade[name] === undefined).map(programOf);
  return {
    commands: Object.fromEntries(entries) as Record<ComponentName, readonly [string, ...string[]]>,
    toBuild: [...new Set(needed)].filter((program) => !built.has(program)),
  };
}

/**
 * The linker's flags: no symbol tables, and the version that Kubernetes' own release build writes into its programs, taken
 * from the module's go.mod; without it the API server and all user agents say `v0.0.0`.
 */
export function linkerFlags(goMod: string): string {
  const found = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\S+)$/m.exec(goMod);
  if (found === null) return '-s -w';
  const [, gitVersion, gitMajor, gitMinor] = found;
  const values = { gitVersion, gitMajor, gitMinor, gitCommit: 'unknown', gitTreeState: 'clean' };
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const settings = packages.flatMap((name) => Object.entries(values).map(([key, value]) => `-X ${name}.${key}=${value}`));
  return ['-s -w', ...settings].join(' ');
}

/** A Go version as numbers. */
export type GoVersion = readonly [major: number, minor: number];

/** The version in the output of `go version`, or in a `go` line of a go.mod. */
export function parseGoVersion(text: string): GoVersion | undefined {
  const found = /\bgo ?(\d+)\.(\d+)/.exec(text);
  return found === null ? undefined : [Number(found[1]), Number(found[2])];
}

const isOlder = (left: GoVersion, right: GoVersion): boolean => left[0] < right[0] || (left[0] === right[0] && left[1] < right[1]);

/** The first Go that fetches by itself the newer toolchain that a module asks for. */
const selfUpdating: GoVersion = [1, 21];

/**
 * Why this Go cannot build the module, or undefined if it can. `toolchain` is what `go env GOTOOLCHAIN` says: with
 * `local`, Go never fetches a newer one.
 */
export function goObjection(installed: GoVersion, wanted: GoVersion, toolchain: string): string | undefined {
  if (!isOlder(installed, wanted)) return undefined;
  const has = `Go ${installed.join('.')} is installed`;
  if (isOlder(installed, selfUpdating)) return `${has}, and Go ${selfUpdating.join('.')} or newer is needed: install a current one (https://go.dev/dl).`;
  if (toolchain.startsWith('local')) {
    return `${has}, Go ${wanted.join('.')} is needed, and GOTOOLCHAIN=local forbids Go to fetch it: install that version or unset GOTOOLCHAIN.`;
  }
  return undefined;
}
