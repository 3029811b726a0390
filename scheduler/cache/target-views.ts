// What the scheduler knows of each target's capacity: the last summary less what is assumed since, kept up to date step by step.
// A step costs what it changes: one row of one target. Every change of a target gives it a new TargetSnapshot object, so that what
// was concluded from the old one is known to be stale; its capacity is shared and changes in place.
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { AssumedLedger, type Assumed } from './assumed-ledger.ts';
import { ChangedPlaces } from './changed-places.ts';
import type { TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { toTargetCapacity, type TargetCapacity } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';
import type { TargetTraits } from '../snapshot/target-traits.ts';

/** A target as it is told to {@link TargetViews.update}. */
export interface TargetIdentity {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
  readonly traits?: TargetTraits;
}

/** The capacity of all targets. */
export class TargetViews {
  readonly ledger = new AssumedLedger();
  /** Every change of an element of {@link snapshots}. */
  readonly changes = new ChangedPlaces();
  /** In the order of keys. */
  #targets: TargetSnapshot[] = [];
  readonly #indexes = new Map<string, number>();

  /** Takes over who the target is and whether it may get pods. */
  update({ ref, key, nodeName, traits }: TargetIdentity, unavailable: Rejection | undefined): void {
    const capacity = this.#get(key)?.capacity;
    this.#put({ ref, key, nodeName, ...(traits !== undefined && { traits }), ...(unavailable !== undefined && { unavailable }), ...(capacity !== undefined && { capacity }) });
  }

  /** Takes over a new summary; what remains assumed is placed in it anew. */
  publish(key: string, summary: ClusterSummary | undefined): void {
    const target = this.#get(key);
    if (target === undefined) return;
    if (summary?.observed !== undefined) this.ledger.observed(key, summary.observed.podsResourceVersion);
    const { capacity: _before, ...rest } = target;
    if (summary === undefined) {
      this.#put(rest);
      return;
    }
    const capacity = toTargetCapacity(summary);
    for (const entry of this.ledger.on(key)) entry.taken = capacity.take(entry.requirements);
    this.#put({ ...rest, capacity });
  }

  /** Forgets a target that was removed. */
  remove(key: string): void {
    this.ledger.forget(key);
    if (!this.#indexes.has(key)) return;
    this.#reorder(this.#targets.filter((target) => target.key !== key));
  }

  /** Holds capacity for a candidate until the summary shows its delegate. */
  assume(key: string, uid: string, requirements: NodeRequirements): void {
    const entry = this.ledger.assume(key, uid, requirements);
    if (entry !== undefined) this.#changeCapacity(key, (capacity) => (entry.taken = capacity.take(requirements)));
  }

  /** Notes at which resourceVersion of the target its delegate had its node: a summary that is complete up to there shows it. */
  scheduled(key: string, uid: string, resourceVersion: string): void {
    this.#giveBack(key, this.ledger.scheduled(key, uid, resourceVersion));
  }

  /** Gives back what was held for a candidate that is gone. Gives whether anything was held. */
  release(key: string, uid: string): boolean {
    return this.#giveBack(key, this.ledger.release(key, uid));
  }

  /** Gives back whatever is held for a pod that has gone or ended. */
  releaseEverywhere(uid: string): void {
    for (const key of this.ledger.targetsOf(uid)) this.release(key, uid);
  }

  /** All targets as the next decision is to see them, in the order of their keys. Their capacity holds until the next change. */
  snapshots(): readonly TargetSnapshot[] {
    return this.#targets;
  }

  #giveBack(key: string, entry: Assumed | undefined): boolean {
    if (entry === undefined) return false;
    const { taken } = entry;
    if (taken !== undefined) this.#changeCapacity(key, (capacity) => capacity.giveBack(taken));
    return true;
  }

  #changeCapacity(key: string, change: (capacity: TargetCapacity) => void): void {
    const target = this.#get(key);
    if (target?.capacity === undefined) return;
    change(target.capacity);
    this.#put({ ...target });
  }

  #get(key: string): TargetSnapshot | undefined {
    const index = this.#indexes.get(key);
    return index === undefined ? undefined : this.#targets[index];
  }

  #put(target: TargetSnapshot): void {
    const index = this.#indexes.get(target.key);
    if (index === undefined) return this.#reorder([...this.#targets, target].toSorted((a, b) => (a.key < b.key ? -1 : 1)));
    this.#targets[index] = target;
    this.changes.note(index);
  }

  /** Another array, not the same one changed: who remembers things by place in it sees that places have moved. */
  #reorder(targets: TargetSnapshot[]): void {
    this.#targets = targets;
    this.#indexes.clear();
    for (const [index, { key }] of targets.entries()) this.#indexes.set(key, index);
  }
}
