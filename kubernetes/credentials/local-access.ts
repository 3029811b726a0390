// What the kubeconfig of a ClusterTarget may use of the pods of Isthmus: programs, variables and token files that the
// installation names. Anyone who may write the Secret chooses among them, and nothing else.
import { basename, isAbsolute, normalize } from 'node:path';
import { AppError } from '../../process/errors.ts';
import type { ExecConfig } from './exec-credential.ts';
import type { ExecPlace } from './exec-plugin.ts';
import type { Entry } from './kubeconfig-fields.ts';
import { isBelow } from './token-file.ts';

/** What an installation names; nothing by default. */
export interface LocalAccess {
  /** Exec plugins: names on the PATH, or absolute paths. */
  readonly execPlugins: readonly string[];
  /** Variables that plugins may get besides {@link OWN_VARIABLES} and {@link INHERITED}. */
  readonly execEnvironment: readonly string[];
  /** Folders that token files may be below of. */
  readonly tokenFolders: readonly string[];
  /** The environment of this process. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Fields that only a person's own kubeconfig may have, on whichever machine it is; and those of impersonation, which is
 * not used: without it the user would have other permissions than its author meant.
 */
export const NEVER = {
  cluster: ['certificate-authority', 'insecure-skip-tls-verify'],
  user: [
    'auth-provider', 'client-certificate', 'client-key', 'username', 'password',
    'as', 'as-uid', 'as-groups', 'as-user-extra',
  ],
} as const;
/**
 * Variables that a kubeconfig may set: they name identities and regions, and make no cloud program load code or read
 * another configuration, as PATH, HOME or AWS_CONFIG_FILE would.
 */
const OWN_VARIABLES: ReadonlySet<string> = new Set([
  'AWS_PROFILE', 'AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_STS_REGIONAL_ENDPOINTS', 'AWS_ROLE_ARN',
  'AWS_ROLE_SESSION_NAME', 'AAD_LOGIN_METHOD', 'AZURE_CLIENT_ID', 'AZURE_TENANT_ID', 'AZURE_ENVIRONMENT',
  'AAD_SERVICE_PRINCIPAL_CLIENT_ID', 'AAD_SERVICE_PRINCIPAL_CLIENT_SECRET', 'CLOUDSDK_CORE_PROJECT',
]);
/** Variables of this process that plugins get: where things are, proxies, and identities that clouds give to pods. */
const INHERITED = new RegExp(
  '^(?:PATH|HOME|LANG|LC_ALL|TZ|TMPDIR|SSL_CERT_FILE|SSL_CERT_DIR|(?:HTTPS?|NO)_PROXY|(?:https?|no)_proxy' +
    '|(?:AWS|AZURE|AAD|GOOGLE|CLOUDSDK)_\\w+)$',
);

/**
 * Checks the cluster and the user of the kubeconfig of a ClusterTarget.
 * @throws AppError `KubeconfigRefused` naming the fields that no installation can allow.
 */
export function refuseUnsafe(cluster: Entry, user: Entry): void {
  const refused = [
    ...NEVER.cluster.filter((field) => cluster[field] !== undefined && cluster[field] !== false),
    ...NEVER.user.filter((field) => user[field] !== undefined),
  ];
  if (refused.length > 0) throw refusal(
    `${refused.join(', ')}, which is not allowed in a Secret; embed certificate-authority-data and a token or ` +
      'client-certificate-data instead',
  );
}

/**
 * The plugin and its environment: the program of the installation that the kubeconfig names, without a terminal and
 * with a few of the variables of this process.
 * @throws AppError `KubeconfigRefused` saying what the administrator changes; `CredentialsUnavailable` without
 *   `access`.
 */
export function allowedExec(
  exec: ExecConfig, access: LocalAccess | undefined,
): readonly [ExecConfig, ExecPlace] {
  if (access === undefined) throw notHere('exec');
  const { command, env, interactiveMode } = exec;
  const program = access.execPlugins.find((named) => named === command || basename(named) === command);
  if (program === undefined) throw refusal(
    `exec with command ${JSON.stringify(command)}, which this installation does not name; add it to --exec-plugins ` +
      '(execPlugins of the chart), or embed a token',
  );
  const unknown = Object.keys(env).filter((name) => !OWN_VARIABLES.has(name) && !access.execEnvironment.includes(name));
  if (unknown.length > 0) throw refusal(
    `exec.env with ${unknown.join(', ')}, which this installation does not name; add it to --exec-environment ` +
      '(execEnvironment of the chart), or leave it out',
  );
  if (interactiveMode === 'Always') throw refusal(
    'exec with interactiveMode Always, and nobody can be asked; set it to Never or IfAvailable',
  );
  return [{ ...exec, command: program }, execPlaceOf(access)];
}

function execPlaceOf({ environment, execEnvironment }: LocalAccess): ExecPlace {
  const env = Object.fromEntries(
    Object.entries(environment).filter(([name]) => INHERITED.test(name) || execEnvironment.includes(name)),
  );
  return { env, atTerminal: false, isInteractive: false };
}

/**
 * The folders that the token file must be in, with all of its links.
 * @throws AppError `KubeconfigRefused` for a path below none of them, `CredentialsUnavailable` without `access`.
 */
export function allowedTokenFolders(path: string, access: LocalAccess | undefined): readonly string[] {
  if (access === undefined) throw notHere('tokenFile');
  const { tokenFolders } = access;
  if (isAbsolute(path) && tokenFolders.some((folder) => isBelow(normalize(path), folder))) return tokenFolders;
  throw refusal(
    `tokenFile ${JSON.stringify(path)}, which is below no folder that this installation names; add its folder to ` +
      '--token-folders (tokenFolders of the chart), or embed the token',
  );
}

/** A command runs on its user's machine, where no administrator has listed the programs that a Secret may start. */
function notHere(field: string): AppError {
  return new AppError(
    'CredentialsUnavailable',
    `the kubeconfig uses ${field}, which works in the pods of Isthmus alone; use kubectl, which asks them`,
  );
}

function refusal(what: string): AppError {
  return new AppError('KubeconfigRefused', `the kubeconfig uses ${what}`);
}
