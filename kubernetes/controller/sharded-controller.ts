// A controller of which each replica does a part: the keys of the shards whose Leases it holds. For controllers whose keys have
// nothing in common; those that count over all keys (the scheduler's ledger, shares) must run in one replica (ADR 0014).
import { DONE, startController, type Controller, type ControllerOptions, type ReconcileResult } from './controller.ts';
import type { Fence } from '../flow/fence.ts';
import type { Shards } from './shards.ts';

/** As {@link Reconcile}; all writes go through the fence, and none may outlast the promise. */
export type ShardedReconcile = (key: string, signal: AbortSignal, fence: Fence) => Promise<ReconcileResult>;

/** How a sharded controller runs. */
export interface ShardedControllerOptions extends Omit<ControllerOptions, 'reconcile'> {
  readonly reconcile: ShardedReconcile;
  readonly shards: Shards;
  /** All keys there are, most simply those of the informer that keys come from: those of a shard are looked at when it comes. */
  readonly keys: () => Iterable<string>;
}

/** A key whose shard should be ours is looked at this often, in ms, while another one still hands it over or the Lease has lapsed. */
const WAITING_RETRY_MS = 1_000;

/** Starts a controller that works on the keys of its shards until `signal` is aborted; keys of others are passed over. */
export function startShardedController(options: ShardedControllerOptions, signal: AbortSignal): Controller {
  const { shards } = options;
  const reconcile = async (key: string): Promise<ReconcileResult> => {
    const result = await shards.whileOwned(key, (fence) => options.reconcile(key, signal, fence));
    if (result !== undefined) return result;
    return shards.campaignsFor(key) ? { kind: 'requeue-after', ms: WAITING_RETRY_MS } : DONE; // all keys are looked at when a shard comes
  };
  const controller = startController({ ...options, reconcile }, signal);
  shards.onGained((gained) => {
    for (const key of options.keys()) if (shards.shardOf(key) === gained) controller.enqueue(key);
  });
  return controller;
}
