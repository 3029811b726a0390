// Checks the access that a registry has to a cluster: reads its kubeconfig under the rules for what others wrote,
// resolves and judges its address, and asks the API server which cluster it is. One request, with its own deadline.
import { AppError, messageOf } from '../../process/errors.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { isUnauthorized, isUnreadable } from '../../kubernetes/flow/api-error.ts';
import { readKubeconfig, type ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import type { TenantRules } from '../../targets/access/tenant-rules.ts';
import type { RegisteredAccess, ServerOverride } from '../entry/registered-cluster.ts';
import type { AccessResult } from './access-result.ts';
import { connectionProblem, minimalKubeconfig } from './minimal-kubeconfig.ts';

/** Access by a kubeconfig. */
export type KubeconfigAccess = Extract<RegisteredAccess, { readonly kind: 'kubeconfig' }>;

/** What checks share. */
export interface CheckOptions {
  readonly tenants: TenantRules;
  readonly userAgent: string;
  /** CONNECT endpoints of the gateways of this cluster. */
  readonly gateways: readonly URL[];
}

/** One check. */
export interface AccessCheck extends CheckOptions {
  readonly access: KubeconfigAccess;
  /** ID of the cluster in the clusterset, where it is reached through the gateway. */
  readonly member?: string | undefined;
  /** The kubeconfig that the target has, and the cluster that answered to it: equal access is not tried again. */
  readonly known?: { readonly kubeconfig: string; readonly clusterId: string } | undefined;
}

/** Deadline of the request in ms. */
const ANSWER_MS = 5_000;

/** Checks it. Throws only when `signal` is aborted. */
export async function checkAccess(check: AccessCheck, signal: AbortSignal): Promise<AccessResult> {
  let connection: ClusterConnection;
  try {
    connection = await readConnection(check);
  } catch (error) {
    if (error instanceof AppError) return { kind: 'refused', message: error.message };
    throw error;
  }
  const problem = connectionProblem(connection);
  if (problem !== undefined) return { kind: 'refused', message: problem };
  const kubeconfig = minimalKubeconfig(connection);
  const { known } = check;
  if (known?.kubeconfig === kubeconfig) return { kind: 'answered', kubeconfig, clusterId: known.clusterId };
  return identify(connection, { kubeconfig, userAgent: check.userAgent }, signal);
}

async function readConnection({ access, tenants, member, gateways }: AccessCheck): Promise<ClusterConnection> {
  const { text, context, server } = access;
  const read = await readKubeconfig({ text, author: 'registry', ...(context !== undefined && { context }) });
  const connection = server === undefined ? read : withServer(read, server);
  if (member === undefined) return tenants.confineAddress(connection);
  if (gateways.length === 0) throw new AppError(
    'BadInput', 'target.throughGateway is set, but this process knows no gateway; start it with --gateway',
  );
  return { ...connection, gateway: { clusterId: member, endpoints: gateways } };
}

function withServer(
  { certificateAuthority: _authority, serverName: _name, ...connection }: ClusterConnection,
  { server, certificateAuthorityData, serverName }: ServerOverride,
): ClusterConnection {
  if (!URL.canParse(server) || new URL(server).protocol !== 'https:') {
    throw new AppError('KubeconfigInvalid', 'its server must be an https URL');
  }
  return {
    ...connection, server: new URL(server),
    ...(certificateAuthorityData !== undefined && {
      certificateAuthority: Buffer.from(certificateAuthorityData, 'base64').toString('utf8'),
    }),
    ...(serverName !== undefined && { serverName }),
  };
}

async function identify(
  connection: ClusterConnection, { kubeconfig, userAgent }: { readonly kubeconfig: string; readonly userAgent: string },
  signal: AbortSignal,
): Promise<AccessResult> {
  const client = new ClusterClient(new Transport(connection, userAgent)).withoutRateLimit(ANSWER_MS);
  try {
    return { kind: 'answered', kubeconfig, clusterId: await readClusterId(client, signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (isUnreadable(error)) return { kind: 'answered', kubeconfig, clusterId: undefined };
    return { kind: 'unanswered', message: failureOf(error, connection) };
  } finally {
    void client.transport.close();
  }
}

function failureOf(error: unknown, { server }: ClusterConnection): string {
  if (isUnauthorized(error)) return `${server.host} does not accept the credentials; renew them in the registry`;
  return `${server.host} does not answer as an API server: ${messageOf(error)}`;
}
