// Leaving a target: what peering made goes, on both sides, in an order that can be broken off and begun again at any
// point. The target's side goes by the source's own identity, which may remove itself; an administrator's kubeconfig of
// the target does as well. What bears a name of ours but is somebody else's stays as it is.
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Secret } from '../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL, TOKEN_ACCOUNT_ANNOTATION } from '../../api/objects/keys.ts';
import {
  CLUSTER_SOURCES, CONFIG_MAPS, NODES, POD_CHAPERONS, ROLE_BINDINGS, SOURCES, TARGETS,
} from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { GatewayRoute } from '../../kubernetes/connect/gateway-dialer.ts';
import { readKubeconfig } from '../../kubernetes/credentials/kubeconfig.ts';
import { userAgent } from '../../kubernetes/client/open-cluster.ts';
import { readClusterId } from '../../targets/target-session.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { TARGET_SECRET_READER_ROLE } from '../../model/access/component-accounts.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { sourceName, type Peering } from '../../peering/access/target-access.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { lookFor, objectName, type Progress } from '../clusters/apply-objects.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { drainTarget } from '../pods/drain-target.ts';
import { noSuchTarget, targetPlace } from '../clusters/known-target.ts';
import {
  isOfIsthmus, isOfTarget, isVirtualNode, removeOwn, type OwnedBy, type Place,
} from '../clusters/own-objects.ts';
import { bareRemains, findBareTarget, leaveBareTarget } from './unpeer-bare-target.ts';
import { findTraces, isAnyThere, isLeftBehind, leftBehindPlace, type TargetTraces } from './unpeer-traces.ts';

/** What to leave, and how. */
export interface Leave {
  /** Of the source. */
  readonly client: ClusterClient;
  readonly target: TargetRef;
  /** Of the source. */
  readonly installNamespace: string;
  /** Administrator's access to the target, where the source's own does not do. */
  readonly targetAdministrator?: ClusterClient | undefined;
  /** The way to a target with `spec.gateway`, from {@link routeToTarget}. */
  readonly route?: GatewayRoute | undefined;
  /** Neither drain nor wait for the target; write down what remains there. */
  readonly isForced: boolean;
  /** Evict pods, too, that no controller will make again. */
  readonly evictUnmanaged: boolean;
}

const DRAIN_MS = 300_000;
/** How long calls to a target may take that is perhaps dead, in ms. */
const FORCED_CALL_MS = 3_000;
const GONE = { forMs: 30_000, everyMs: 200 };
/** Without somebody who removes the virtual node, we do. */
const NODE_GONE = { forMs: 2_000, everyMs: 100 };

/**
 * The way to a target through this cluster's gateways; undefined for one without `spec.gateway`, and for one that is
 * gone.
 * @throws AppError `BadInput` where there is such a way and no gateway is named.
 */
export async function routeToTarget(
  client: ClusterClient, target: TargetRef, gateways: readonly URL[] | undefined, signal: AbortSignal,
): Promise<GatewayRoute | undefined> {
  const { type, at } = targetPlace(target);
  const found: (KubernetesObject & { readonly spec?: TargetSpec }) | undefined = await client.get(type, at, signal)
    .catch(unless(isNotFound));
  const cluster = found?.spec?.gateway?.cluster;
  if (cluster === undefined) return undefined;
  if (gateways === undefined) throw new AppError(
    'BadInput',
    `Target ${targetText(target)} is reached through the gateway: name it with --gateway http://HOST:PORT, or leave ` +
      'it with --force.',
  );
  return { clusterId: cluster, endpoints: gateways };
}

/**
 * Leaves a target.
 * @throws AppError `BadInput` for a target that peering has not made and for pods that would be lost, `Timeout` for
 *   what does not go, `NotFound` where
 * there is no such target, and when the target's side cannot be removed by anybody at hand.
 */
export async function leaveTarget(leave: Leave, progress: Progress): Promise<void> {
  const { client, target, isForced } = leave;
  const { signal, tell } = progress;
  const sourceId = await readClusterId(client, signal);
  const traces = await findTraces(leave, signal);
  const { object, secret } = traces;
  const identity = {
    ...leave, name: accountIn(secret) ?? sourceName({ name: target.name, sourceId }), sourceId, secret,
    isThere: object !== undefined, isBare: await isBareTarget(leave, { traces, sourceId }, signal),
  };
  if (object === undefined && !(await isAnythingLeft(identity, traces, signal))) {
    throw await noSuchTarget(client, target, signal);
  }
  if (object !== undefined && !isForced) await drain(leave, progress);
  const remains = await removeIdentity(identity, progress);
  if (remains !== undefined) await recordRemains(identity, remains, progress);
  if (object !== undefined) await removeTarget(leave, object.metadata.uid, progress);
  await removeAccess(leave, traces, progress);
  if (remains === undefined && (await removeOwn(client, leftBehindPlace(leave), isOfIsthmus, signal)) === 'removed') {
    tell(`removed ${nameOf(leftBehindPlace(leave))}: nothing is left behind any more`);
  }
  tell(`left target ${targetText(target)}`);
}

/** Where the target has gone from the source, its administrator's kubeconfig shows what it was. */
async function isBareTarget(
  leave: Leave, { traces: { object }, sourceId }: { readonly traces: TargetTraces; readonly sourceId: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { target, targetAdministrator } = leave;
  if (target.kind === 'Target') return false;
  if (object !== undefined || targetAdministrator === undefined) return object?.spec.delegation === 'Pod';
  return findBareTarget(targetAdministrator, peeringOf({ ...leave, sourceId }), signal);
}

async function isAnythingLeft(identity: Identity, { access }: TargetTraces, signal: AbortSignal): Promise<boolean> {
  if (identity.isBare || (await isAnyThere(identity, access, signal))) return true;
  const { targetAdministrator } = identity;
  if (targetAdministrator === undefined) return false;
  const { type, at } = sourcePlace(identity);
  const found = await targetAdministrator.get(type, at, signal).catch(unless(isNotFound));
  return (found !== undefined && isSourceOf(identity)(found)) || isLeftBehind(identity, signal);
}

async function drain({ client, target, evictUnmanaged }: Leave, progress: Progress): Promise<void> {
  const hasNode = (
    await client.get(NODES, { name: virtualNodeName(target) }, progress.signal).catch(unless(isNotFound))
  ) !== undefined;
  if (hasNode) await drainTarget(client, target, { evictUnmanaged, forMs: DRAIN_MS }, progress);
}

interface Identity extends Leave {
  /** Name of the (Cluster)Source in the target. */
  readonly name: string;
  readonly sourceId: string;
  readonly secret: Secret | undefined;
  /** The (Cluster)Target is there still. */
  readonly isThere: boolean;
  /** The target was peered as one with nothing of ours in it. */
  readonly isBare: boolean;
}

function peeringOf({ target, installNamespace, sourceId }: Leave & { readonly sourceId: string }): Peering {
  return {
    name: target.name, namespace: target.kind === 'Target' ? target.namespace : undefined, installNamespace, sourceId,
    delegation: 'Pod',
  };
}

/**
 * Removes the (Cluster)Source once nothing of the source is left in the target; gives why it is still there, where that
 * is accepted.
 */
async function removeIdentity(identity: Identity, progress: Progress): Promise<string | undefined> {
  const { targetAdministrator, secret, isForced, isThere } = identity;
  const own = secret === undefined ? undefined : await clientOf(secret, identity.route);
  const inTarget = targetAdministrator ?? own;
  try {
    if (identity.isBare) return await removeBareIdentity(identity, progress);
    if (inTarget !== undefined) await removeSource(
      identity, isForced ? inTarget.urgent(FORCED_CALL_MS) : inTarget, progress,
    );
    else if (isThere) throw new Error('there is no kubeconfig here that peering has written');
    return undefined; // or it was done before
  } catch (error) {
    progress.signal.throwIfAborted();
    if (isForced) return messageOf(error);
    throw error instanceof AppError ? error : new AppError(
      'NotFound',
      `The target's side cannot be removed (${messageOf(error)}). Give --target-kubeconfig of an administrator ` +
        'there, or --force to leave it and write down what remains.',
      { cause: error },
    );
  } finally {
    await own?.transport.close();
  }
}

/**
 * Waits for the source's pods first, unless by force. The source's own identity may delete its source, reads none, and
 * may do that to no other.
 */
async function removeSource(identity: Identity, inTarget: ClusterClient, progress: Progress): Promise<void> {
  const { targetAdministrator, target, name } = identity;
  const { tell, signal } = progress;
  if (!identity.isForced) await untilNothingIsLeft(identity, inTarget, progress);
  const place = sourcePlace(identity);
  const what = `${place.type.kind} ${target.kind === 'Target' ? `${target.namespace}/` : ''}${name}`;
  if (targetAdministrator === undefined) {
    await inTarget.delete(place.type, place.at, {}, signal).catch(unless(isNotFound));
  } else if ((await removeOwn(inTarget, place, isSourceOf(identity), signal)) === 'foreign') {
    throw new AppError(
      'BadInput',
      `${what} in the target is not this source's: its clusterID is another. It is left as it is; look whether ` +
        '--target-kubeconfig is that of the right cluster.',
    );
  }
  tell(`target: removed ${what} with its rights`);
}

function isSourceOf({ sourceId }: Identity): OwnedBy {
  return (object) => (object as { readonly spec?: { readonly clusterID?: string } }).spec?.clusterID === sourceId;
}

async function removeBareIdentity(identity: Identity, progress: Progress): Promise<undefined> {
  const { targetAdministrator, isForced } = identity;
  if (targetAdministrator === undefined) throw new AppError(
    'NotFound',
    'The target runs nothing of Isthmus, and its source may not remove its own rights there. Give ' +
      '--target-kubeconfig of an administrator there, or --force to leave them and write down what remains.',
  );
  await leaveBareTarget(
    isForced ? targetAdministrator.urgent(FORCED_CALL_MS) : targetAdministrator, peeringOf(identity),
    isForced ? undefined : GONE, progress,
  );
}

async function untilNothingIsLeft(
  { sourceId, target }: Identity, inTarget: ClusterClient, { signal }: Progress,
): Promise<void> {
  const namespace = target.kind === 'Target' ? target.namespace : undefined;
  const ours = () => inTarget.listPage(
    POD_CHAPERONS, { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` }, { limit: 10 }, signal,
  );
  let names: readonly string[] = [];
  const look = async (): Promise<true | undefined> => {
    names = (await ours()).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return names.length === 0 || undefined;
  };
  if (await lookFor(look, GONE, signal)) return;
  throw new AppError(
    'Timeout',
    `PodChaperons of this source have not gone from the target: ${names.join(', ')}. Look at their finalizers there, ` +
      'or leave them with --force.',
  );
}

/** For whoever has the target again: what to delete there. */
async function recordRemains(identity: Identity, why: string, { signal, tell }: Progress): Promise<void> {
  const { client, target, name, sourceId, isBare } = identity;
  const place = leftBehindPlace(identity);
  const remains = isBare
    ? bareRemains(peeringOf(identity))
    : `${sourcePlace(identity).type.kind} ${name}` +
      (target.kind === 'Target' ? ` in namespace ${target.namespace}` : '') +
      `, PodChaperons with label ${PARENT_CLUSTER_LABEL}=${sourceId}`;
  const found = await client.get(place.type, place.at, signal).catch(unless(isNotFound));
  if (found !== undefined && !isOfIsthmus(found)) return tell(
    `the target keeps ${remains} (${why}); not written down, for ${nameOf(place)} was not created by Isthmus`,
  );
  const object = {
    apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...place.at, labels: PART_OF },
    data: { target: targetText(target), remains, why, at: new Date().toISOString() },
  };
  await client.apply(CONFIG_MAPS, object, 'isthmus-unpeer', signal);
  tell(`the target keeps ${remains} (${why}); written down in ${nameOf(place)}`);
}

/** Its finalizers are waited for, unless the user does not want to wait; its virtual node goes with it. */
async function removeTarget(
  { client, target, isForced }: Leave, uid: string | undefined, { signal, tell }: Progress,
): Promise<void> {
  const place = targetPlace(target);
  await removeOwn(client, place, isOfTarget(target), signal);
  if (isForced) await client
    .patch(place.type, place.at, { patchType: 'merge', patch: { metadata: { uid, finalizers: null } } }, signal)
    .catch(unless(isNotFound));
  await untilGone(client, place, GONE, signal);
  const node = { type: NODES, at: { name: virtualNodeName(target) } };
  await untilGone(client, node, NODE_GONE, signal).catch(async () => removeOwn(client, node, isVirtualNode, signal));
  tell(`removed ${target.kind} ${targetText(target)} and its virtual node`);
}

async function untilGone(
  client: ClusterClient, { type, at }: Place, patience: typeof GONE, signal: AbortSignal,
): Promise<void> {
  const look = async () =>
    ((await client.get(type, at, signal).catch(unless(isNotFound))) === undefined ? true : undefined);
  if (await lookFor(look, patience, signal)) return;
  throw new AppError(
    'Timeout', `${type.kind} ${at.name} has not gone: look at its finalizers, or leave it with --force.`,
  );
}

/**
 * The Secret last: while it is there, this can be begun again. Former versions let the components read all Secrets of a
 * Target's namespace.
 */
async function removeAccess(leave: Leave, { access }: TargetTraces, { signal, tell }: Progress): Promise<void> {
  const { client, target, installNamespace } = leave;
  if (
    target.kind === 'Target' && target.namespace !== installNamespace
      && (await client.list(TARGETS, { namespace: target.namespace }, signal)).length === 0
  ) {
    await removeOwn(
      client, { type: ROLE_BINDINGS, at: { namespace: target.namespace, name: TARGET_SECRET_READER_ROLE } },
      isOfIsthmus, signal,
    );
  }
  for (const place of access) {
    const removal = await removeOwn(client, place, isOfTarget(target), signal);
    if (removal === 'removed') tell(`removed ${nameOf(place)}`);
    if (removal === 'foreign') tell(`kept ${nameOf(place)}: not created by Isthmus for this target`);
  }
}

function nameOf({ type, at }: Place): string {
  return objectName(
    { kind: type.kind, metadata: { ...(at.namespace !== undefined && { namespace: at.namespace }), name: at.name } },
  );
}

async function clientOf(secret: Secret, gateway: GatewayRoute | undefined): Promise<ClusterClient | undefined> {
  const text = Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8');
  const connection = await readKubeconfig({ text, author: 'tenant' }).catch(() => undefined);
  return connection
    && new ClusterClient(new Transport({ ...connection, ...(gateway && { gateway }) }, userAgent('unpeer')));
}

/** The account has the name of its source, whoever gave it. */
function accountIn(secret: Secret | undefined): string | undefined {
  return secret?.metadata.annotations?.[TOKEN_ACCOUNT_ANNOTATION]?.split('/')[1];
}

function sourcePlace({ target, name }: Identity): Place {
  return target.kind === 'Target'
    ? { type: SOURCES, at: { namespace: target.namespace, name } }
    : { type: CLUSTER_SOURCES, at: { name } };
}
