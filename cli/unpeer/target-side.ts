// Unpeering, in the target: removes the (Cluster)Source that represents this source, with the source's own identity or
// with an administrator's kubeconfig of the target, and records what remains when neither suffices.
import type { Secret } from '../../api/objects/core.ts';
import { LEAVING_ANNOTATION, PARENT_CLUSTER_LABEL, TOKEN_ACCOUNT_ANNOTATION, TRUE } from '../../api/objects/keys.ts';
import { CLUSTER_SOURCES, CONFIG_MAPS, POD_CHAPERONS, SECRETS, SOURCES } from '../../api/resource-types.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { userAgent } from '../../kubernetes/client/open-cluster.ts';
import type { GatewayRoute } from '../../kubernetes/connect/gateway-dialer.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { isForbidden, isNotFound, isUnauthorized, UnreachableError, unless } from '../../kubernetes/flow/api-error.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { sourceName, type Peering } from '../../peering/access/target-access.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { readClusterId } from '../../kubernetes/client/cluster-id.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import {
  isOfIsthmus, PEER_FIELD_MANAGER, removeOwn, type OwnedBy, type ObjectRef,
} from '../clusters/own-objects.ts';
import { podModeRemains, isPodModeTarget, unpeerPodModeTarget, untilNoneIsLeft } from './pod-mode-target.ts';
import { isLeftBehind, leftBehindRef, refName, type TargetRemnants } from './target-remnants.ts';

/** Which target to unpeer, and how. */
export interface UnpeerOptions {
  /** Of the source. */
  readonly client: ClusterClient;
  readonly target: TargetRef;
  /** Of the source. */
  readonly installNamespace: string;
  /** Administrator's access to the target, where the source's own does not suffice. */
  readonly targetAdministrator?: ClusterClient | undefined;
  /** The way to a target with `spec.gateway`, from `routeToTarget`. */
  readonly route?: GatewayRoute | undefined;
  /** Neither drain nor wait for the target; record what remains there. */
  readonly isForced: boolean;
  /** Also evict pods that no controller would recreate. */
  readonly evictUnmanaged: boolean;
}

/** What the source is in the target. */
export interface Identity extends UnpeerOptions {
  /** Name of the (Cluster)Source in the target. */
  readonly name: string;
  readonly sourceId: string;
  readonly secret: Secret | undefined;
  /** The (Cluster)Target still exists. */
  readonly isThere: boolean;
  /** An earlier command asked the target to remove this source, and did not record that it remains there. */
  readonly isLeaving: boolean;
  /** ID of the target's cluster, if the source has learnt it. */
  readonly targetId: string | undefined;
  /** The target was peered as one without Isthmus. */
  readonly isPodMode: boolean;
}

/** Timeout of calls to a target that may be dead, in ms. */
const FORCED_CALL_MS = 3_000;
/** How long deleted objects may take to disappear. */
export const GONE = { forMs: 30_000, everyMs: 200 };

/** Finds what the source is in the target. */
export async function findIdentity(
  options: UnpeerOptions, remnants: TargetRemnants, signal: AbortSignal,
): Promise<Identity> {
  const { object, secret } = remnants;
  const sourceId = await readClusterId(options.client, signal);
  return {
    ...options, name: accountIn(secret) ?? sourceName({ name: options.target.name, sourceId }), sourceId, secret,
    isThere: object !== undefined, targetId: object?.status?.clusterID,
    isLeaving: await isLeaving(options, remnants, signal),
    isPodMode: await isPodMode(options, { remnants, sourceId }, signal),
  };
}

async function isLeaving(options: UnpeerOptions, { secret }: TargetRemnants, signal: AbortSignal): Promise<boolean> {
  return options.targetAdministrator === undefined && secret?.metadata.annotations?.[LEAVING_ANNOTATION] === TRUE
    && !(await isLeftBehind(options, signal));
}

/** Once the target object is gone from the source, an administrator's kubeconfig of the target shows what it was. */
async function isPodMode(
  options: UnpeerOptions,
  { remnants: { object }, sourceId }: { readonly remnants: TargetRemnants; readonly sourceId: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { target, targetAdministrator } = options;
  if (target.kind === 'Target') return false;
  if (object !== undefined || targetAdministrator === undefined) return object?.spec.delegation === 'Pod';
  return isPodModeTarget(targetAdministrator, peeringOf({ ...options, sourceId }), signal);
}

/** Whether the (Cluster)Source of this source is in the target, as its administrator sees it. */
export async function isSourceThere(
  identity: Identity, administrator: ClusterClient, signal: AbortSignal,
): Promise<boolean> {
  const { type, at } = sourceRef(identity);
  const found = await administrator.get(type, at, signal).catch(unless(isNotFound));
  return found !== undefined && isSourceOf(identity)(found);
}

function peeringOf({ target, installNamespace, sourceId }: UnpeerOptions & { readonly sourceId: string }): Peering {
  return {
    name: target.name, namespace: target.kind === 'Target' ? target.namespace : undefined, installNamespace, sourceId,
    delegation: 'Pod',
  };
}

/** Removes the (Cluster)Source once nothing of the source is left in the target. With force, returns why it remains. */
export async function removeIdentity(identity: Identity, progress: Progress): Promise<string | undefined> {
  const { targetAdministrator, secret, isForced, isThere } = identity;
  if (identity.isLeaving && !isThere) return undefined;
  const own = secret === undefined ? undefined : await clientOf(secret, identity.route);
  const inTarget = isForced
    ? (targetAdministrator ?? own)?.withoutRateLimit(FORCED_CALL_MS) : (targetAdministrator ?? own);
  try {
    return await removeThere(identity, inTarget, progress);
  } catch (error) {
    progress.signal.throwIfAborted();
    if (isForced) return messageOf(error);
    throw notRemoved(error);
  } finally {
    await own?.transport.close();
  }
}

async function removeThere(
  identity: Identity, inTarget: ClusterClient | undefined, progress: Progress,
): Promise<undefined> {
  await requireTargetsCluster(identity, progress.signal);
  if (identity.isPodMode) return removePodModeAccess(identity, progress);
  if (inTarget === undefined) {
    if (identity.isThere) throw new Error('there is no kubeconfig here that peering created');
  } else if (!identity.isLeaving || !(await isUnknownThere(identity, inTarget, progress))) {
    await removeSource(identity, inTarget, progress).catch(async (error: unknown) => {
      // an API server knows a moment later that permissions are gone
      if (!identity.isLeaving || !(await isUnknownThere(identity, inTarget, progress))) throw error;
    });
  }
  return undefined; // or it was done before
}

function notRemoved(error: unknown): AppError {
  return error instanceof AppError ? error : new AppError(
    error instanceof UnreachableError ? 'Unreachable' : 'NotFound',
    `The target's side cannot be removed (${messageOf(error)}). Give --target-kubeconfig of an administrator ` +
      'there, or --force to leave it and record what remains.',
    { cause: error },
  );
}

/** A source that may read in the target has not been removed there, even if its removal is denied. */
function isUnknownThere(identity: Identity, inTarget: ClusterClient, { signal }: Progress): Promise<boolean> {
  return ourChaperons(identity, inTarget, signal)
    .then(() => false, (error: unknown) => isUnauthorized(error) || isForbidden(error));
}

/** In another cluster nothing of this source would be found, as if it had been removed already. */
async function requireTargetsCluster(
  { targetAdministrator, targetId, target }: Identity, signal: AbortSignal,
): Promise<void> {
  if (targetAdministrator === undefined || targetId === undefined) return;
  const given = await readClusterId(targetAdministrator, signal);
  if (given !== targetId) throw new AppError(
    'BadInput',
    `--target-kubeconfig leads to cluster ${given}, but target ${targetText(target)} is cluster ${targetId}.`,
  );
}

/**
 * Waits for the source's pods first, unless it is forced. The source's own identity may delete its own (Cluster)Source,
 * but may not read it.
 */
async function removeSource(identity: Identity, inTarget: ClusterClient, progress: Progress): Promise<void> {
  const { targetAdministrator, target, name } = identity;
  const { tell, signal } = progress;
  if (!identity.isForced) await untilNoneIsLeft(() => ourChaperons(identity, inTarget, signal), GONE, signal);
  const ref = sourceRef(identity);
  const what = `${ref.type.kind} ${target.kind === 'Target' ? `${target.namespace}/` : ''}${name}`;
  if (targetAdministrator === undefined) {
    await markAsLeaving(identity, signal);
    await inTarget.delete(ref.type, ref.at, {}, signal).catch(unless(isNotFound));
  } else if ((await removeOwn(inTarget, ref, isSourceOf(identity), signal)) === 'foreign') {
    throw new AppError(
      'BadInput',
      `${what} in the target is not this source's: it has a different clusterID and is left unchanged; check whether ` +
        '--target-kubeconfig is that of the right cluster.',
    );
  }
  tell(`target: removed ${what} with its permissions`);
}

/** Applied as peering does, so that peering again removes it. The token may have been renewed during the drain. */
async function markAsLeaving({ client, secret }: Identity, signal: AbortSignal): Promise<void> {
  if (secret === undefined) return;
  const { namespace, name = '' } = secret.metadata;
  const { metadata: { labels, annotations }, type, data } = await client.get(SECRETS, { namespace, name }, signal);
  const metadata = { namespace, name, labels, annotations: { ...annotations, [LEAVING_ANNOTATION]: TRUE } };
  await client.apply(SECRETS, { metadata, type, data } as Secret, PEER_FIELD_MANAGER, signal);
}

function isSourceOf({ sourceId }: Identity): OwnedBy {
  return (object) => (object as { readonly spec?: { readonly clusterID?: string } }).spec?.clusterID === sourceId;
}

async function removePodModeAccess(identity: Identity, progress: Progress): Promise<undefined> {
  const { targetAdministrator, isForced } = identity;
  if (targetAdministrator === undefined) throw new AppError(
    'NotFound',
    'The target does not run Isthmus, and its source may not remove its own permissions there. Give ' +
      '--target-kubeconfig of an administrator there, or --force to leave them and record what remains.',
  );
  await unpeerPodModeTarget(
    isForced ? targetAdministrator.withoutRateLimit(FORCED_CALL_MS) : targetAdministrator, peeringOf(identity),
    isForced ? undefined : GONE, progress,
  );
}

async function ourChaperons({ sourceId, target }: Identity, inTarget: ClusterClient, signal: AbortSignal) {
  const namespace = target.kind === 'Target' ? target.namespace : undefined;
  const labelSelector = `${PARENT_CLUSTER_LABEL}=${sourceId}`;
  return (await inTarget.listPage(POD_CHAPERONS, { namespace, labelSelector }, { limit: 10 }, signal)).items;
}

/** Records what to delete in the target, for an administrator who can reach it again. */
export async function recordRemains(identity: Identity, why: string, { signal, tell }: Progress): Promise<void> {
  const { client, target, name, sourceId, isPodMode } = identity;
  const ref = leftBehindRef(identity);
  const remains = isPodMode
    ? podModeRemains(peeringOf(identity))
    : `${sourceRef(identity).type.kind} ${name}` +
      (target.kind === 'Target' ? ` in namespace ${target.namespace}` : '') +
      `, PodChaperons with label ${PARENT_CLUSTER_LABEL}=${sourceId}`;
  const found = await client.get(ref.type, ref.at, signal).catch(unless(isNotFound));
  if (found !== undefined && !isOfIsthmus(found)) return tell(
    `the target keeps ${remains} (${why}); not recorded, because ${refName(ref)} was not created by Isthmus`,
  );
  const object = {
    apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...ref.at, labels: PART_OF },
    data: { target: targetText(target), remains, why, at: new Date().toISOString() },
  };
  await client.apply(CONFIG_MAPS, object, 'isthmus-unpeer', signal);
  tell(`the target keeps ${remains} (${why}); recorded in ${refName(ref)}`);
}

async function clientOf(secret: Secret, gateway: GatewayRoute | undefined): Promise<ClusterClient | undefined> {
  const text = Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8');
  const connection = await readKubeconfig({ text, author: 'tenant' }).catch(() => undefined);
  return connection
    && new ClusterClient(new Transport({ ...connection, ...(gateway && { gateway }) }, userAgent('unpeer')));
}

/** The account's name, which is always that of its source. */
function accountIn(secret: Secret | undefined): string | undefined {
  return secret?.metadata.annotations?.[TOKEN_ACCOUNT_ANNOTATION]?.split('/')[1];
}

function sourceRef({ target, name }: Identity): ObjectRef {
  return target.kind === 'Target'
    ? { type: SOURCES, at: { namespace: target.namespace, name } }
    : { type: CLUSTER_SOURCES, at: { name } };
}
