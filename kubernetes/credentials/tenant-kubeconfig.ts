// What a kubeconfig that a tenant wrote must not have: it may not make this process run programs, read files, trust
// anything, dial metadata services, or spend much on parsing it.
import type { YamlLimits } from '../../model/objects/yaml-limits.ts';
import { AppError } from '../../process/errors.ts';
import type { Entry } from './kubeconfig-fields.ts';
import { NEVER } from './local-access.ts';

/** Limits for a tenant's YAML. */
export const TENANT_YAML: YamlLimits = { depth: 64, lexemes: 10_000 };

/** What the kubeconfig of a ClusterTarget may have, if its Secret is in the install namespace. */
const OF_ADMINISTRATORS: ReadonlySet<string> = new Set(['proxy-url', 'tls-server-name', 'exec', 'tokenFile']);

const OF_USER = ['exec', 'tokenFile', ...NEVER.user];

/**
 * Checks the cluster and the user of a kubeconfig that a tenant, or a registry, wrote.
 * @throws AppError `KubeconfigRefused` naming the fields that are not allowed.
 */
export function refuseLocalAccess(cluster: Entry, user: Entry, author: 'tenant' | 'registry' = 'tenant'): void {
  const ofCluster = ['certificate-authority', 'proxy-url', 'insecure-skip-tls-verify'];
  const refused = [
    ...(author === 'tenant' ? [...ofCluster, 'tls-server-name'] : ofCluster).filter(
      (field) => cluster[field] !== undefined && cluster[field] !== false,
    ),
    ...OF_USER.filter((field) => user[field] !== undefined),
  ];
  if (refused.length === 0) return;
  throw new AppError(
    'KubeconfigRefused',
    `the kubeconfig uses ${refused.join(', ')}, which is not allowed in a Secret; embed certificate-authority-data ` +
      'and a token or client-certificate-data instead' + (refused.some((field) => OF_ADMINISTRATORS.has(field))
      ? ', or let an administrator make a ClusterTarget with this kubeconfig in the install namespace' : ''),
  );
}

/**
 * Names and addresses of the metadata services of clouds, and all other link-local ones; also names that begin like
 * one, which some public DNS servers resolve to it.
 */
const LINK_LOCAL =
  /^169\.254\.|^\[fe[89ab][0-9a-f]:|^\[::ffff:a9fe:|^\[fd00:ec2::254\]$|^metadata\.google\.internal\.?$/;

/**
 * Checks the server of a tenant's kubeconfig; the URL parser has already normalized its address.
 * @throws AppError `KubeconfigRefused` for a link-local or metadata address.
 */
export function refuseLinkLocal({ hostname }: URL): void {
  if (!LINK_LOCAL.test(hostname)) return;
  throw new AppError(
    'KubeconfigRefused',
    `the kubeconfig's server ${hostname} is a link-local or metadata address, which is not allowed in a Secret`,
  );
}
