// What the scheduler knows of each target's capacity: the last summary less what is assumed since, kept up to date step by step.
import type { ClusterSummary } from '../api/cluster-summary.ts';
import type { TargetRef } from '../model/target-ref.ts';
import { AssumedLedger } from './assumed-ledger.ts';
import type { Rejection, TargetSnapshot } from './snapshot.ts';
import { takeFrom, toTargetCapacity, type NodeRequirements, type TargetCapacity } from './target-capacity.ts';

/** A target as it is told to {@link TargetViews.update}. */
export interface TargetIdentity {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
}

interface View {
  readonly identity: TargetIdentity;
  readonly unavailable: Rejection | undefined;
  /** As the summary states it. */
  readonly published: TargetCapacity | undefined;
  /** Less what is assumed; undefined when it must be computed anew. */
  readonly current: TargetCapacity | undefined;
}

/** The capacity of all targets. */
export class TargetViews {
  readonly ledger = new AssumedLedger();
  readonly #views = new Map<string, View>();

  /** Takes over who the target is and whether it may get pods. */
  update(identity: TargetIdentity, unavailable: Rejection | undefined): void {
    const view = this.#views.get(identity.key);
    this.#views.set(identity.key, { identity, unavailable, published: view?.published, current: view?.current });
  }

  /** Takes over a new summary. */
  publish(key: string, summary: ClusterSummary | undefined): void {
    const view = this.#views.get(key);
    if (view === undefined) return;
    if (summary?.observed !== undefined) this.ledger.observed(key, summary.observed.podsResourceVersion);
    this.#views.set(key, { ...view, published: summary === undefined ? undefined : toTargetCapacity(summary), current: undefined });
  }

  /** Forgets a target that was removed. */
  remove(key: string): void {
    this.#views.delete(key);
    this.ledger.forget(key);
  }

  /** Holds capacity for a candidate until the summary shows its delegate. */
  assume(key: string, uid: string, requirements: NodeRequirements): void {
    if (!this.ledger.assume(key, uid, requirements)) return;
    const view = this.#views.get(key);
    if (view?.current !== undefined) this.#views.set(key, { ...view, current: takeFrom(view.current, requirements) });
  }

  /** Notes at which resourceVersion of the target its delegate had its node: a summary that is complete up to there shows it. */
  scheduled(key: string, uid: string, resourceVersion: string): void {
    if (this.ledger.scheduled(key, uid, resourceVersion)) this.#recompute(key);
  }

  /** Gives back what was held for a candidate that is gone. Gives whether anything was held. */
  release(key: string, uid: string): boolean {
    const released = this.ledger.release(key, uid);
    if (released) this.#recompute(key);
    return released;
  }

  /** Gives back whatever is held for a pod that has gone or ended. */
  releaseEverywhere(uid: string): void {
    for (const key of this.ledger.releaseEverywhere(uid)) this.#recompute(key);
  }

  #recompute(key: string): void {
    const view = this.#views.get(key);
    if (view !== undefined) this.#views.set(key, { ...view, current: undefined });
  }

  /** All targets as the next decision is to see them. */
  *snapshots(): Generator<TargetSnapshot> {
    for (const [key, view] of this.#views) {
      const capacity = this.#currentCapacity(key, view);
      yield {
        ...view.identity,
        ...(view.unavailable !== undefined && { unavailable: view.unavailable }),
        ...(capacity !== undefined && { capacity }),
      };
    }
  }

  #currentCapacity(key: string, view: View): TargetCapacity | undefined {
    if (view.current !== undefined || view.published === undefined) return view.current;
    let current = view.published;
    for (const requirements of this.ledger.on(key)) current = takeFrom(current, requirements);
    this.#views.set(key, { ...view, current });
    return current;
  }
}
