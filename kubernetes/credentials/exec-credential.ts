// Input and output of an exec plugin: `ExecCredential` of client.authentication.k8s.io, as in client-go.
import { invalid as invalidKubeconfig, type Entry } from './kubeconfig-fields.ts';
import type { AppError } from '../../process/errors.ts';
import { isRecord, parsedJson } from '../../model/objects/json-values.ts';
import { isBearerToken, type ResolvedCredentials } from './resolved-credentials.ts';

/** The `exec` section of a kubeconfig's user, checked. */
export interface ExecConfig {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: ExecApiVersion;
  readonly interactiveMode: InteractiveMode;
  /** How to install the plugin. */
  readonly installHint?: string;
  /** The cluster as it is passed to the plugin; missing unless `provideClusterInfo` is set. */
  readonly cluster?: Entry;
}

/** Versions that client-go still speaks. */
const API_VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
type ExecApiVersion = (typeof API_VERSIONS)[number];
const INTERACTIVE_MODES = ['Never', 'IfAvailable', 'Always'] as const;
type InteractiveMode = (typeof INTERACTIVE_MODES)[number];

/** Name of the cluster's extension that plugins get as `config`. */
const CLUSTER_EXTENSION = 'client.authentication.k8s.io/exec';
/** Fields of the cluster that plugins get. */
const CLUSTER_FIELDS = [
  'server', 'tls-server-name', 'insecure-skip-tls-verify', 'certificate-authority-data', 'proxy-url',
  'disable-compression',
] as const;

/**
 * The `exec` section of a user. `authority` is the certificate authority of the cluster in PEM, also where the
 * kubeconfig names its file.
 * @throws AppError `KubeconfigInvalid` naming the field that is wrong.
 */
export function readExec(exec: unknown, cluster: Entry, authority: string | undefined): ExecConfig {
  if (!isRecord(exec)) throw invalid('exec', 'must have a command and an apiVersion');
  const { command, args, apiVersion, interactiveMode } = exec;
  if (typeof command !== 'string' || command === '') throw invalid('exec.command', 'is missing');
  const version = API_VERSIONS.find((known) => known === apiVersion);
  if (version === undefined) throw invalid('exec.apiVersion', `must be one of ${API_VERSIONS.join(', ')}`);
  const mode = INTERACTIVE_MODES.find((known) => known === interactiveMode);
  const isMissing = interactiveMode === undefined || interactiveMode === null;
  // client-go lets v1beta1 leave it out
  if (mode === undefined && !(isMissing && version.endsWith('v1beta1'))) {
    throw invalid('exec.interactiveMode', `must be one of ${INTERACTIVE_MODES.join(', ')}`);
  }
  return {
    command, apiVersion: version, interactiveMode: mode ?? 'IfAvailable', args: textsOf(args), env: variablesOf(exec),
    ...(typeof exec['installHint'] === 'string' && { installHint: exec['installHint'] }),
    ...(exec['provideClusterInfo'] === true && { cluster: clusterInfo(cluster, authority) }),
  };
}

function textsOf(args: unknown): readonly string[] {
  if (args === undefined || args === null) return [];
  if (Array.isArray(args) && args.every((each) => typeof each === 'string')) return args;
  throw invalid('exec.args', 'must be a list of strings');
}

function variablesOf({ env }: Entry): Readonly<Record<string, string>> {
  if (env === undefined || env === null) return {};
  const isVariable = (each: unknown): each is { readonly name: string; readonly value: string } =>
    isRecord(each) && typeof each['name'] === 'string' && typeof each['value'] === 'string';
  if (!Array.isArray(env) || !env.every(isVariable)) {
    throw invalid('exec.env', 'must be a list of name and value, both strings');
  }
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

function clusterInfo(cluster: Entry, authority: string | undefined): Entry {
  const fields: Record<string, unknown> =
    Object.fromEntries(CLUSTER_FIELDS.filter((field) => cluster[field] !== undefined).map((f) => [f, cluster[f]]));
  if (authority !== undefined) fields['certificate-authority-data'] = Buffer.from(authority, 'utf8').toString('base64');
  const { extensions } = cluster;
  const ours: unknown = Array.isArray(extensions)
    ? extensions.find((each) => isRecord(each) && each['name'] === CLUSTER_EXTENSION) : undefined;
  return isRecord(ours) ? { ...fields, config: ours['extension'] } : fields;
}

/** Value of `KUBERNETES_EXEC_INFO`, from which a plugin knows what it is asked for. */
export function execInfo({ apiVersion, cluster }: ExecConfig, interactive: boolean): string {
  return JSON.stringify({
    apiVersion, kind: 'ExecCredential', spec: { interactive, ...(cluster !== undefined && { cluster }) },
  });
}

/** Credentials from a plugin; `expiresAtMs` is missing where it does not say until when they hold. */
export interface PluginAnswer {
  readonly credentials: ResolvedCredentials;
  readonly expiresAtMs?: number;
}

/** Reads a plugin's output. An error message does not quote it, because it may contain a secret. */
export function readExecCredential(output: string, apiVersion: string, nowMs: number): PluginAnswer | string {
  const answer = parsedJson(output);
  if (!isRecord(answer) || answer['kind'] !== 'ExecCredential') return 'it printed no ExecCredential';
  if (answer['apiVersion'] !== apiVersion) return `it printed an ExecCredential that is not of ${apiVersion}`;
  const { status } = answer;
  if (!isRecord(status)) return 'it printed an ExecCredential without a status';
  const credentials = toCredentials(status);
  const { expirationTimestamp: until } = status;
  if (typeof credentials === 'string' || until === undefined || until === null) {
    return typeof credentials === 'string' ? credentials : { credentials };
  }
  const expiresAtMs = typeof until === 'string' ? Date.parse(until) : Number.NaN;
  if (Number.isNaN(expiresAtMs)) return 'it printed an expirationTimestamp that is not a time';
  return expiresAtMs > nowMs ? { credentials, expiresAtMs } : 'it printed credentials that have expired already';
}

function toCredentials(
  { token, clientCertificateData: certificate, clientKeyData: key }: Entry,
): ResolvedCredentials | string {
  if (!isTextOrMissing(token) || !isTextOrMissing(certificate) || !isTextOrMissing(key)) {
    return 'it printed a token, clientCertificateData or clientKeyData that is not a string';
  }
  if ((certificate === undefined) !== (key === undefined)) {
    return 'it printed only one of clientCertificateData and clientKeyData';
  }
  if (token === undefined && certificate === undefined) return 'it printed neither a token nor a client certificate';
  if (token !== undefined && !isBearerToken(token)) return 'it printed a token with characters that no token has';
  return { ...(token && { token }), ...(certificate && { certificate }), ...(key && { key }) };
}

function isTextOrMissing(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value !== '');
}

function invalid(field: string, why: string): AppError {
  return invalidKubeconfig(`its user's ${field} ${why}`);
}
