// Deletions in targets, as their watches deliver them, of what was created for terminating proxies. Where all of them
// were observed, no uncached read has to confirm that nothing is left. How a delegate ended is kept until its proxy is
// gone.
import { ObservedDeletions } from '../../model/delegate/observed-deletions.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/cached-delegate.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import type { TargetSession } from '../../targets/target-session.ts';

type Made = 'chaperon' | 'delegate';

type ParentOf = Pick<Chaperon, 'parentKey' | 'parentUid'>;

/** The proxies of objects in targets. */
export interface ProxiesOfObjects {
  /** Whether the proxy of an object terminates, so that nothing is created for it any more. */
  terminate(object: ParentOf): boolean;
  /** Whether it has not shown an end yet. */
  lackEnd(object: ParentOf): boolean;
}

/** By session, because a new session lists its target again. */
export class TargetDeletions {
  readonly #proxies: ProxiesOfObjects;
  readonly #bySession = new WeakMap<TargetSession, ObservedDeletions<Made>>();
  /** Delegates that had ended, by UID of the proxy. */
  readonly #last = new Map<string, DelegatePod>();

  constructor(proxies: ProxiesOfObjects) {
    this.#proxies = proxies;
  }

  /** Follows the deletions in a session. Call before it runs. */
  follow(session: TargetSession): void {
    const deletions = new ObservedDeletions<Made>();
    this.#bySession.set(session, deletions);
    session.chaperons.onChange((_key, before, after) => {
      if (before?.terminating !== true || after !== undefined || !this.#proxies.terminate(before)) return;
      deletions.note(before.parentUid, 'chaperon');
    });
    session.delegates.onChange((_key, before, after) => {
      if (after !== undefined) this.#last.delete(after.parentUid); // it was made again
      if (before === undefined || after !== undefined) return;
      if (isTerminal(before.status.phase) && this.#proxies.lackEnd(before)) this.#last.set(before.parentUid, before);
      if (!this.#proxies.terminate(before) || !isMadeNoMore(session, before)) return;
      deletions.note(before.parentUid, 'delegate');
    });
  }

  /** Whether everything that the target can have had for a proxy was observed to go. */
  hasAll(session: TargetSession, proxyUid: string): boolean {
    const made: readonly Made[] = session.mayHoldChaperons ? ['chaperon', 'delegate'] : ['delegate'];
    return this.#bySession.get(session)?.has(proxyUid, made) === true;
  }

  /** The last state of a proxy's deleted delegate; undefined when its deletion was not observed. */
  lastOf(proxyUid: string): DelegatePod | undefined {
    return this.#last.get(proxyUid);
  }

  /** The proxy is gone. `session` is that of its target, if there is one. */
  forget(session: TargetSession | undefined, proxyUid: string): void {
    this.#last.delete(proxyUid);
    if (session !== undefined) this.#bySession.get(session)?.forget(proxyUid);
  }
}

/** Whether no delegate is created again: its chaperon terminates or is gone, or the source created the delegate. */
function isMadeNoMore(session: TargetSession, { parentKey, parentUid, asChaperon }: DelegatePod): boolean {
  const chaperon = session.chaperons.indexed(parentKey).find((one) => one.parentUid === parentUid);
  return asChaperon !== undefined || chaperon?.terminating === true;
}
