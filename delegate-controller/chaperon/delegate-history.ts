// What the watch of the target's pods has shown of delegates: whether one existed, when its status changed, and that
// the last one is gone.
import { ObservedDeletions } from '../../model/delegate/observed-deletions.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';
import { CreateExpectations } from './create-expectations.ts';

/** By the UID of the chaperon. */
export class DelegateHistory {
  /** Creates whose pods the watch has not delivered. */
  readonly creates = new CreateExpectations();
  readonly #isTerminating: (delegate: TargetPod) => boolean;
  /** Last change of a delegate's status, in ms since the epoch; an entry means that the delegate existed. */
  readonly #changedAt = new Map<string, number>();
  /** Delegates of terminating chaperons. */
  readonly #deletions = new ObservedDeletions<'delegate'>();

  /** `isTerminating`: whether a delegate's chaperon terminates, so that no other delegate is created. */
  constructor(isTerminating: (delegate: TargetPod) => boolean) {
    this.#isTerminating = isTerminating;
  }

  /** The watch delivered a change of a pod. `now` is in ms since the epoch. */
  observe(before: TargetPod | undefined, after: TargetPod | undefined, now: number): void {
    if (after?.chaperonUid !== undefined) this.creates.observe(after.chaperonUid, after.uid);
    if (before !== undefined && after === undefined) this.#noteEnd(before);
    const chaperonUid = after?.chaperonUid ?? before?.chaperonUid;
    if (chaperonUid !== undefined && before?.statusDigest !== after?.statusDigest) {
      this.#changedAt.set(chaperonUid, now);
    }
  }

  /** For a delegate whose chaperon terminates, unless a later delegate may exist. */
  #noteEnd(delegate: TargetPod): void {
    const { chaperonUid } = delegate;
    if (chaperonUid !== undefined && this.#isTerminating(delegate) && !this.creates.has(chaperonUid)) {
      this.#deletions.note(chaperonUid, 'delegate');
    }
  }

  /** Last change of the delegate's status, in ms since the epoch; undefined when none was observed. */
  changedAt(chaperonUid: string): number | undefined {
    return this.#changedAt.get(chaperonUid);
  }

  /** Whether the end of the last delegate of a terminating chaperon was observed. */
  isGone(chaperonUid: string): boolean {
    return this.#deletions.has(chaperonUid, ['delegate']);
  }

  /** The chaperon of a delegate is gone; a deletion of the delegate may still be observed. */
  forgetStatus(chaperonUid: string): void {
    this.#changedAt.delete(chaperonUid);
  }

  /** The chaperon is gone, or stands for another delegate from now on. */
  forget(chaperonUid: string): void {
    this.#changedAt.delete(chaperonUid);
    this.#deletions.forget(chaperonUid);
    this.creates.forget(chaperonUid);
  }
}
