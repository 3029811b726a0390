// The scheduler's view of each target's capacity: the last summary minus the pods assumed since. Each step costs only
// what it changes, one row of one target. Every change of a target creates a new TargetSnapshot, which invalidates what
// was cached for the old one; the capacity object is shared and is changed in place.
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import { isRenewal } from '../../model/delegate/cached-summary.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AssumedLedger, type Assumed } from './assumed-ledger.ts';
import { ChangeLog } from './change-log.ts';
import type { TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { toTargetCapacity, type TargetCapacity } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';
import type { VirtualNodeInfo } from '../snapshot/virtual-node-info.ts';

/** A target as passed to {@link TargetViews.update}. */
export interface TargetIdentity {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
  readonly nodeInfo?: VirtualNodeInfo;
}

/** The capacity of all targets. */
export class TargetViews {
  readonly ledger = new AssumedLedger();
  /** Log of all element changes of {@link snapshots}. */
  readonly changes = new ChangeLog();
  /** Sorted by key. */
  #targets: TargetSnapshot[] = [];
  readonly #indexes = new Map<string, number>();
  /** The summaries behind the capacities. */
  readonly #published = new Map<string, ClusterSummary>();

  /** Stores the target's identity, and whether it accepts pods. */
  update(target: TargetIdentity, unavailable: Rejection | undefined): void {
    this.#put(toSnapshot(target, unavailable, this.get(target.key)?.capacity));
    for (const entry of this.ledger.on(target.key)) takeHeadroom(entry, target.nodeInfo?.headroom);
  }

  /**
   * Stores a summary and applies the remaining assumed pods to it. Returns whether the target's capacity may differ
   * from before.
   */
  publish(key: string, summary: ClusterSummary | undefined): boolean {
    const target = this.get(key);
    if (target === undefined) return false;
    const upTo = summary?.observed?.podsResourceVersion;
    const counted = upTo === undefined ? 0 : this.ledger.observed(key, upTo);
    if (counted === 0 && target.capacity !== undefined && isRenewal(this.#published.get(key), summary)) return false;
    if (summary === undefined) {
      const { capacity: _before, ...rest } = target;
      this.#published.delete(key);
      this.#put(rest);
      return true;
    }
    this.#published.set(key, summary);
    const capacity = toTargetCapacity(summary);
    for (const entry of this.ledger.on(key)) take(entry, capacity, target.nodeInfo?.headroom);
    this.#put(toSnapshot(target, target.unavailable, capacity));
    return true;
  }

  /** Removes a target. */
  remove(key: string): void {
    this.ledger.forget(key);
    this.#published.delete(key);
    if (!this.#indexes.has(key)) return;
    this.#reorder(this.#targets.filter((target) => target.key !== key));
  }

  /** Reserves capacity for a candidate until the summary counts its delegate. */
  assume(key: string, uid: string, requirements: NodeRequirements): void {
    const entry = this.ledger.assume(key, uid, requirements);
    if (entry === undefined) return;
    this.#changeCapacity(key, (capacity, { nodeInfo }) => take(entry, capacity, nodeInfo?.headroom));
  }

  /**
   * Records the target's resourceVersion at which its delegate was assigned to a node: a summary complete up to there
   * counts it.
   */
  scheduled(key: string, uid: string, resourceVersion: string): void {
    this.#giveBack(key, this.ledger.scheduled(key, uid, resourceVersion));
  }

  /** Releases what was reserved for a candidate that is gone. Returns whether anything was reserved. */
  release(key: string, uid: string): boolean {
    return this.#giveBack(key, this.ledger.release(key, uid));
  }

  /** Releases everything reserved for a pod that is gone or has ended. */
  releaseEverywhere(uid: string): void {
    for (const key of this.ledger.targetsOf(uid)) this.release(key, uid);
  }

  /** All targets for the next decision, sorted by key. Their capacity objects are valid until the next change. */
  snapshots(): readonly TargetSnapshot[] {
    return this.#targets;
  }

  #giveBack(key: string, entry: Assumed | undefined): boolean {
    if (entry === undefined) return false;
    const { added } = entry;
    takeHeadroom(entry, undefined);
    if (added !== undefined) this.#changeCapacity(key, (capacity) => capacity.removePod(added));
    return true;
  }

  #changeCapacity(key: string, change: (capacity: TargetCapacity, target: TargetSnapshot) => void): void {
    const target = this.get(key);
    if (target?.capacity === undefined) return;
    change(target.capacity, target);
    this.#put({ ...target });
  }

  /** One of {@link snapshots}. */
  get(key: string): TargetSnapshot | undefined {
    const index = this.#indexes.get(key);
    return index === undefined ? undefined : this.#targets[index];
  }

  #put(target: TargetSnapshot): void {
    const index = this.#indexes.get(target.key);
    if (index === undefined) {
      return this.#reorder([...this.#targets, target].toSorted((a, b) => (a.key < b.key ? -1 : 1)));
    }
    this.#targets[index] = target;
    this.changes.note(index);
  }

  /** Creates another array: a reader that caches by index sees that indexes have moved. */
  #reorder(targets: TargetSnapshot[]): void {
    this.#targets = targets;
    this.#indexes.clear();
    for (const [index, { key }] of targets.entries()) this.#indexes.set(key, index);
  }
}

/** Takes the pod's room on a node or, where none fits it, on one that the autoscaler may add as the target declares. */
function take(entry: Assumed, capacity: TargetCapacity, headroom: TargetCapacity | undefined): void {
  entry.added = capacity.addPod(entry.requirements);
  takeHeadroom(entry, headroom);
}

function takeHeadroom(entry: Assumed, declared: TargetCapacity | undefined): void {
  const { added, onAddedNode: before, requirements } = entry;
  const headroom = added !== undefined && added.place === undefined ? declared : undefined;
  if (before?.headroom === headroom) return;
  before?.headroom.removePod(before.added);
  entry.onAddedNode = headroom && { headroom, added: headroom.addPod(requirements) };
}

/** Snapshots of all targets have one hidden class: each decision reads a thousand of them. */
function toSnapshot(
  { ref, key, nodeName, nodeInfo }: TargetIdentity, unavailable: Rejection | undefined,
  capacity: TargetCapacity | undefined,
): TargetSnapshot {
  return {
    ref, key, nodeName, ...(nodeInfo !== undefined && { nodeInfo }), ...(unavailable !== undefined && { unavailable }),
    ...(capacity !== undefined && { capacity }),
  };
}
