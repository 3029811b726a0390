// Candidates of this process that nobody has confirmed yet, and up to which of them all are confirmed (ADR 0048). Each is sent with a time of its
// target's clock after which the target stops it. These times only grow, so one of them tells all earlier candidates from all later ones.
import { CONFIRM_MARGIN_MS, CONFIRM_WITHIN_MS, STOP_MS } from '../../model/delegate/confirmation.ts';

/** What time it is at a target, between two bounds. Our own times are in ms of a monotonic clock, its times in ms since the epoch. */
export interface TargetClock {
  earliest(now: number): number | undefined;
  latest(now: number): number | undefined;
}

/** More unconfirmed candidates of one namespace than this are not sent to a target at once: in a burst its scheduler's word may take too long. */
const MOST_OPEN = 64;

/** A candidate whose time has passed is looked at so often, in ms: its target may be silent for long enough by then. */
const LOOK_MS = 2_000;

interface OpenCandidate {
  /** `namespace/name` of the pod. */
  readonly key: string;
  /** When it must be confirmed, by the target's clock. */
  readonly before: number;
  /** From when on it has surely been stopped, by our clock. */
  readonly goneAt: number;
  isGivenUp: boolean;
}

interface Place {
  readonly open: Map<string, OpenCandidate>;
  /** All candidates that were to be confirmed before this are; undefined until the target was asked what an earlier process has said. */
  told: number | undefined;
  /** The latest time that was sent, or seen. */
  last: number;
  /** The same of bound ones. */
  bound: number;
}

/** The candidates of all places: the namespaces of each target, by any key. */
export class CandidateDeadlines {
  readonly #places = new Map<string, Place>();

  /**
   * Until when a candidate that is about to be sent must be confirmed, by the target's clock; the same when it is sent again. Undefined when it
   * need not be, for too little is known, or too many are on their way, or earlier ones may still be there.
   */
  begin(place: string, pod: { readonly uid: string; readonly key: string }, clock: TargetClock, now: number): number | undefined {
    const { open, told, last } = this.#place(place);
    const before = open.get(pod.uid);
    if (before !== undefined) return before.before;
    const [earliest, latest] = [clock.earliest(now), clock.latest(now)];
    const isFull = open.size >= MOST_OPEN || [...open.values()].some(({ isGivenUp }) => isGivenUp);
    if (told === undefined || earliest === undefined || latest === undefined || isFull) return undefined;
    const deadline = Math.max(Math.ceil(latest) + CONFIRM_WITHIN_MS, told, last);
    this.#place(place).last = deadline;
    open.set(pod.uid, { key: pod.key, before: deadline, goneAt: now + (deadline + STOP_MS - earliest), isGivenUp: false });
    return deadline;
  }

  /** From when on the target has surely stopped the candidate of a pod, by our clock; undefined when nobody can know. */
  goneAt(place: string, uid: string): number | undefined {
    const candidate = this.#places.get(place)?.open.get(uid);
    return candidate?.isGivenUp === false ? candidate.goneAt : undefined;
  }

  /** When the candidate of a pod is to be looked at again whatever happens, by our clock; undefined when that makes no difference. */
  nextLook(place: string, uid: string, now: number): number | undefined {
    const goneAt = this.goneAt(place, uid);
    if (goneAt === undefined) return undefined;
    const tooLateAt = goneAt - STOP_MS - CONFIRM_MARGIN_MS;
    return [tooLateAt, goneAt].find((time) => time > now) ?? now + LOOK_MS;
  }

  /** The pod is asked for elsewhere. Until it is known that nothing of it is left, nothing later is confirmed. */
  giveUp(place: string, uid: string): void {
    const candidate = this.#places.get(place)?.open.get(uid);
    if (candidate !== undefined) candidate.isGivenUp = true;
  }

  /** Those of pods that were given up, by UID and key of the pod. */
  givenUp(place: string): readonly (readonly [uid: string, key: string])[] {
    const { open } = this.#place(place);
    return [...open].flatMap(([uid, { key, isGivenUp }]) => (isGivenUp ? [[uid, key] as const] : []));
  }

  /** The target has no candidate of the pod, takes it back by itself, or is not to stop it any more. */
  settle(place: string, uid: string): void {
    this.#places.get(place)?.open.delete(uid);
  }

  /** The pod of a candidate that must be confirmed before this time is bound. */
  bound(place: string, uid: string, before: number): void {
    const known = this.#place(place);
    known.open.delete(uid);
    known.last = Math.max(known.last, before);
    known.bound = Math.max(known.bound, before);
  }

  /** Whether it is known what the target was told last. */
  isKnown(place: string): boolean {
    return this.#place(place).told !== undefined;
  }

  /** The target was told that all before this are confirmed; undefined when nobody knows any more. */
  tell(place: string, before: number | undefined): void {
    this.#place(place).told = before;
  }

  /** What the target is to be told: all candidates that must be confirmed before this are. Undefined when that is nothing new for any of them. */
  due(place: string): number | undefined {
    const { open, told, last, bound } = this.#place(place);
    if (told === undefined || bound < told) return undefined;
    const before = Math.min(last + 1, ...[...open.values()].map((candidate) => candidate.before));
    return before > told ? before : undefined;
  }

  /** Forgets a place. */
  drop(place: string): void {
    this.#places.delete(place);
  }

  #place(key: string): Place {
    let place = this.#places.get(key);
    if (place === undefined) this.#places.set(key, (place = { open: new Map(), told: undefined, last: 0, bound: -1 }));
    return place;
  }
}
