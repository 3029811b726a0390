// The scheduler's state of one pod, which no object stores. Losing it in a restart is safe: chaperons are observed
// again in their targets, and rejections happen again.
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { CandidateDeletion } from './placement.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** A create whose chaperon is not in the target's cache yet. */
export type PendingCreate =
  /** Sent without an answer: it may have succeeded. `chaperon` is what was sent, and what is sent again. */
  | { readonly kind: 'unconfirmed'; readonly target: string; readonly chaperon: PodChaperon }
  /** Succeeded at this resourceVersion of the target. */
  | { readonly kind: 'created'; readonly target: string; readonly resourceVersion: number };

/** The pause after a rejection is doubled this many times at most. */
const MOST_DOUBLINGS = 3;

interface TimedRejection extends Rejection {
  readonly until: number;
}

/** State of one proxy pod. Times are in ms of a monotonic clock. */
export class PodState {
  readonly uid: string;
  pendingCreate: PendingCreate | undefined;
  bindSent = false;
  /** Each target has told what it had of the pod when this process became leader. */
  isKnownEverywhere = false;
  /** When the current candidate was sent, in ms since the epoch. */
  candidateSince: number | undefined;
  /** Target whose capacity was reserved for the pod and its group at once, and the object to send there. */
  reservation: { readonly key: string; readonly target: string; readonly chaperon: PodChaperon } | undefined;
  /** Why the last candidate went where it did; stored with the Binding. */
  placement: string | undefined;
  /**
   * Time until which the target's autoscaler may add a node, in ms of a monotonic clock; 0 when the target had
   * capacity.
   */
  scaleUpUntil = 0;
  /** Targets that may have a chaperon or delegate of the pod. */
  readonly targets = new Set<string>();
  /** Targets whose candidate was abandoned: they stop, or have stopped, what they may have created. */
  readonly abandonedIn = new Set<string>();
  /** Targets that have held its candidate by a scheduling gate, as queues do, with what each said. */
  readonly schedulingGatedIn = new Map<string, Rejection>();
  /** Since when too few pods of its group exist. */
  tooFewSince: number | undefined;
  readonly #rejections = new Map<string, TimedRejection>();
  readonly #timesRejected = new Map<string, number>();
  readonly #seenAt = new Map<string, number>();
  readonly #deletions = new Map<string, { readonly uid: string; readonly deletion: CandidateDeletion }>();

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Excludes this target until `until`. */
  noteRejection(target: string, { reason, message }: Rejection, until: number): void {
    this.#rejections.set(target, { reason, message, until });
  }

  /**
   * How long not to try a target that has rejected the pod once more: `ms` at first, then twice as long each time. What
   * a quota or its scheduler says may stay so for hours, for thousands of pods.
   */
  nextPause(target: string, ms: number): number {
    const times = this.#timesRejected.get(target) ?? 0;
    this.#timesRejected.set(target, times + 1);
    return ms * 2 ** Math.min(times, MOST_DOUBLINGS);
  }

  /** Rejections still in force, and when the first of them ends. */
  rejections(now: number): { readonly byTarget: ReadonlyMap<string, Rejection>; readonly nextEnd: number | undefined } {
    let nextEnd: number | undefined;
    for (const [target, { until }] of this.#rejections) {
      if (until <= now) this.#rejections.delete(target);
      else nextEnd = Math.min(nextEnd ?? until, until);
    }
    return { byTarget: this.#rejections, nextEnd };
  }

  /** When the candidate in a target was first observed. */
  firstSeen(target: string, now: number): number {
    const seen = this.#seenAt.get(target) ?? now;
    this.#seenAt.set(target, seen);
    return seen;
  }

  /** The delete of the chaperon with this UID is in progress, was done, or (`undefined`) was not done. */
  noteDeletion(target: string, uid: string, deletion: CandidateDeletion | undefined): void {
    if (deletion === undefined) this.#deletions.delete(target);
    else this.#deletions.set(target, { uid, deletion });
  }

  /** State of this chaperon's delete. */
  deletionOf(target: string, uid: string | undefined): CandidateDeletion | undefined {
    const known = this.#deletions.get(target);
    return known?.uid === uid ? known?.deletion : undefined;
  }

  /** The target has nothing of the pod any more. */
  candidateGone(target: string): void {
    this.targets.delete(target);
    this.#seenAt.delete(target);
    this.#deletions.delete(target);
  }
}
