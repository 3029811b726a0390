// Leaving a target: what peering made goes, on both sides, in an order that can be interrupted and repeated at any
// point. The target's side is removed with the source's own identity, which may remove itself; an administrator's
// kubeconfig of the target does as well. Objects of others are left alone, even if they have one of Isthmus' names.
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { NODES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { GatewayRoute } from '../../kubernetes/connect/gateway-dialer.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AppError } from '../../process/errors.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { noSuchTarget, targetObjectRef } from '../clusters/known-target.ts';
import { isOfIsthmus, isOfTarget, isVirtualNode, removeOwn, type ObjectRef } from '../clusters/own-objects.ts';
import { drainTarget } from '../pods/drain-target.ts';
import {
  findIdentity, GONE, isSourceThere, recordRemains, removeIdentity, type Identity, type UnpeerOptions,
} from './target-side.ts';
import {
  findRemnants, isAnyThere, isLeftBehind, leftBehindRef, refName, type TargetRemnants,
} from './target-remnants.ts';

const DRAIN_MS = 300_000;
/** How long Isthmus may take to remove the virtual node before this command removes it. */
const NODE_GONE = { forMs: 2_000, everyMs: 100 };

/**
 * The way to a target through this cluster's gateways; undefined for one without `spec.gateway`, and for one that is
 * gone.
 * @throws AppError `BadInput` where there is such a way and no gateway is named.
 */
export async function routeToTarget(
  client: ClusterClient, target: TargetRef, gateways: readonly URL[] | undefined, signal: AbortSignal,
): Promise<GatewayRoute | undefined> {
  const { type, at } = targetObjectRef(target);
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
 * Unpeers a target.
 * @throws AppError `BadInput` for a target that peering did not create and for pods that would be lost, `Timeout` for
 *   objects that do not disappear, `NotFound` when there is no such target, and when none of the identities at hand can
 *   remove what is in the target.
 */
export async function unpeerTarget(options: UnpeerOptions, progress: Progress): Promise<void> {
  const { client, target, isForced } = options;
  const { signal, tell } = progress;
  const remnants = await findRemnants(options, signal);
  const { object } = remnants;
  const identity = await findIdentity(options, remnants, signal);
  if (object === undefined && !(await isAnythingLeft(identity, remnants, signal))) {
    throw await noSuchTarget(client, target, signal);
  }
  if (object !== undefined && !isForced) await drain(options, progress);
  const remains = await removeIdentity(identity, progress);
  if (remains !== undefined) await recordRemains(identity, remains, progress);
  if (object !== undefined) await removeTarget(options, object.metadata.uid, progress);
  await removeNode(options, progress);
  await removeAccess(options, remnants, progress);
  if (remains === undefined && (await removeOwn(client, leftBehindRef(options), isOfIsthmus, signal)) === 'removed') {
    tell(`removed ${refName(leftBehindRef(options))}: nothing is left behind any more`);
  }
  tell(`left target ${targetText(target)}`);
}

async function isAnythingLeft(identity: Identity, { access }: TargetRemnants, signal: AbortSignal): Promise<boolean> {
  if (identity.isPodMode || (await isAnyThere(identity, access, signal))) return true;
  if (identity.targetAdministrator === undefined) return false;
  return (await isSourceThere(identity, identity.targetAdministrator, signal)) || isLeftBehind(identity, signal);
}

async function drain({ client, target, evictUnmanaged }: UnpeerOptions, progress: Progress): Promise<void> {
  const node = await client.get(NODES, { name: virtualNodeName(target) }, progress.signal).catch(unless(isNotFound));
  if (node !== undefined) await drainTarget(client, target, { evictUnmanaged, forMs: DRAIN_MS }, progress);
}

/** Its finalizers are waited for, unless the user does not want to wait. */
async function removeTarget(
  { client, target, isForced }: UnpeerOptions, uid: string | undefined, { signal, tell }: Progress,
): Promise<void> {
  const ref = targetObjectRef(target);
  await removeOwn(client, ref, isOfTarget(target), signal);
  if (isForced) await client
    .patch(ref.type, ref.at, { patchType: 'merge', patch: { metadata: { uid, finalizers: null } } }, signal)
    .catch(unless(isNotFound));
  await untilGone(client, ref, GONE, signal);
  tell(`removed ${target.kind} ${targetText(target)}`);
}

/** It goes with its target where Isthmus runs; an earlier command may have been interrupted before it. */
async function removeNode({ client, target }: UnpeerOptions, { signal, tell }: Progress): Promise<void> {
  const node = { type: NODES, at: { name: virtualNodeName(target) } };
  const isGone = await untilGone(client, node, NODE_GONE, signal).then(() => true, () => signal.throwIfAborted());
  if (isGone === true) return;
  if ((await removeOwn(client, node, isVirtualNode, signal)) === 'removed') tell(`removed ${refName(node)}`);
}

async function untilGone(
  client: ClusterClient, { type, at }: ObjectRef, polling: typeof GONE, signal: AbortSignal,
): Promise<void> {
  const look = async () =>
    ((await client.get(type, at, signal).catch(unless(isNotFound))) === undefined ? true : undefined);
  if (await pollUntil(look, polling, signal)) return;
  throw new AppError(
    'Timeout', `${type.kind} ${at.name} is not gone: look at its finalizers, or leave it with --force.`,
  );
}

/** The Secret last: while it is there, this can be begun again. */
async function removeAccess(
  { client, target }: UnpeerOptions, { access }: TargetRemnants, { signal, tell }: Progress,
): Promise<void> {
  for (const ref of access) {
    const removal = await removeOwn(client, ref, isOfTarget(target), signal);
    if (removal === 'removed') tell(`removed ${refName(ref)}`);
    if (removal === 'foreign') tell(`kept ${refName(ref)}: not created by Isthmus for this target`);
  }
}
