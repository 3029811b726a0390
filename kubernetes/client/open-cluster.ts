// Opens a client from command flags and the environment: a kubeconfig file, kubectl's defaults, or the pod's
// ServiceAccount.
import { access, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { environment, type Environment } from '../../process/config.ts';
import { AppError, messageOf, reasonOf } from '../../process/errors.ts';
import { version } from '../../process/version.ts';
import { ClusterClient } from './cluster-client.ts';
import { environmentProxy } from '../connect/environment-proxy.ts';
import type { GatewayRoute } from '../connect/gateway-dialer.ts';
import {
  readInClusterConnection, readKubeconfig, withAbsolutePaths, type ClusterConnection,
} from '../credentials/kubeconfig.ts';
import type { ReadText } from '../credentials/kubeconfig-fields.ts';
import { Transport } from '../http/transport.ts';

/** Which cluster to open. */
export interface ClusterChoice {
  /**
   * Kubeconfig file. When missing: `KUBECONFIG`, `~/.kube/config` or the pod's ServiceAccount, whichever is found
   * first.
   */
  readonly kubeconfigPath?: string | undefined;
  /** Context of the kubeconfig; its current-context when missing. */
  readonly context?: string | undefined;
  /** From {@link userAgent}. */
  readonly userAgent: string;
  /** The gateway that proxies all connections; missing for a direct connection. */
  readonly gateway?: GatewayRoute | undefined;
}

/** A client and the connection it was made from. Close `client.transport` when done. */
export interface OpenCluster {
  readonly client: ClusterClient;
  readonly connection: ClusterConnection;
}

/** User agent of a component: `isthmus-<component>/<version>`. */
export function userAgent(component: string): string {
  return `isthmus-${component}/${version()}`;
}

/**
 * Opens a client; sends nothing yet.
 * @throws AppError `KubeconfigInvalid` that names the file.
 */
export async function openCluster(choice: ClusterChoice): Promise<OpenCluster> {
  const connection = await connectionOf(choice, environment());
  return { client: new ClusterClient(new Transport(connection, choice.userAgent)), connection };
}

/**
 * The connection for a choice under the given environment variables. `reread` re-reads it from the same files and keeps
 * its gateway. Throws as {@link openCluster}.
 */
export async function connectionOf(
  choice: Omit<ClusterChoice, 'userAgent'>, env: Environment,
): Promise<ClusterConnection> {
  const files = new RememberedFiles();
  const connection = await readConnection(choice, env, (path) => files.read(path));
  const current: ClusterConnection = {
    ...connection,
    ...(choice.gateway !== undefined && { gateway: choice.gateway }),
    reread: async () => ((await files.areUnchanged()) ? current : connectionOf(choice, env)),
  };
  return current;
}

/** The files that a connection was read from. */
class RememberedFiles {
  readonly #texts = new Map<string, string>();

  async read(path: string): Promise<string> {
    const text = await readFile(path, 'utf8');
    this.#texts.set(path, text);
    return text;
  }

  /** Rejects when one of them cannot be read. */
  async areUnchanged(): Promise<boolean> {
    const same =
      await Promise.all([...this.#texts].map(async ([path, text]) => (await readFile(path, 'utf8')) === text));
    return same.every(Boolean);
  }
}

async function readConnection(
  choice: Pick<ClusterChoice, 'kubeconfigPath' | 'context'>, env: Environment, readText: ReadText,
): Promise<ClusterConnection> {
  const read = async (paths: readonly string[]): Promise<ClusterConnection> => {
    const connection = await readFiles(paths, choice.context, readText);
    const proxy = connection.proxy ?? environmentProxy(connection.server, env.inherited);
    return { ...connection, ...(proxy !== undefined && { proxy }) };
  };
  if (choice.kubeconfigPath !== undefined) return read([choice.kubeconfigPath]);
  if (env.kubeconfigPaths.length > 0) return read(await existing(env.kubeconfigPaths));
  const userFile = join(env.inherited['HOME'] || homedir(), '.kube', 'config');
  const [found] = await existing([userFile]).catch(() => []);
  if (found !== undefined) return read([found]);
  const host = env.inherited['KUBERNETES_SERVICE_HOST'];
  if (host !== undefined && host !== '') {
    return readInClusterConnection(host, env.inherited['KUBERNETES_SERVICE_PORT'] ?? '443', readText);
  }
  throw new AppError(
    'KubeconfigInvalid',
    `There is no kubeconfig: name one with --kubeconfig, set KUBECONFIG, or put it at ${userFile}.`,
  );
}

/** Files named by KUBECONFIG may be missing (kubectl's rule), but not all of them. */
async function existing(paths: readonly string[]): Promise<readonly string[]> {
  const readable = await Promise.all(paths.map((path) => access(path).then(() => true, () => false)));
  const found = paths.filter((_path, index) => readable[index]);
  if (found.length === 0) {
    throw new AppError('KubeconfigInvalid', `None of the kubeconfig files exists: ${paths.join(', ')}.`);
  }
  return found;
}

async function readFiles(
  paths: readonly string[], context: string | undefined, readText: ReadText,
): Promise<ClusterConnection> {
  const texts = await Promise.all(paths.map((path) => readKubeconfigFile(path, readText)));
  try {
    const [first = ''] = paths;
    const one = texts.length === 1
      ? { text: texts[0] ?? '', folder: dirname(first) }
      : { text: mergeKubeconfigs(texts, paths.map(dirname)) };
    return await readKubeconfig(
      { ...one, author: 'administrator', readText, ...(context !== undefined && { context }) },
    );
  } catch (error) {
    throw new AppError(
      error instanceof AppError ? error.code : 'KubeconfigInvalid', `${paths.join(', ')}: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

/** Reads a kubeconfig. Throws AppError `KubeconfigInvalid` that names the file. */
export async function readKubeconfigFile(path: string, readText: ReadText): Promise<string> {
  try {
    return await readText(path);
  } catch (error) {
    throw new AppError(
      'KubeconfigInvalid', `The kubeconfig ${path} cannot be read: ${reasonOf(error)}.`, { cause: error },
    );
  }
}

/**
 * Merges kubeconfigs: the first entry or setting of a name wins (client-go `clientcmd` loading rules). Relative paths
 * resolve against the folder of their file, where folders are given. Throws AppError.
 */
export function mergeKubeconfigs(texts: readonly string[], folders: readonly string[] = []): string {
  const configs = texts.map((text, index) => {
    const [config, folder] = [parseMapping(text), folders[index]];
    return folder === undefined ? config : withAbsolutePaths(config, folder);
  });
  const entries = (list: string): unknown[] =>
    configs.flatMap((config) => (Array.isArray(config[list]) ? (config[list] as unknown[]) : []));
  const current = configs.map((config) => config['current-context']).find((name) => name !== undefined && name !== '');
  return stringify({
    clusters: entries('clusters'), users: entries('users'), contexts: entries('contexts'), 'current-context': current,
  });
}

function parseMapping(text: string): Readonly<Record<string, unknown>> {
  try {
    return (parse(text, { maxAliasCount: 10, logLevel: 'error' }) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    // the parser's message may quote a token
    throw new AppError('KubeconfigInvalid', 'one of these kubeconfigs is not valid YAML');
  }
}
