// Peering: the target gets an identity for the source, the source gets a way to use it. Every write is a server-side
// apply of the same objects, so that peering again renews the token and changes nothing else.
import { DEFAULT_TOKEN_SECONDS } from '../../api/kinds/invitation.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_SOURCES, CLUSTER_ROLES, CLUSTER_TARGETS, NAMESPACES } from '../../api/resource-types.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import type { OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../kubernetes/client/service-account-token.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import { SOURCE_ROLE, TARGET_SECRET_READER_ROLE } from '../../model/access/component-accounts.ts';
import { AccountTakenError, establishIdentity } from '../../peering/identity/establish-identity.ts';
import { podModeAccess } from '../../peering/access/pod-mode-access.ts';
import {
  peeringIdentity, sourceAccount, sourceSideManifests, targetKubeconfig, type Peering, type TargetAccess,
} from '../../peering/access/target-access.ts';
import { targetRefOf } from '../../model/naming/target-ref.ts';
import { namespacesText } from '../../model/access/source-grants.ts';
import { AppError } from '../../process/errors.ts';
import { failureText } from '../output/error-text.ts';
import { applyObjects, objectName, type Progress } from '../clusters/apply-objects.ts';
import { ensureInstallNamespace } from '../install/install-namespace.ts';
import { isOfIsthmus, isOfTarget, PEER_FIELD_MANAGER, requireOwn } from '../clusters/own-objects.ts';
import { lookForPlaneMember } from '../clusters/plane-member.ts';
import { orNotFound } from '../clusters/served-objects.ts';

/** What API servers ask for at least, in s (`authentication.k8s.io/v1` TokenRequest). */
export const MIN_TOKEN_SECONDS = 600;

const REMEDY = 'Choose another --name, or rename or delete what is there.';

/** A cluster to be peered; `label` is how it is called in messages. */
export interface PeerCluster extends OpenCluster {
  readonly label: string;
}

/** What to peer. */
export interface PeeringRequest extends Omit<Peering, 'sourceId'> {
  readonly source: PeerCluster;
  readonly target: PeerCluster;
  /** https URL of the target's API server as the source reaches it; the one in the target's kubeconfig when missing. */
  readonly targetServer?: string | undefined;
  /** Life of the token in s; {@link DEFAULT_TOKEN_SECONDS} when missing. The API server may grant less. */
  readonly tokenSeconds?: number | undefined;
}

/**
 * Peers a source with a target; gives what was peered.
 * @throws AppError `KubeconfigInvalid` or `KubeconfigRefused` when a cluster cannot be used, `BadInput` when both are
 *   the same, `NotFound` when
 * something must be installed or created first; what API calls throw.
 */
export async function peerClusters(request: PeeringRequest, progress: Progress): Promise<Peering> {
  const { source, target, name, namespace, installNamespace, gatewayCluster, delegation, grants } = request;
  // One after the other: with both wrong, the source's failure is reported, whichever answers first.
  const sourceId = await clusterId(source, progress.signal);
  const targetId = await clusterId(target, progress.signal);
  if (sourceId === targetId) {
    throw new AppError(
      'BadInput',
      'The source and the target are the same cluster. For a target that is the source itself create a ClusterTarget ' +
        'or Target with spec: {self: true}; it needs no peering.',
    );
  }
  const identified: Peering = { name, namespace, installNamespace, sourceId, gatewayCluster, delegation, grants };
  const access = await targetAccess(request, identified);
  await requireReadyForPeering(request, progress.signal);
  await requireFreeNames(request, identified, progress.signal);
  const peering: Peering =
    { ...identified, podPlaneCluster: request.podPlaneCluster ?? (await lookForPlaneMember(request, progress)) };
  await makeIdentity(target, peering, progress);
  const account = { ...sourceAccount(peering), seconds: request.tokenSeconds ?? DEFAULT_TOKEN_SECONDS };
  const { token, expirationTimestamp } = await requestToken(target.client, account, progress.signal);
  progress.tell(
    `target: the token of the source is valid until ${expirationTimestamp}; the source renews it while ` +
      'Isthmus runs there',
  );
  const kubeconfig = targetKubeconfig(peering, { ...access, token });
  const inSource = withRole(progress, 'source');
  if (namespace === undefined) {
    await ensureInstallNamespace(source.client, installNamespace, PEER_FIELD_MANAGER, inSource);
  }
  await applyObjects(source.client, sourceSideManifests(peering, kubeconfig), PEER_FIELD_MANAGER, inSource);
  return peering;
}

/** In a target without Isthmus the identity consists of plain objects; in others a (Cluster)Source represents it. */
async function makeIdentity({ client }: PeerCluster, peering: Peering, progress: Progress): Promise<void> {
  const { installNamespace, delegation } = peering;
  if (delegation === 'Pod') {
    const inTarget = withRole(progress, 'target');
    await ensureInstallNamespace(client, installNamespace, PEER_FIELD_MANAGER, inTarget);
    await applyObjects(client, podModeAccess(peering), PEER_FIELD_MANAGER, inTarget);
    return;
  }
  const applied = (object: KubernetesObject) => progress.tell(`target: applied ${objectName(object)}`);
  const identity = peeringIdentity(peering);
  const allowed = await establishIdentity(
    { client, installNamespace, fieldManager: PEER_FIELD_MANAGER, applied }, identity, progress.signal,
  ).catch((error: unknown) => {
    throw error instanceof AccountTakenError
      ? new AppError('BadInput', `In the target: ${error.message}.`, { cause: error })
      : error;
  });
  const { namespace, grants = {} } = identity;
  if (namespace !== undefined) return;
  progress.tell(
    'target: pods of the source may run in these namespaces: ' +
      `${namespacesText({ grants, installNamespace }, allowed)}; allow another one there with "isthmus allow ` +
      'namespace NAME"',
  );
}

/** Objects of others that already have the names to be written stay unchanged. */
async function requireFreeNames(
  { source, target }: PeeringRequest, peering: Peering, signal: AbortSignal,
): Promise<void> {
  await requireOwn(
    source.client, sourceSideManifests(peering, ''), isOfTarget(targetRefOf(peering)), { remedy: REMEDY, signal },
  );
  if (peering.delegation === 'Pod') {
    await requireOwn(target.client, podModeAccess(peering), isOfIsthmus, { remedy: REMEDY, signal });
  }
}

function withRole(progress: Progress, role: string): Progress {
  return { ...progress, tell: (line) => progress.tell(`${role}: ${line}`) };
}

async function clusterId({ client, label }: PeerCluster, signal: AbortSignal): Promise<string> {
  try {
    return await readClusterId(client, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new AppError('KubeconfigInvalid', `The ${label} cannot be used: ${failureText(error)}`, { cause: error });
  }
}

async function requireReadyForPeering(
  { source, target, namespace, installNamespace, delegation }: PeeringRequest, signal: AbortSignal,
): Promise<void> {
  await requireInstalled(source, { kind: CLUSTER_TARGETS, role: TARGET_SECRET_READER_ROLE }, signal);
  if (delegation === 'Pod') return;
  await requireInstalled(target, { kind: CLUSTER_SOURCES, role: SOURCE_ROLE }, signal);
  if (namespace !== undefined) {
    for (const cluster of [source, target]) await requireNamespace(cluster, namespace, 'create it first', signal);
  } else {
    await requireNamespace(
      target, installNamespace,
      'run "isthmus install" there with the same namespace, or name another one with --install-namespace', signal,
    );
  }
}

async function requireInstalled(
  cluster: PeerCluster, needed: { readonly kind: ResourceType; readonly role: string }, signal: AbortSignal,
): Promise<void> {
  const remedy = 'run "isthmus install" there first';
  await cluster.client.listPage(needed.kind, {}, { limit: 1 }, signal)
    .catch(orNotFound(`The ${cluster.label} does not serve the kinds of Isthmus: ${remedy}.`));
  await cluster.client.get(CLUSTER_ROLES, { name: needed.role }, signal)
    .catch(orNotFound(`The ${cluster.label} has no ClusterRole ${needed.role}: ${remedy}.`));
}

async function requireNamespace(
  cluster: PeerCluster, name: string, remedy: string, signal: AbortSignal,
): Promise<void> {
  await cluster.client.get(NAMESPACES, { name }, signal)
    .catch(orNotFound(`The ${cluster.label} has no namespace ${name}: ${remedy}.`));
}

/** How the source will reach the target; checked before anything is written. */
async function targetAccess(request: PeeringRequest, peering: Peering): Promise<Omit<TargetAccess, 'token'>> {
  const { target, targetServer } = request;
  const { server, certificateAuthority, insecure, serverName } = target.connection;
  if (insecure) {
    throw new AppError(
      'KubeconfigInvalid',
      `The ${target.label} sets insecure-skip-tls-verify; the kubeconfig for the source needs its ` +
        'certificate-authority-data.',
    );
  }
  if (serverName !== undefined && targetServer === undefined) {
    throw new AppError(
      'KubeconfigInvalid',
      `The ${target.label} sets tls-server-name, which the kubeconfig for the source does not get; give ` +
        `--target-server with a host that is in the API server's certificate.`,
    );
  }
  const access = { server: targetServer ?? server.href.replace(/\/$/, ''), certificateAuthority };
  await readKubeconfig({ text: targetKubeconfig(peering, { ...access, token: 'not-issued-yet' }), author: 'tenant' });
  return access;
}

