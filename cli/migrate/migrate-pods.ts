// Takes over a source's proxy pods and their objects in targets from Admiralty, or returns them. No running pod is
// created or deleted.
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { CANDIDATE_SCHEDULER, CHAPERON_FINALIZER, DELEGATE_FINALIZER, PARENT_UID_LABEL, PROXY_SCHEDULER, RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { ignoreStale, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { controllerOf, objectKey } from '../../model/pod/pod.ts';
import { AppError } from '../../process/errors.ts';
import { planAdoption } from '../takeover/adoption-plan.ts';
import type { Migration, MigrationTarget } from './migration.ts';
import { planReturn } from '../takeover/pod-return.ts';
import { candidatesOf, planEnding, planWaiting, type Candidate, type WaitingTakeover } from '../takeover/waiting-takeover.ts';

/** Kubelets and users write to the same objects; number of retries on conflicts. */
const ROUNDS = 20;

/** What a target holds. */
interface Held {
  readonly target: MigrationTarget;
  readonly chaperons: readonly PodChaperon[];
  readonly delegates: readonly Pod[];
}

/** State read in one round. */
interface Look {
  readonly proxies: readonly Pod[];
  readonly held: readonly Held[];
}

/** Takes over every proxy pod. Throws AppError `Timeout` when some change faster than they are taken over. */
export async function takePods(migration: Migration): Promise<void> {
  const count = await inRounds(migration, takeOnce);
  migration.tell(`  ${count} writes to proxies and what was made for them`);
}

/** Returns every proxy pod to Admiralty. Throws as {@link takePods}. */
export async function returnPods(migration: Migration): Promise<void> {
  const count = await inRounds(migration, returnOnce);
  migration.tell(`  ${count} writes to proxies and what was made for them`);
}

async function inRounds(migration: Migration, once: (migration: Migration, look: Look) => Promise<number>): Promise<number> {
  let all = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const count = await once(migration, await lookAt(migration));
    if (count === 0) return all;
    all += count;
  }
  throw new AppError('Timeout', 'Proxy pods change faster than they are handed over. Nothing is lost; run the same command again.');
}

async function lookAt({ client, targets, signal }: Migration): Promise<Look> {
  const proxies = await client.list(PODS, { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` }, signal);
  const held = await Promise.all(targets.map(async (target): Promise<Held> => {
    const namespace = target.ref.kind === 'Target' ? target.ref.namespace : undefined;
    const [chaperons, delegates] = await Promise.all([
      target.client.list(POD_CHAPERONS, { namespace }, signal),
      target.client.list(PODS, { namespace, labelSelector: PARENT_UID_LABEL }, signal),
    ]);
    return { target, chaperons, delegates };
  }));
  return { proxies, held };
}

async function takeOnce(migration: Migration, { proxies, held }: Look): Promise<number> {
  let count = 0;
  for (const { target, chaperons, delegates } of held) {
    const bound = proxies.filter(({ spec, metadata }) => spec.nodeName === target.nodeName && metadata.deletionTimestamp === undefined);
    const plan = planAdoption({ proxies: bound, chaperons, delegates, target, sourceId: migration.clusterId, isAdmiraltyThere: target.isAdmiraltyThere });
    for (const { inTarget, inSource } of plan.adoptions) count += await write(migration, { inTargets: [{ target: target.key, plan: inTarget }], inSource });
    for (const { pod, why } of plan.left) migration.tell(`  left ${pod}: ${why}`);
  }
  for (const proxy of proxies) {
    const candidates = allCandidates(proxy, held);
    if (proxy.metadata.deletionTimestamp !== undefined) count += await write(migration, endingOf(proxy, candidates));
    else if ((proxy.spec.nodeName ?? '') === '' && !isOurs(proxy)) count += await write(migration, planWaiting(proxy, candidates));
  }
  return count;
}

/** A proxy pod of ours that is being deleted is left to our controllers; Admiralty's is finished here. */
function endingOf(proxy: Pod, candidates: readonly Candidate[]): WaitingTakeover {
  return isOurs(proxy) ? { inTargets: [], inSource: [] } : planEnding(proxy, candidates);
}

function isOurs({ metadata: { finalizers = [] } }: Pod): boolean {
  return finalizers.includes(DELEGATE_FINALIZER);
}

async function returnOnce(migration: Migration, { proxies, held }: Look): Promise<number> {
  let count = 0;
  for (const proxy of proxies) {
    const candidates = allCandidates(proxy, held);
    const directs = held.flatMap(({ target, delegates }) => delegates.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid).map((delegate) => ({ target: target.key, delegate })));
    const targets = migration.targets.map(({ ref, key, isAdmiraltyThere }) => ({ ref, key, isAdmiraltyThere }));
    count += await write(migration, planReturn({ proxy, candidates, directs, targets, clusterName: migration.installation.clusterName }));
  }
  return count;
}

function allCandidates(proxy: Pod, held: readonly Held[]): readonly Candidate[] {
  return held.flatMap(({ target, chaperons, delegates }) => candidatesOf(proxy, target, { chaperons, delegates }));
}

/**
 * Writes to targets first, so that nothing is assumed gone in between. Returns the number of writes, including
 * conflicts.
 */
async function write(migration: Migration, { inTargets, inSource }: WaitingTakeover): Promise<number> {
  const all: readonly (readonly [client: Migration['client'], plan: Plan])[] = [
    ...inTargets.map(({ target, plan }) => [migration.targets.find(({ key }) => key === target)?.client ?? migration.client, plan] as const),
    [migration.client, inSource],
  ];
  for (const [client, plan] of all) {
    const isDone = await executePlan(client, plan, migration.signal).then(() => true, (error: unknown) => {
      ignoreStale(error);
      return false;
    });
    if (!isDone) break; // a proxy pod labelled before its objects would not be looked at again
  }
  return all.reduce((sum, [, plan]) => sum + plan.length, 0);
}

/** Keys of proxy pods not yet taken over or returned; for the final check. */
export async function orphanedPods(migration: Migration): Promise<readonly string[]> {
  const { proxies } = await lookAt(migration);
  return proxies.filter((proxy) => !isOurs(proxy) && proxy.metadata.deletionTimestamp === undefined).map(({ metadata }) => objectKey(metadata));
}

/** Removes our finalizers from chaperons and delegates of this cluster, which nobody else would remove. */
export async function releaseChaperons({ client, signal, tell }: Migration): Promise<void> {
  let count = 0;
  for (const chaperon of (await client.list(POD_CHAPERONS, {}, signal).catch(unless(isNotFound))) ?? []) {
    if (chaperon.metadata.finalizers?.includes(CHAPERON_FINALIZER) !== true) continue;
    count += 1;
    await executePlan(client, planRelease(POD_CHAPERONS, chaperon, CHAPERON_FINALIZER), signal).catch(ignoreStale);
  }
  for (const delegate of await client.list(PODS, { labelSelector: PARENT_UID_LABEL }, signal)) {
    if (delegate.metadata.finalizers?.includes(RUN_ONCE_FINALIZER) !== true) continue;
    count += 1;
    await executePlan(client, planRelease(PODS, delegate, RUN_ONCE_FINALIZER), signal).catch(ignoreStale);
  }
  if (count > 0) tell(`  ${count} finalizers taken off PodChaperons and delegates`);
}

function planRelease(type: ResourceType, { metadata: { namespace, name = '', uid, finalizers = [] } }: KubernetesObject, finalizer: string): Plan {
  const patch = { metadata: { uid, finalizers: finalizers.filter((one) => one !== finalizer) } };
  return [{ kind: 'patch', type, at: { namespace, name }, patchType: 'merge', patch }];
}

/**
 * PodChaperons whose delegates wait unscheduled for Admiralty's stopped candidate scheduler: their sources create
 * others.
 */
export async function deletePendingCandidates({ client, signal, tell }: Migration): Promise<void> {
  let count = 0;
  for (const { metadata, spec } of await client.list(PODS, { fieldSelector: `spec.schedulerName=${CANDIDATE_SCHEDULER},spec.nodeName=` }, signal)) {
    const owner = controllerOf(metadata);
    if (owner?.kind !== 'PodChaperon' || (spec.nodeName ?? '') !== '') continue;
    count += 1;
    await client.delete(POD_CHAPERONS, { namespace: metadata.namespace, name: owner.name }, { preconditions: { uid: owner.uid }, propagation: 'Background' }, signal).catch(ignoreStale);
  }
  if (count > 0) tell(`  ${count} candidates`);
}
