// Controller of target removal: evicts the pods of a draining target as `kubectl drain` would, and removes its
// finalizer when none is left. Evictions honour PodDisruptionBudgets; the proxies' own finalizers keep them until their
// delegates are gone.
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { boundTo, evictPod, type SourceControllerOptions } from '../../targets/proxy-pods.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import { planRemoval } from './target-removal.ts';

/** Retry interval after a PodDisruptionBudget refused an eviction, in ms (as kubectl drain). */
const RETRY_MS = 5_000;

/** Starts the controller. */
export function startTargetRemoval(options: SourceControllerOptions, signal: AbortSignal): void {
  const { proxies, targets, logger } = options;
  const ready = Promise.all([proxies.synced, targets.untilSynced()]);
  const retries: Retries = new Map();
  const reconcile = (key: string) => reconcileRemoval(key, options, retries, signal);
  const controller = startController({ name: 'target-removal', reconcile, concurrency: 4, logger, ready }, signal);
  const enqueueIfRemoved = (target: TargetCluster | undefined) => {
    if (target !== undefined && targets.object(target.ref)?.terminating === true) controller.enqueue(target.key);
  };
  proxies.onChange(
    (_key, before, after) => enqueueIfRemoved(targets.byNode(after?.nodeName ?? before?.nodeName ?? '')),
  );
  targets.listen({
    sessionOpened: (target, { chaperons, delegates }) => {
      chaperons.onChange(() => enqueueIfRemoved(target));
      delegates.onChange(() => enqueueIfRemoved(target));
    },
    changed: (target) => controller.enqueue(target.key),
  });
}

/** When refused evictions of a target's pods are retried, by its key, in ms of a monotonic clock. */
type Retries = Map<string, number>;

async function reconcileRemoval(
  key: string, options: SourceControllerOptions, retries: Retries, signal: AbortSignal,
): Promise<ReconcileResult> {
  const { source, proxies, targets } = options;
  const target = targets.get(key);
  const object = target && targets.object(target.ref);
  if (target === undefined || object === undefined) return DONE;
  const removable = { ...object, removalPolicy: object.spec.removalPolicy ?? 'Orphan' };
  const bound = object.terminating ? boundTo(proxies, target.nodeName) : [];
  const step = planRemoval({ target: removable, bound, candidates: countCandidates(target, proxies) });
  switch (step.kind) {
    case 'no-change':
      return DONE;
    case 'write':
      retries.delete(key); // nothing is left to drain
      await executePlan(source, step.plan, signal).catch(ignoreStale);
      return DONE;
    case 'drain': {
      // each pod that changes meanwhile enqueues the target
      const ms = (retries.get(key) ?? 0) - performance.now();
      if (ms > 0) return { kind: 'requeue-after', ms };
      const result = await evictAll(step.evict, options, signal);
      if (result.kind === 'requeue-after') retries.set(key, performance.now() + result.ms);
      return result;
    }
  }
}

/** Number of candidates in the target; undefined until it was observed. */
function countCandidates({ session }: TargetCluster, proxies: SourceControllerOptions['proxies']): number | undefined {
  if (session?.hasSynced !== true) return undefined;
  const there = [...session.chaperons.records(), ...session.delegates.records()].filter(({ parentKey, parentUid }) => {
    const proxy = proxies.get(parentKey);
    return proxy?.uid === parentUid && proxy.nodeName === undefined;
  });
  return new Set(there.map(({ parentUid }) => parentUid)).size;
}

async function evictAll(
  keys: readonly string[], { source, proxies }: SourceControllerOptions, signal: AbortSignal,
): Promise<ReconcileResult> {
  const answers = await Promise.all(keys.map(async (key) => {
    const proxy = proxies.get(key);
    return proxy && evictPod(source, proxy, signal).catch(ignoreStale);
  }));
  return answers.includes(false) ? { kind: 'requeue-after', ms: RETRY_MS } : DONE;
}
