// How the user of a kubeconfig authenticates: which of its fields counts, and what its author may name there.
import { stringify } from 'yaml';
import { isRecord } from '../../model/objects/json-values.ts';
import { environment } from '../../process/config.ts';
import { askAuthProvider, type AuthProviderCredentials } from './auth-provider.ts';
import { readExec } from './exec-credential.ts';
import { ExecPlugin, type ExecPlace } from './exec-plugin.ts';
import { dataOrFile, invalid, text, type Entry, type ReadText } from './kubeconfig-fields.ts';
import { allowedExec, allowedTokenFolders, type LocalAccess } from './local-access.ts';
import type { Headers, ResolvedCredentials } from './resolved-credentials.ts';
import { readTokenFile, type TokenFile } from './token-file.ts';

/** A client certificate and its key in PEM. */
export interface ClientCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** How a client authenticates. Files are re-read at each use, so that rotated ones are picked up. */
export type Credentials = { readonly impersonation?: Headers } & (
  | { readonly kind: 'none' }
  | ClientCertificate & { readonly kind: 'certificate' }
  | { readonly kind: 'token'; readonly token: string; readonly client?: ClientCertificate }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | TokenFile & { readonly kind: 'token-file'; readonly client?: ClientCertificate }
  | { readonly kind: 'exec'; readonly plugin: ExecPlugin }
  | AuthProviderCredentials
);

/**
 * Who wrote a kubeconfig. An `administrator` may use all of its features on the machine that he is at. A `tenant` may
 * not make this process run programs, read files or trust anything; this applies to kubeconfigs in Secrets. In the
 * Secret of a ClusterTarget (`cluster-target`) a proxy may be named, and what {@link LocalAccess} allows. A `registry`
 * of another tool is held to what a tenant is, but may name the server's certificate.
 */
export type KubeconfigAuthor = 'administrator' | 'tenant' | 'cluster-target' | 'registry';

/**
 * Reads or computes credentials. Plugins run under the rules for the kubeconfig's author, checked when it was read.
 * @throws AppError `CredentialsUnavailable` for a plugin or a file that has none.
 */
export async function resolveCredentials(credentials: Credentials): Promise<ResolvedCredentials> {
  const { impersonation } = credentials;
  return { ...(await resolved(credentials)), ...(impersonation && { impersonation }) };
}

async function resolved(credentials: Credentials): Promise<ResolvedCredentials> {
  switch (credentials.kind) {
    case 'none':
      return {};
    case 'certificate':
      return { certificate: credentials.certificate, key: credentials.key };
    case 'token':
      return { ...credentials.client, token: credentials.token };
    case 'basic':
      return { basic: `${credentials.username}:${credentials.password}` };
    case 'token-file':
      return { ...credentials.client, token: await readTokenFile(credentials) };
    case 'exec':
      return credentials.plugin.current();
    case 'auth-provider':
      break;
  }
  return askAuthProvider(credentials);
}

/** The user, and what else its credentials may depend on. */
export interface CredentialInput {
  readonly author: KubeconfigAuthor;
  readonly access: LocalAccess | undefined;
  /** The whole kubeconfig, and the context of the user. */
  readonly config: Entry;
  readonly context: string;
  readonly cluster: Entry;
  /** Certificate authority of the cluster in PEM. */
  readonly authority: string | undefined;
  readonly readText: ReadText;
}

/**
 * How the user authenticates. Runs nothing yet.
 * @throws AppError `KubeconfigInvalid`, `KubeconfigRefused`; `CredentialsUnavailable` for what works elsewhere.
 */
export async function readCredentials(user: Entry, input: CredentialInput): Promise<Credentials> {
  const impersonation = input.author === 'administrator' ? impersonationOf(user) : undefined;
  return { ...(await ownCredentials(user, input)), ...(impersonation && { impersonation }) };
}

async function ownCredentials(user: Entry, input: CredentialInput): Promise<Credentials> {
  const plugin = fromPlugin(user, input);
  if (plugin !== undefined) return plugin;
  const client = await clientCertificate(user, input.readText);
  return fromToken(user, input, client) ?? (client && { kind: 'certificate', ...client }) ?? fromPassword(user);
}

function fromPlugin(
  { exec, 'auth-provider': provider }: Entry, { author, access, config, context, cluster, authority }: CredentialInput,
): Credentials | undefined {
  if (exec !== undefined && provider !== undefined) {
    throw invalid('its user has both exec and auth-provider; remove one');
  }
  if (provider !== undefined) return { kind: 'auth-provider', kubeconfig: stringify(config), context };
  if (exec === undefined) return undefined;
  const read = readExec(exec, cluster, authority);
  const allowed = author === 'administrator' ? [read, ownPlace()] as const : allowedExec(read, access);
  return { kind: 'exec', plugin: new ExecPlugin(...allowed) };
}

/** A proxy in front of the API server may ask for the certificate: as client-go does, both are sent. */
function fromToken(
  user: Entry, { author, access }: CredentialInput, client: ClientCertificate | undefined,
): Credentials | undefined {
  const both = client === undefined ? {} : { client };
  const path = text(user, 'tokenFile'); // before `token`, which client-go uses only while the file cannot be read
  if (path !== undefined) {
    const folders = author === 'administrator' ? {} : { folders: allowedTokenFolders(path, access) };
    return { kind: 'token-file', path, ...folders, ...both };
  }
  const token = text(user, 'token');
  return token === undefined ? undefined : { kind: 'token', token, ...both };
}

/** The key needs a passphrase (PKCS #8, and the older form of OpenSSL). kubectl does not take such a key either. */
const ENCRYPTED = /^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m;

async function clientCertificate(user: Entry, readText: ReadText): Promise<ClientCertificate | undefined> {
  const certificate = await dataOrFile(user, 'client-certificate', readText);
  const key = await dataOrFile(user, 'client-key', readText);
  if (key !== undefined && ENCRYPTED.test(key)) {
    throw invalid('its client-key has a passphrase, which nobody is asked for; embed the key without one');
  }
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  if (certificate === undefined && key === undefined) return undefined;
  throw invalid('a client certificate and its key must both be given');
}

function fromPassword(user: Entry): Credentials {
  const username = text(user, 'username');
  return username === undefined
    ? { kind: 'none' }
    : { kind: 'basic', username, password: text(user, 'password') ?? '' };
}

/** A person's own plugin runs as kubectl runs it. */
function ownPlace(): ExecPlace {
  return { env: environment().inherited, atTerminal: true, isInteractive: process.stdin.isTTY };
}

/**
 * The headers for the fields `as`, `as-uid`, `as-groups` and `as-user-extra` (client-go
 * `transport.NewImpersonatingRoundTripper`); undefined without them.
 * @throws AppError `KubeconfigInvalid` for fields of another shape, and for the others without `as`.
 */
function impersonationOf(user: Entry): Headers | undefined {
  const [name, uid] = [text(user, 'as'), text(user, 'as-uid')];
  const groups = textsOf(user, 'as-groups');
  const extra = user['as-user-extra'] ?? {};
  if (!isRecord(extra)) throw invalid('its as-user-extra must be a mapping');
  const headers = {
    ...(uid !== undefined && { 'impersonate-uid': onWire(uid) }),
    ...(groups.length > 0 && { 'impersonate-group': groups.map(onWire) }),
    ...Object.fromEntries(Object.keys(extra).map(
      (key) => [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, textsOf(extra, key).map(onWire)],
    )),
  };
  if (name !== undefined) return { 'impersonate-user': onWire(name), ...headers };
  if (Object.keys(headers).length > 0) throw invalid('its user has as-uid, as-groups or as-user-extra without as');
  return undefined;
}

/** Headers are bytes: client-go sends those of UTF-8, and Node.js one for each character. */
function onWire(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}

function textsOf(entry: Entry, field: string): readonly string[] {
  const values = entry[field] ?? [];
  if (Array.isArray(values) && values.every((value) => typeof value === 'string')) return values;
  throw invalid(`its ${field} must be a list of strings`);
}
