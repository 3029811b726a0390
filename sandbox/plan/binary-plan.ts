// Which executables a sandbox uses, and which must be built first. Pure.
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
function programOf(component: ComponentName): BuiltProgram {
  return component === 'kwok' ? 'kwok' : 'kubernetes';
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

/** Linker flags leave debugging information out, so the compiler need not write it: a tenth of its time. */
const WITHOUT_DWARF = '-gcflags=all=-dwarf=false';

/**
 * Compilers and linkers collect garbage only once they have this much: another seventh of the time of two cores. Two
 * run at once.
 */
const SELDOM_COLLECTED = { GOGC: 'off', GOMEMLIMIT: '1GiB' } as const;

/**
 * The environment in which Go builds programs of sandboxes and tests. What is linked stays the same. All modules are
 * built like this: one that is not would compile again what it shares with the others.
 */
export function forQuickBuilds<T extends { readonly inherited: Readonly<Record<string, string>> }>(environment: T): T {
  const given = environment.inherited['GOFLAGS'] ?? '';
  return {
    ...environment,
    inherited: { ...SELDOM_COLLECTED, ...environment.inherited, GOFLAGS: `${given} ${WITHOUT_DWARF}`.trim() },
  };
}

/**
 * The linker's flags: no symbol tables, and the version that Kubernetes' own release build writes into its programs,
 * taken from the module's go.mod; without it the API server and all user agents say `v0.0.0`.
 */
export function linkerFlags(goMod: string): string {
  const found = /^\s*k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\S+)$/m.exec(goMod);
  if (found === null) return '-s -w';
  const [, gitVersion, gitMajor, gitMinor] = found;
  const values = { gitVersion, gitMajor, gitMinor, gitCommit: 'unknown', gitTreeState: 'clean' };
  const packages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'];
  const settings =
    packages.flatMap((name) => Object.entries(values).map(([key, value]) => `-X ${name}.${key}=${value}`));
  return ['-s -w', ...settings].join(' ');
}
