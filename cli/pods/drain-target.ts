// Drains a target like any node: its virtual node is cordoned, then each pod is evicted under its PodDisruptionBudgets
// (kubectl drain, `k8s.io/kubectl/pkg/drain`). Controllers recreate the pods elsewhere.
import type { Pod } from '../../api/objects/core.ts';
import { NODES, PODS } from '../../api/resource-types.ts';
import { within } from '../../kubernetes/flow/abort.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { isConflict, isInEndingNamespace, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { controllerOf, isTerminal, isTerminating, objectKey } from '../../model/pod/pod.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { toleratesCordon } from '../../model/pod/tolerations.ts';
import { AppError } from '../../process/errors.ts';
import { evictPod } from '../../targets/proxy-pods.ts';
import type { Progress } from '../clusters/apply-objects.ts';
import { pollUntil } from '../clusters/poll-until.ts';
import { targetText } from '../clusters/cluster-flags.ts';
import { requireTarget } from '../clusters/known-target.ts';
import { isVirtualNode } from '../clusters/own-objects.ts';

/** How to drain. */
export interface DrainOptions {
  /** Also evict pods that no controller will recreate. */
  readonly evictUnmanaged: boolean;
  /** Timeout until the last pod is gone, in ms. */
  readonly forMs: number;
}

const POLL_INTERVAL_MS = 250;
/** kubectl's retry interval for an eviction blocked by a budget, in ms. */
const BUDGET_RETRY_MS = 5_000;

/**
 * Cordons or uncordons a target's virtual node. A node of that name that is not a virtual node is left alone.
 * @throws AppError `NotFound` when the target has no virtual node.
 */
export async function cordonTarget(
  client: ClusterClient, target: TargetRef, isCordoned: boolean, signal: AbortSignal,
): Promise<void> {
  const name = virtualNodeName(target);
  const node = await client.get(NODES, { name }, signal).catch(unless(isNotFound));
  if (node === undefined || !isVirtualNode(node)) {
    await requireTarget(client, target, signal);
    throw new AppError(
      'NotFound', `Target ${targetText(target)} has no virtual node ${name}: it has never been Ready.`,
    );
  }
  const patch = { metadata: { uid: node.metadata.uid }, spec: { unschedulable: isCordoned || null } };
  await client.patch(NODES, { name }, { patchType: 'merge', patch }, signal);
}

/**
 * Cordons a target and evicts its pods; resolves when the last one is gone from the source, and so from the target.
 * @throws AppError `BadInput` that names pods without a controller, unless these are to be evicted too; `Timeout` that
 * names the remaining ones.
 */
export async function drainTarget(
  client: ClusterClient, target: TargetRef, options: DrainOptions, progress: Progress,
): Promise<void> {
  const { signal, tell } = progress;
  await cordonTarget(client, target, true, signal);
  const pods = await podsOf(client, target, signal);
  const unmanaged = pods.filter(wouldBeLost);
  if (unmanaged.length > 0 && !options.evictUnmanaged) {
    throw new AppError(
      'BadInput',
      `No controller would recreate these pods: ${namesOf(unmanaged)}. Delete them, or pass ` +
        '--evict-unmanaged. The target stays cordoned.',
    );
  }
  let deadline = signal;
  const isDrained = await within(options.forMs, signal, (either) => (
    evictAll(client, target, { pods, options }, { tell, signal: deadline = either })
  )).catch((error: unknown) => {
    if (!deadline.aborted || signal.aborted) throw error;
  });
  if (isDrained === true) return tell(`target ${targetText(target)} is drained`);
  throw new AppError(
    'Timeout',
    `These pods have not gone: ${namesOf(await podsOf(client, target, signal))}. Their delegates may still be ` +
      'stopping, or a PodDisruptionBudget forbids it.',
  );
}

/**
 * Evicts these pods, and those that the scheduler was binding when the target was cordoned; resolves when none is left.
 */
async function evictAll(
  client: ClusterClient, target: TargetRef,
  { pods, options }: { readonly pods: readonly Pod[]; readonly options: DrainOptions }, { tell, signal }: Progress,
): Promise<true> {
  const begun = new Set<string | undefined>();
  // the next pod of a controller whose pods tolerate the cordon may be placed here again, indefinitely
  const mayComeLate = (pod: Pod) =>
    !toleratesCordon(pod.spec.tolerations) && (options.evictUnmanaged || !wouldBeLost(pod));
  for (let left = pods; left.length > 0; left = await podsOf(client, target, signal)) {
    const due = left.filter((pod) =>
      !isTerminating(pod) && !begun.has(pod.metadata.uid) && (left === pods || mayComeLate(pod)));
    for (const { metadata } of due) begun.add(metadata.uid);
    // each is tried: one that cannot be evicted, such as one that two budgets select, must not hold up the others
    const ends = await Promise.allSettled(due.map((pod) => evict(client, pod, { tell, signal })));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    if (due.length === 0) await delay(POLL_INTERVAL_MS, signal);
  }
  return true;
}

/** No controller would recreate it, and it has not ended (kubectl drain, `unreplicatedFilter`). */
function wouldBeLost(pod: Pod): boolean {
  return controllerOf(pod.metadata) === undefined && !isTerminal(pod.status?.phase) && !isTerminating(pod);
}

function namesOf(pods: readonly Pod[]): string {
  return pods.map(({ metadata }) => objectKey(metadata)).join(', ');
}

/** All pods bound to the target's virtual node. */
function podsOf(client: ClusterClient, target: TargetRef, signal: AbortSignal): Promise<readonly Pod[]> {
  return client.list(PODS, { fieldSelector: `spec.nodeName=${virtualNodeName(target)}` }, signal);
}

/**
 * Evicts a pod; retries while a budget blocks it, and where its namespace ends, which deletes it (kubectl drain). A pod
 * that was recreated under its name counts as evicted.
 */
export async function evict(client: ClusterClient, pod: Pod, { tell, signal }: Progress): Promise<void> {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const attempt = async (): Promise<true | undefined> => {
    try {
      return (await evictPod(client, { namespace, name, uid }, signal)) || undefined;
    } catch (error) {
      if (isConflict(error) || isInEndingNamespace(error)) {
        const live = await client.get(PODS, { namespace, name }, signal).catch(unless(isNotFound));
        return live?.metadata.uid === uid && !isTerminating(live) ? undefined : true;
      }
      unless(isNotFound)(error);
      return true;
    }
  };
  await pollUntil(attempt, { forMs: Infinity, everyMs: BUDGET_RETRY_MS }, signal);
  tell(`evicted ${objectKey(pod.metadata)}`);
}

/**
 * The same, for `forMs` at most.
 * @throws AppError `Timeout` that names the pod.
 */
export async function evictWithin(client: ClusterClient, pod: Pod, forMs: number, progress: Progress): Promise<void> {
  const { tell, signal } = progress;
  let deadline = signal;
  await within(forMs, signal, (either) => evict(client, pod, { tell, signal: (deadline = either) })).catch(
    (error: unknown) => {
      if (!deadline.aborted || signal.aborted) throw error;
      throw new AppError(
        'Timeout',
        `Pod ${objectKey(pod.metadata)} was not evicted in ${forMs / 1_000} s: a PodDisruptionBudget forbids it. It ` +
          'stays where it is.',
      );
    },
  );
}
