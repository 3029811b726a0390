// Parses a kubeconfig into a connection. What its author may not use is rejected, what is unsupported is named; nothing
// is silently ignored.
import { isAbsolute, join } from 'node:path';
import { parse, YAMLParseError } from 'yaml';
import { exceedsYamlLimits } from '../../model/objects/yaml-limits.ts';
import type { ConnectionLimits } from '../connect/connection-limits.ts';
import type { MayDial } from '../connect/guarded-dial.ts';
import type { GatewayRoute } from '../connect/gateway-dialer.ts';
import { dataOrFile, invalid, readUtf8, text, type Entry, type ReadText } from './kubeconfig-fields.ts';
import { readCredentials, type Credentials, type KubeconfigAuthor } from './kubeconfig-user.ts';
import { refuseUnsafe, type LocalAccess } from './local-access.ts';
import { refuseLinkLocal, refuseLocalAccess, TENANT_YAML } from './tenant-kubeconfig.ts';
import { isRecord, withoutNulls } from '../../model/objects/json-values.ts';

/** Everything needed to reach one API server. */
export interface ClusterConnection {
  /** `https://host:port` and possibly a path. */
  readonly server: URL;
  /** PEM bundle to verify the server with; the system's roots when missing. */
  readonly certificateAuthority?: string;
  /** Name expected in the server's certificate; the host of `server` when missing. */
  readonly serverName?: string;
  readonly insecure: boolean;
  /** HTTP(S) proxy that tunnels all connections. */
  readonly proxy?: URL;
  /** The gateway that proxies all connections; `server` then is only used to verify the API server. */
  readonly gateway?: GatewayRoute;
  readonly credentials: Credentials;
  /** Default namespace of the kubeconfig's context, for people's commands. */
  readonly namespace?: string;
  /** Limits for a server that a tenant named; missing for an administrator's. */
  readonly limits?: ConnectionLimits;
  /** Addresses that a server may have that a registry named; any when missing. */
  readonly mayDial?: MayDial;
  /**
   * Re-reads the connection from its files; returns this same object while they have not changed. Missing where there
   * are no files.
   */
  readonly reread?: () => Promise<ClusterConnection>;
}

/** What to read: the text, the context (current-context when missing) and its author. */
export interface KubeconfigInput {
  readonly text: string;
  readonly context?: string;
  readonly author: KubeconfigAuthor;
  /** What the kubeconfig of a ClusterTarget may use of this process; missing where it is not run by its author. */
  readonly access?: LocalAccess | undefined;
  /**
   * Folder of the kubeconfig, against which relative paths resolve (kubectl's rule); the working directory when
   * missing.
   */
  readonly folder?: string;
  /** Reads the files that the kubeconfig names. */
  readonly readText?: ReadText;
}

const MAX_KUBECONFIG_CHARACTERS = 1_000_000;
/**
 * The connection that a kubeconfig describes (client-go `clientcmd/api/v1`).
 * @throws AppError `KubeconfigInvalid` when it cannot be used, `KubeconfigRefused` when its author may not use one of
 * its features.
 */
export async function readKubeconfig(input: KubeconfigInput): Promise<ClusterConnection> {
  const parsed = parseYaml(input);
  const config = input.folder === undefined ? parsed : withAbsolutePaths(parsed, input.folder);
  const readText = input.readText ?? readUtf8;
  const contextName = input.context ?? text(config, 'current-context');
  if (contextName === undefined) throw invalid('it has no current-context; set one, or name a context');
  const context = named(config, 'contexts', 'context', contextName);
  const cluster = named(config, 'clusters', 'cluster', text(context, 'cluster') ?? '');
  const userName = text(context, 'user');
  const user = userName === undefined ? {} : named(config, 'users', 'user', userName);
  refuseForeign(cluster, user, input.author);
  const server = serverUrl(cluster);
  const proxy = proxyUrl(cluster);
  if (input.author !== 'administrator') for (const url of proxy === undefined ? [server] : [server, proxy]) {
    refuseLinkLocal(url);
  }
  const authority = await dataOrFile(cluster, 'certificate-authority', readText);
  const { author, access } = input;
  return {
    server,
    insecure: cluster['insecure-skip-tls-verify'] === true,
    ...(proxy !== undefined && { proxy }),
    ...namesOf(context, cluster, authority),
    credentials:
      await readCredentials(user, { author, access, config, context: contextName, cluster, authority, readText }),
  };
}

/** @throws AppError `KubeconfigRefused` for fields that a kubeconfig of another author must not have. */
function refuseForeign(cluster: Entry, user: Entry, author: KubeconfigAuthor): void {
  if (author === 'tenant' || author === 'registry') refuseLocalAccess(cluster, user, author);
  if (author === 'cluster-target') refuseUnsafe(cluster, user);
}

const PATH_FIELDS = {
  clusters: ['cluster', 'certificate-authority'], users: ['user', 'client-certificate', 'client-key', 'tokenFile'],
} as const;

/**
 * The kubeconfig with relative paths resolved, including paths of exec commands (client-go
 * `clientcmd.ResolveLocalPaths`).
 */
export function withAbsolutePaths(
  config: Readonly<Record<string, unknown>>, folder: string,
): Readonly<Record<string, unknown>> {
  const absolute = (value: unknown) =>
    (typeof value === 'string' && value !== '' && !isAbsolute(value) ? join(folder, value) : value);
  const resolved: Record<string, unknown> = { ...config };
  for (const [list, [member, ...fields]] of Object.entries(PATH_FIELDS)) {
    const entries: unknown = config[list];
    if (!Array.isArray(entries)) continue;
    resolved[list] = entries.map((entry: unknown) => {
      const inner: unknown = isRecord(entry) ? entry[member] : undefined;
      if (!isRecord(entry) || !isRecord(inner)) return entry;
      const changed: Record<string, unknown> = { ...inner };
      for (const field of fields) if (inner[field] !== undefined) changed[field] = absolute(inner[field]);
      const exec: unknown = inner['exec'];
      if (isRecord(exec) && String(exec['command']).includes('/')) {
        changed['exec'] = { ...exec, command: absolute(exec['command']) };
      }
      return { ...entry, [member]: changed };
    });
  }
  return resolved;
}

/** The connection of a process that runs in a pod, from the files that Kubernetes mounts there. */
export async function readInClusterConnection(
  host: string, port: string, readText: ReadText = readUtf8,
): Promise<ClusterConnection> {
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount';
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    certificateAuthority: await readText(`${folder}/ca.crt`),
    insecure: false,
    credentials: { kind: 'token-file', path: `${folder}/token` },
  };
}

function namesOf(
  context: Entry, cluster: Entry, certificateAuthority: string | undefined,
): Pick<ClusterConnection, 'namespace' | 'serverName' | 'certificateAuthority'> {
  const namespace = text(context, 'namespace');
  const serverName = text(cluster, 'tls-server-name');
  return {
    ...(certificateAuthority !== undefined && { certificateAuthority }),
    ...(serverName !== undefined && { serverName }),
    ...(namespace !== undefined && { namespace }),
  };
}

function proxyUrl(cluster: Entry): URL | undefined {
  const proxy = text(cluster, 'proxy-url');
  if (proxy === undefined) return undefined;
  if (!URL.canParse(proxy) || !/^https?:$/.test(new URL(proxy).protocol)) {
    throw invalid('its proxy-url must start with http:// or https://');
  }
  return new URL(proxy);
}

function serverUrl(cluster: Entry): URL {
  const server = text(cluster, 'server');
  if (server === undefined || !URL.canParse(server)) {
    throw invalid('its cluster has no valid server; set server to https://HOST:PORT');
  }
  const url = new URL(server);
  // the start of the text may be part of a token
  if (url.protocol !== 'https:') throw invalid('its server must start with https://');
  if (url.username !== '' || url.password !== '') throw invalid('its server must not contain a user name or password');
  return url;
}

function parseYaml({ text: content, author }: KubeconfigInput): Entry {
  if (content.length > MAX_KUBECONFIG_CHARACTERS) {
    throw invalid(`it is longer than ${MAX_KUBECONFIG_CHARACTERS} characters`);
  }
  if (content.trim() === '') throw invalid('it is empty');
  const isOthers = author === 'tenant' || author === 'registry';
  if (isOthers && exceedsYamlLimits(content, TENANT_YAML)) throw invalid('it is too large or too deeply nested');
  let config: unknown;
  try {
    config = withoutNulls(parse(content, { maxAliasCount: 10, logLevel: 'error' }) as unknown);
  } catch (error) {
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined; // the message may quote a token
    throw invalid(`it is not valid YAML${line === undefined ? '' : `, see line ${line}`}`);
  }
  if (!isRecord(config)) throw invalid('it is not a YAML mapping');
  return config;
}

function named(config: Entry, list: string, member: string, name: string): Entry {
  const entries = config[list];
  const found = Array.isArray(entries) ? entries.find((entry) => isRecord(entry) && entry['name'] === name) : undefined;
  const value: unknown = isRecord(found) ? found[member] : undefined;
  if (!isRecord(value)) throw invalid(`it has no ${member} named "${name}"`);
  return value;
}
