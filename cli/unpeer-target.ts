// Leaving a target: what peering made goes, on both sides, in an order that can be broken off and begun again at any point.
// The target's side goes by the source's own identity, which may remove itself; an administrator's kubeconfig of the target does as well.
import type { ClusterTarget, TargetSpec } from '../api/cluster-target.ts';
import type { KubernetesObject, Secret } from '../api/core.ts';
import { PARENT_CLUSTER_LABEL, TOKEN_ACCOUNT_ANNOTATION } from '../api/keys.ts';
import {
  CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, NODES, POD_CHAPERONS, ROLE_BINDINGS, ROLES, SECRETS, SOURCES, TARGETS, type ResourceType,
} from '../api/resource-types.ts';
import { isNotFound, unless } from '../kubernetes/api-error.ts';
import { ClusterClient } from '../kubernetes/cluster-client.ts';
import type { GatewayRoute } from '../kubernetes/gateway-dialer.ts';
import { readKubeconfig } from '../kubernetes/kubeconfig.ts';
import { userAgent } from '../kubernetes/open-cluster.ts';
import { readClusterId } from '../kubernetes/target-session.ts';
import { Transport } from '../kubernetes/transport.ts';
import { TARGET_SECRET_READER_ROLE } from '../model/component-accounts.ts';
import { joinName, MAX_NAME_LENGTH, virtualNodeName } from '../model/names.ts';
import { PART_OF } from '../model/rbac-objects.ts';
import type { TargetRef } from '../model/target-ref.ts';
import { joiningSecretName, kubeconfigSecretName, sourceName, type Peering } from '../peering/target-access.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { lookFor, type Progress } from './apply-objects.ts';
import { targetText } from './cluster-flags.ts';
import { drainTarget } from './drain-target.ts';
import { bareRemains, leaveBareTarget } from './unpeer-bare-target.ts';

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
 * The way to a target through this cluster's gateways; undefined for one without `spec.gateway`, and for one that is gone.
 * @throws AppError `BadInput` where there is such a way and no gateway is named.
 */
export async function routeToTarget(client: ClusterClient, target: TargetRef, gateways: readonly URL[] | undefined, signal: AbortSignal): Promise<GatewayRoute | undefined> {
  const found: (KubernetesObject & { readonly spec?: TargetSpec }) | undefined = await client.get(typeOf(target), objectAt(target), signal).catch(unless(isNotFound));
  const cluster = found?.spec?.gateway?.cluster;
  if (cluster === undefined) return undefined;
  if (gateways === undefined) throw new AppError('BadInput', `Target ${targetText(target)} is reached through the gateway: name it with --gateway http://HOST:PORT, or leave it with --force.`);
  return { clusterId: cluster, endpoints: gateways };
}

/**
 * Leaves a target.
 * @throws AppError `BadInput` for pods that would be lost, `Timeout` for what does not go, `NotFound` when the target's side cannot be removed by anybody at hand.
 */
export async function leaveTarget(leave: Leave, progress: Progress): Promise<void> {
  const { client, target, isForced } = leave;
  const { signal, tell } = progress;
  const sourceId = await readClusterId(client, signal);
  const secret = await client.get(SECRETS, secretAt(leave), signal).catch(unless(isNotFound));
  const object = (await client.get(typeOf(target), objectAt(target), signal).catch(unless(isNotFound))) as ClusterTarget | undefined;
  const isThere = object !== undefined;
  if (isThere && !isForced) await drain(leave, progress);
  const identity = { ...leave, name: accountIn(secret) ?? sourceName({ name: target.name, sourceId }), sourceId, secret, isBare: object?.spec.delegation === 'Pod' && target.kind === 'ClusterTarget' };
  const remains = await removeIdentity(identity, progress);
  if (remains !== undefined) await recordRemains(identity, remains, progress);
  if (isThere) await removeTarget(leave, progress);
  await removeAccess(leave, progress);
  tell(`left target ${targetText(target)}`);
}

async function drain({ client, target, evictUnmanaged }: Leave, progress: Progress): Promise<void> {
  const hasNode = (await client.get(NODES, { name: virtualNodeName(target) }, progress.signal).catch(unless(isNotFound))) !== undefined;
  if (hasNode) await drainTarget(client, target, { evictUnmanaged, forMs: DRAIN_MS }, progress);
}

interface Identity extends Leave {
  /** Name of the (Cluster)Source in the target. */
  readonly name: string;
  readonly sourceId: string;
  readonly secret: Secret | undefined;
  /** The target was peered as one with nothing of ours in it. */
  readonly isBare: boolean;
}

function peeringOf({ target, installNamespace, sourceId }: Identity): Peering {
  return { name: target.name, namespace: target.kind === 'Target' ? target.namespace : undefined, installNamespace, sourceId, delegation: 'Pod' };
}

/** Removes the (Cluster)Source once nothing of the source is left in the target; gives why it is still there, where that is accepted. */
async function removeIdentity(identity: Identity, progress: Progress): Promise<string | undefined> {
  const { targetAdministrator, secret, isForced, target } = identity;
  const own = secret === undefined ? undefined : await clientOf(secret, identity.route);
  const inTarget = targetAdministrator ?? own;
  try {
    if (identity.isBare) return await removeBareIdentity(identity, progress);
    if (inTarget === undefined) return undefined; // it never came so far, or was done before
    const quick = isForced ? inTarget.urgent(FORCED_CALL_MS) : inTarget;
    if (!isForced) await untilNothingIsLeft(identity, quick, progress);
    await quick.delete(target.kind === 'ClusterTarget' ? CLUSTER_SOURCES : SOURCES, sourceAt(identity), {}, progress.signal).catch(unless(isNotFound));
    progress.tell(`target: removed ${sourceKind(target)} ${identity.name} with its rights`);
    return undefined;
  } catch (error) {
    progress.signal.throwIfAborted();
    if (isForced) return messageOf(error);
    throw error instanceof AppError ? error : new AppError('NotFound', `The target's side cannot be removed (${messageOf(error)}). Give --target-kubeconfig of an administrator there, or --force to leave it and write down what remains.`, { cause: error });
  } finally {
    await own?.transport.close();
  }
}

async function removeBareIdentity(identity: Identity, progress: Progress): Promise<undefined> {
  const { targetAdministrator, isForced } = identity;
  if (targetAdministrator === undefined) throw new AppError('NotFound', `The target runs nothing of Isthmus, and its source may not remove its own rights there. Give --target-kubeconfig of an administrator there, or --force to leave them and write down what remains.`);
  await leaveBareTarget(isForced ? targetAdministrator.urgent(FORCED_CALL_MS) : targetAdministrator, peeringOf(identity), isForced ? undefined : GONE, progress);
}

async function untilNothingIsLeft({ sourceId, target }: Identity, inTarget: ClusterClient, { signal }: Progress): Promise<void> {
  const namespace = target.kind === 'Target' ? target.namespace : undefined;
  const ours = () => inTarget.listPage(POD_CHAPERONS, { namespace, labelSelector: `${PARENT_CLUSTER_LABEL}=${sourceId}` }, { limit: 10 }, signal);
  let names: readonly string[] = [];
  const look = async (): Promise<true | undefined> => {
    names = (await ours()).items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    return names.length === 0 || undefined;
  };
  if (await lookFor(look, GONE, signal)) return;
  throw new AppError('Timeout', `PodChaperons of this source have not gone from the target: ${names.join(', ')}. Look at their finalizers there, or leave them with --force.`);
}

/** For whoever has the target again: what to delete there. */
async function recordRemains(identity: Identity, why: string, { signal, tell }: Progress): Promise<void> {
  const { client, target, installNamespace, name, sourceId, isBare } = identity;
  const remains = isBare ? bareRemains(peeringOf(identity)) : `${sourceKind(target)} ${name}${target.kind === 'Target' ? ` in namespace ${target.namespace}` : ''}, PodChaperons with label ${PARENT_CLUSTER_LABEL}=${sourceId}`;
  const object = {
    apiVersion: 'v1', kind: 'ConfigMap',
    metadata: { namespace: installNamespace, name: joinName([{ constant: 'isthmus-left-behind' }, target.kind === 'Target' ? target.namespace : '', target.name], MAX_NAME_LENGTH), labels: PART_OF },
    data: { target: targetText(target), remains, why, at: new Date().toISOString() },
  };
  await client.apply(CONFIG_MAPS, object, 'isthmus-unpeer', signal);
  tell(`the target keeps ${remains} (${why}); written down in ConfigMap ${installNamespace}/${object.metadata.name}`);
}

/** Its finalizers are waited for, unless the user does not want to wait; its virtual node goes with it. */
async function removeTarget({ client, target, isForced }: Leave, { signal, tell }: Progress): Promise<void> {
  const at = objectAt(target);
  await client.delete(typeOf(target), at, {}, signal).catch(unless(isNotFound));
  if (isForced) await client.patch(typeOf(target), at, { patchType: 'merge', patch: { metadata: { finalizers: null } } }, signal).catch(unless(isNotFound));
  await untilGone(client, { type: typeOf(target), at }, GONE, signal);
  const node = { type: NODES, at: { name: virtualNodeName(target) } };
  await untilGone(client, node, NODE_GONE, signal).catch(async () => client.delete(NODES, node.at, {}, signal).catch(unless(isNotFound)));
  tell(`removed ${target.kind} ${targetText(target)} and its virtual node`);
}

interface Place {
  readonly type: ResourceType;
  readonly at: { readonly namespace?: string | undefined; readonly name: string };
}

async function untilGone(client: ClusterClient, { type, at }: Place, patience: typeof GONE, signal: AbortSignal): Promise<void> {
  const look = async () => ((await client.get(type, at, signal).catch(unless(isNotFound))) === undefined ? true : undefined);
  if (await lookFor(look, patience, signal)) return;
  throw new AppError('Timeout', `${type.kind} ${at.name} has not gone: look at its finalizers, or leave it with --force.`);
}

/** The Secret last: while it is there, this can be begun again. */
async function removeAccess(leave: Leave, { signal, tell }: Progress): Promise<void> {
  const { client, target } = leave;
  const { namespace, name } = secretAt(leave);
  const renewal = { namespace, name: joinName([{ constant: 'isthmus-renewal' }, name], MAX_NAME_LENGTH) };
  for (const type of [ROLE_BINDINGS, ROLES]) await client.delete(type, renewal, {}, signal).catch(unless(isNotFound));
  if (target.kind === 'Target' && (await client.list(TARGETS, { namespace }, signal)).length === 0) {
    await client.delete(ROLE_BINDINGS, { namespace, name: TARGET_SECRET_READER_ROLE }, {}, signal).catch(unless(isNotFound));
  }
  for (const secret of [joiningSecretName(target), name]) await client.delete(SECRETS, { namespace, name: secret }, {}, signal).catch(unless(isNotFound));
  tell(`removed Secret ${namespace}/${name} and the right to renew it`);
}

async function clientOf(secret: Secret, gateway: GatewayRoute | undefined): Promise<ClusterClient | undefined> {
  const text = Buffer.from(secret.data?.['config'] ?? '', 'base64').toString('utf8');
  const connection = await readKubeconfig({ text, author: 'tenant' }).catch(() => undefined);
  return connection && new ClusterClient(new Transport({ ...connection, ...(gateway && { gateway }) }, userAgent('unpeer')));
}

/** The account has the name of its source, whoever gave it. */
function accountIn(secret: Secret | undefined): string | undefined {
  return secret?.metadata.annotations?.[TOKEN_ACCOUNT_ANNOTATION]?.split('/')[1];
}

function secretAt({ target, installNamespace }: Leave): { readonly namespace: string; readonly name: string } {
  return { namespace: target.kind === 'Target' ? target.namespace : installNamespace, name: kubeconfigSecretName(target) };
}

function sourceAt({ target, name }: Identity): Place['at'] {
  return target.kind === 'Target' ? { namespace: target.namespace, name } : { name };
}

function objectAt(target: TargetRef): Place['at'] {
  return target.kind === 'Target' ? { namespace: target.namespace, name: target.name } : { name: target.name };
}

function typeOf(target: TargetRef): ResourceType {
  return target.kind === 'Target' ? TARGETS : CLUSTER_TARGETS;
}

function sourceKind(target: TargetRef): string {
  return target.kind === 'Target' ? 'Source' : 'ClusterSource';
}
