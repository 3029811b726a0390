// Unconfirmed candidates of this process, and the time before which all candidates are confirmed (ADR 0048). Each
// candidate is sent with a deadline on its target's clock; the target stops it when the deadline passes without a
// confirmation. Deadlines only increase, so a single one separates earlier candidates from later ones.
import { CONFIRM_MARGIN_MS, CONFIRM_WITHIN_MS, STOP_ALLOWANCE_MS } from '../../model/delegate/confirmation.ts';

/**
 * The current time at a target, between two bounds. Our own times are in ms of a monotonic clock, the target's in ms
 * since the epoch.
 */
export interface TargetClock {
  earliest(now: number): number | undefined;
  latest(now: number): number | undefined;
}

/**
 * Maximum number of unconfirmed candidates of one namespace in a target; in a burst its scheduler may need too long for
 * more.
 */
const MOST_OPEN = 64;

/** Requeue interval of a candidate past its deadline, in ms: by then its target may have been silent long enough. */
const INTERVAL_MS = 2_000;

interface OpenCandidate {
  /** `namespace/name` of the pod. */
  readonly key: string;
  /** Deadline of the confirmation, on the target's clock. */
  readonly before: number;
  /** Time after which the target has certainly stopped it, on our clock. */
  readonly goneAt: number;
  /** Its pod was sent to another target, and it is not known yet whether this one is gone. */
  isAbandoned: boolean;
}

interface NamespaceDeadlines {
  readonly open: Map<string, OpenCandidate>;
  /**
   * All candidates with an earlier deadline are confirmed; undefined until the value written by an earlier process was
   * read from the target.
   */
  announced: number | undefined;
  /** The latest deadline that was sent or observed. */
  latest: number;
  /** The same of bound candidates; -1 without any. */
  latestBound: number;
}

/** The candidates of each namespace of each target, under any key of it: `targetNamespace`. */
export class CandidateDeadlines {
  readonly #byNamespace = new Map<string, NamespaceDeadlines>();

  /**
   * Deadline of a candidate that is about to be sent, on the target's clock; the same one when it is sent again.
   * Undefined when it needs no confirmation: too little is known, too many are unconfirmed, or earlier ones may still
   * exist.
   */
  begin(
    targetNamespace: string, pod: { readonly uid: string; readonly key: string }, clock: TargetClock, now: number,
  ): number | undefined {
    const { open, announced, latest: latestSent } = this.#namespace(targetNamespace);
    const before = open.get(pod.uid);
    if (before !== undefined) return before.before;
    const [earliest, latest] = [clock.earliest(now), clock.latest(now)];
    const isFull = open.size >= MOST_OPEN || [...open.values()].some(({ isAbandoned }) => isAbandoned);
    if (announced === undefined || earliest === undefined || latest === undefined || isFull) return undefined;
    const deadline = Math.max(Math.ceil(latest) + CONFIRM_WITHIN_MS, announced, latestSent);
    this.#namespace(targetNamespace).latest = deadline;
    const goneAt = now + (deadline + STOP_ALLOWANCE_MS - earliest);
    open.set(pod.uid, { key: pod.key, before: deadline, goneAt, isAbandoned: false });
    return deadline;
  }

  /**
   * Time after which the target has certainly stopped the pod's candidate, on our clock; undefined when that cannot be
   * known.
   */
  goneAt(targetNamespace: string, uid: string): number | undefined {
    const candidate = this.#byNamespace.get(targetNamespace)?.open.get(uid);
    return candidate?.isAbandoned === false ? candidate.goneAt : undefined;
  }

  /** When to reconcile the pod's candidate again in any case, on our clock; undefined when that makes no difference. */
  requeueAt(targetNamespace: string, uid: string, now: number): number | undefined {
    const goneAt = this.goneAt(targetNamespace, uid);
    if (goneAt === undefined) return undefined;
    const tooLateAt = goneAt - STOP_ALLOWANCE_MS - CONFIRM_MARGIN_MS;
    return [tooLateAt, goneAt].find((time) => time > now) ?? now + INTERVAL_MS;
  }

  /** Its pod is sent to another target. Until the candidate here is known to be gone, no later one is confirmed. */
  abandon(targetNamespace: string, uid: string): void {
    const candidate = this.#byNamespace.get(targetNamespace)?.open.get(uid);
    if (candidate !== undefined) candidate.isAbandoned = true;
  }

  /** Abandoned candidates, by UID and key of the pod. */
  abandoned(targetNamespace: string): readonly (readonly [uid: string, key: string])[] {
    const { open } = this.#namespace(targetNamespace);
    const found: (readonly [uid: string, key: string])[] = [];
    for (const [uid, { key, isAbandoned }] of open) if (isAbandoned) found.push([uid, key]);
    return found;
  }

  /** The target has no candidate of the pod, deletes it without us, or must not stop it any more. */
  remove(targetNamespace: string, uid: string): void {
    this.#byNamespace.get(targetNamespace)?.open.delete(uid);
  }

  /** The pod of a candidate with this deadline is bound. */
  bound(targetNamespace: string, uid: string, deadline: number): void {
    const known = this.#namespace(targetNamespace);
    known.open.delete(uid);
    known.latest = Math.max(known.latest, deadline);
    known.latestBound = Math.max(known.latestBound, deadline);
  }

  /** Whether the last value written to the target is known. */
  isKnown(targetNamespace: string): boolean {
    return this.#namespace(targetNamespace).announced !== undefined;
  }

  /** Whether a bound candidate waits for its confirmation, which needs that value. */
  isAwaited(targetNamespace: string): boolean {
    return this.#namespace(targetNamespace).latestBound >= 0;
  }

  /**
   * Notes what the target has in writing: all candidates with an earlier deadline are confirmed. Undefined when the
   * stored value is no longer known.
   */
  recordAnnounced(targetNamespace: string, before: number | undefined): void {
    this.#namespace(targetNamespace).announced = before;
  }

  /**
   * The value to write to the target: all candidates with an earlier deadline are confirmed. Undefined when that
   * confirms no further one.
   */
  due(targetNamespace: string): number | undefined {
    const { open, announced, latest, latestBound } = this.#namespace(targetNamespace);
    if (announced === undefined || latestBound < announced) return undefined;
    let before = latest + 1;
    for (const candidate of open.values()) before = Math.min(before, candidate.before);
    return before > announced ? before : undefined;
  }

  /** Removes a namespace of a target. */
  drop(targetNamespace: string): void {
    this.#byNamespace.delete(targetNamespace);
  }

  #namespace(key: string): NamespaceDeadlines {
    let known = this.#byNamespace.get(key);
    if (known === undefined) {
      known = { open: new Map(), announced: undefined, latest: 0, latestBound: -1 };
      this.#byNamespace.set(key, known);
    }
    return known;
  }
}
