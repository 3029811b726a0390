// A controller that is split over replicas: each reconciles the keys of the shards whose Leases it holds. Only for
// controllers whose keys are independent; those that count over all keys (the scheduler's ledger, shares) must run in
// one replica (ADR 0014).
import { DONE, startController, type Controller, type ControllerOptions, type ReconcileResult } from './controller.ts';
import type { Fence } from '../flow/fence.ts';
import type { Shards } from './shards.ts';

/** As {@link Reconcile}. All writes go through the fence, and none may outlast the returned promise. */
export type ShardedReconcile = (key: string, signal: AbortSignal, fence: Fence) => Promise<ReconcileResult>;

/** Options of a sharded controller. */
export interface ShardedControllerOptions extends Omit<ControllerOptions, 'reconcile'> {
  readonly reconcile: ShardedReconcile;
  readonly shards: Shards;
  /** All existing keys, usually those of the informer: a shard's keys are reconciled when the shard is acquired. */
  readonly keys: () => Iterable<string>;
}

/**
 * Requeue interval in ms of a key whose shard should be ours but is still being handed over, or whose Lease has
 * expired.
 */
const WAITING_RETRY_MS = 1_000;

/** Starts a controller that reconciles the keys of its shards until `signal` aborts; other keys are skipped. */
export function startShardedController(options: ShardedControllerOptions, signal: AbortSignal): Controller {
  const { shards } = options;
  const reconcile = async (key: string): Promise<ReconcileResult> => {
    const result = await shards.whileOwned(key, (fence) => options.reconcile(key, signal, fence));
    if (result !== undefined) return result;
    // reconcile all keys when a shard is acquired
    return shards.campaignsFor(key) ? { kind: 'requeue-after', ms: WAITING_RETRY_MS } : DONE;
  };
  const controller = startController({ ...options, reconcile }, signal);
  shards.onGained((gained) => {
    for (const key of options.keys()) if (shards.shardOf(key) === gained) controller.enqueue(key);
  });
  return controller;
}
