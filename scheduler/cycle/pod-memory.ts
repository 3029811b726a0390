// What the scheduler remembers of a pod that is not written in any object. Losing it (a restart) is safe: chaperons are seen again
// in their targets, and refusals are asked for again.
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { CandidateDeletion } from './placement.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** A create whose chaperon has not been seen in the target's collection yet. */
export type PendingCreate =
  /** Sent, and no answer came: it may have been done. */
  | { readonly kind: 'unconfirmed'; readonly target: string }
  /** Done at this resourceVersion of the target. */
  | { readonly kind: 'created'; readonly target: string; readonly resourceVersion: number };

interface Refusal extends Rejection {
  readonly until: number;
}

/** Memory of one proxy pod. Times are in ms of a monotonic clock. */
export class PodMemory {
  readonly uid: string;
  pendingCreate: PendingCreate | undefined;
  bindSent = false;
  /** When the candidate that there is now was sent, in ms since the epoch. */
  candidateSince: number | undefined;
  /** A place found together with those of its group: what is to be sent, and where. */
  reserved: { readonly key: string; readonly target: string; readonly chaperon: PodChaperon } | undefined;
  /** Why the last candidate went where it went; the Binding takes it to the pod. */
  placement: string | undefined;
  /** Until when the target's autoscaler may make room, in ms of a monotonic clock; 0 where it was chosen for room that is there. */
  scaleUpUntil = 0;
  /** Targets that may hold a chaperon or delegate of the pod. */
  readonly targets = new Set<string>();
  /** Targets that were asked and given up: they stop what they may have made, or have done so. */
  readonly givenUp = new Set<string>();
  readonly #refusals = new Map<string, Refusal>();
  readonly #seenAt = new Map<string, number>();
  readonly #deletions = new Map<string, { readonly uid: string; readonly deletion: CandidateDeletion }>();

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Does not ask this target again before `until`. */
  refuse(target: string, { reason, message }: Rejection, until: number): void {
    this.#refusals.set(target, { reason, message, until });
  }

  /** Refusals that still hold, and when the first of them ends. */
  refusals(now: number): { readonly byTarget: ReadonlyMap<string, Rejection>; readonly nextEnd: number | undefined } {
    let nextEnd: number | undefined;
    for (const [target, { until }] of this.#refusals) {
      if (until <= now) this.#refusals.delete(target);
      else nextEnd = Math.min(nextEnd ?? until, until);
    }
    return { byTarget: this.#refusals, nextEnd };
  }

  /** When the candidate in a target was first seen. */
  firstSeen(target: string, now: number): number {
    const seen = this.#seenAt.get(target) ?? now;
    this.#seenAt.set(target, seen);
    return seen;
  }

  /** A delete of the chaperon of this UID is under way, was done, or (`undefined`) was not done. */
  noteDeletion(target: string, uid: string, deletion: CandidateDeletion | undefined): void {
    if (deletion === undefined) this.#deletions.delete(target);
    else this.#deletions.set(target, { uid, deletion });
  }

  /** What became of the delete of this very chaperon. */
  deletionOf(target: string, uid: string | undefined): CandidateDeletion | undefined {
    const known = this.#deletions.get(target);
    return known?.uid === uid ? known?.deletion : undefined;
  }

  /** The target holds nothing of the pod any more. */
  candidateGone(target: string): void {
    this.targets.delete(target);
    this.#seenAt.delete(target);
    this.#deletions.delete(target);
  }
}
