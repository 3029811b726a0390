// The only file that reads the process's environment variables: they are parsed once into a frozen, typed value.
// What is not in `Environment` is not configurable by environment variables.
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The parsed environment variables; frozen. */
export interface Environment {
  /** Absolute cache folder, safe to delete: `$XDG_CACHE_HOME/isthmus`, else `~/.cache/isthmus`. */
  readonly cacheFolder: string;
  /** Folder with ready-made control plane executables, by the envtest convention (`KUBEBUILDER_ASSETS`). */
  readonly kubebuilderAssets?: string;
  /** Path list of `KUBECONFIG`, in kubectl's order of precedence; empty when unset. */
  readonly kubeconfigPaths: readonly string[];
  /** Whether golden files are to be rewritten (`UPDATE_GOLDEN=1`). */
  readonly updateGolden: boolean;
  /** The IP address of the pod that this process runs in (`POD_IP`, which its manifest takes from `status.podIP`). */
  readonly podAddress?: string;
  /** All variables, passed to child processes that need the user's environment (the Go compiler). */
  readonly inherited: Readonly<Record<string, string>>;
}

function definedOnly(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  const pairs = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return Object.freeze(Object.fromEntries(pairs));
}

/** The XDG base directory specification says to ignore a relative path. */
function cacheHome(env: NodeJS.ProcessEnv): string {
  const configured = env['XDG_CACHE_HOME'] ?? '';
  return isAbsolute(configured) ? configured : join(env['HOME'] || homedir(), '.cache');
}

/** Parses environment variables. An empty variable counts as unset. */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  const assets = env['KUBEBUILDER_ASSETS'];
  return Object.freeze({
    cacheFolder: join(cacheHome(env), 'isthmus'),
    ...(assets ? { kubebuilderAssets: assets } : {}),
    kubeconfigPaths: Object.freeze((env['KUBECONFIG'] ?? '').split(':').filter((path) => path !== '')),
    ...(env['POD_IP'] ? { podAddress: env['POD_IP'] } : {}),
    updateGolden: env['UPDATE_GOLDEN'] === '1',
    inherited: definedOnly(env),
  });
}

let ownEnvironment: Environment | undefined;

/** This process's environment, parsed at the first call and cached. */
export function environment(): Environment {
  ownEnvironment ??= readEnvironment(process.env);
  return ownEnvironment;
}
