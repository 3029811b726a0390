// Deletions in targets, as their watches deliver them, of what was created for terminating proxies. Where all of them
// were observed, no uncached read has to confirm that nothing is left.
import { ObservedDeletions } from '../../model/delegate/observed-deletions.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/remembered-delegate.ts';
import type { TargetSession } from '../../targets/target-session.ts';

type Made = 'chaperon' | 'delegate';

/** By session, for a new session lists its target anew. */
export class TargetDeletions {
  readonly #isTerminating: (object: Pick<Chaperon, 'parentKey' | 'parentUid'>) => boolean;
  readonly #bySession = new WeakMap<TargetSession, ObservedDeletions<Made>>();

  /** `isTerminating`: whether the proxy of an object terminates, so that nothing is created for it any more. */
  constructor(isTerminating: (object: Pick<Chaperon, 'parentKey' | 'parentUid'>) => boolean) {
    this.#isTerminating = isTerminating;
  }

  /** Follows the deletions in a session. Call before it runs. */
  follow(session: TargetSession): void {
    const deletions = new ObservedDeletions<Made>();
    this.#bySession.set(session, deletions);
    session.chaperons.onChange((_key, before, after) => {
      if (before?.terminating !== true || after !== undefined || !this.#isTerminating(before)) return;
      deletions.note(before.parentUid, 'chaperon');
    });
    session.delegates.onChange((_key, before, after) => {
      if (before === undefined || after !== undefined || !this.#isTerminating(before)) return;
      if (isMadeNoMore(session, before)) deletions.note(before.parentUid, 'delegate');
    });
  }

  /** Whether everything that the target can have had for a proxy was observed to go. */
  hasAll(session: TargetSession, proxyUid: string): boolean {
    const made: readonly Made[] = session.mayHoldChaperons ? ['chaperon', 'delegate'] : ['delegate'];
    return this.#bySession.get(session)?.has(proxyUid, made) === true;
  }

  /** The proxy is gone. */
  forget(session: TargetSession, proxyUid: string): void {
    this.#bySession.get(session)?.forget(proxyUid);
  }
}

/** Whether no delegate is created again: its chaperon terminates or is gone, or the source created the delegate. */
function isMadeNoMore(session: TargetSession, { parentKey, parentUid, direct }: DelegatePod): boolean {
  const chaperon = session.chaperons.indexed(parentKey).find((one) => one.parentUid === parentUid);
  return direct !== undefined || chaperon?.terminating === true;
}
