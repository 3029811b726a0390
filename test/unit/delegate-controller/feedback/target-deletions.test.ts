// When the feedback controller may conclude that a target has nothing of a pod any more, from the watches alone.
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { TargetDeletions } from '../../../../delegate-controller/feedback/target-deletions.ts';
import type { Chaperon, DelegatePod } from '../../../../model/delegate/cached-delegate.ts';
import type { TargetSession } from '../../../../targets/target-session.ts';
import {
  aChaperonRecord, aDelegateRecord, inPhase, PROXY_UID, terminating,
} from '../../../support/objects/builders.ts';

type Tell<T> = (key: string, before: T | undefined, after: T | undefined) => void;

/** A session that a test tells what its watches deliver. */
class ToldSession {
  mayHoldChaperons = true;
  here: readonly Chaperon[] = [];
  tellChaperon: Tell<Chaperon> = () => undefined;
  tellDelegate: Tell<DelegatePod> = () => undefined;
  readonly chaperons = {
    onChange: (listener: Tell<Chaperon>) => void (this.tellChaperon = listener), indexed: () => this.here,
  };
  readonly delegates = { onChange: (listener: Tell<DelegatePod>) => void (this.tellDelegate = listener) };

  /** As the code under test takes it. */
  get session(): TargetSession {
    return this as unknown as TargetSession;
  }
}

const KEY = 'team-a/web-abc';
const goingChaperon = aChaperonRecord(terminating());
const delegate = aDelegateRecord(inPhase('Running'));
const ended = aDelegateRecord(inPhase('Succeeded'));

describe('what a target had of a pod that is being deleted', () => {
  let told: ToldSession;
  let deletions: TargetDeletions;
  let isTerminating: boolean;
  let lacksEnd: boolean;
  const hasAll = (): boolean => deletions.hasAll(told.session, PROXY_UID);
  beforeEach(() => {
    [isTerminating, lacksEnd] = [true, true];
    deletions = new TargetDeletions({ terminate: () => isTerminating, lackEnd: () => lacksEnd });
    told = new ToldSession();
    deletions.follow(told.session);
  });

  it('is all gone once both the PodChaperon and its delegate were seen to go, in either order', () => {
    told.here = [goingChaperon];
    told.tellDelegate(KEY, delegate, undefined);
    assert.equal(hasAll(), false, 'the PodChaperon is still there');
    told.tellChaperon(KEY, goingChaperon, undefined);
    assert.equal(hasAll(), true);
  });

  it('is all gone with the delegate where the target cannot have PodChaperons', () => {
    told.mayHoldChaperons = false;
    told.tellDelegate(KEY, { ...delegate, asChaperon: {} as NonNullable<DelegatePod['asChaperon']> }, undefined);
    assert.equal(hasAll(), true);
  });

  for (const early of ['the delegate', 'the PodChaperon']) {
    it(`is not known to be gone when ${early} went before the pod was being deleted: it may be created again`, () => {
      told.here = [goingChaperon];
      isTerminating = early !== 'the delegate';
      told.tellDelegate(KEY, delegate, undefined);
      isTerminating = early !== 'the PodChaperon';
      told.tellChaperon(KEY, goingChaperon, undefined);
      assert.equal(hasAll(), false);
    });
  }

  it('is not known to be gone when its PodChaperon stayed: the controller there recreates the delegate', () => {
    told.here = [aChaperonRecord()];
    told.tellDelegate(KEY, delegate, undefined);
    told.tellChaperon(KEY, goingChaperon, undefined);
    assert.equal(hasAll(), false);
  });

  it('is not known to be gone when the PodChaperon went at once: the watch may have missed what came after', () => {
    told.here = [goingChaperon];
    told.tellDelegate(KEY, delegate, undefined);
    told.tellChaperon(KEY, aChaperonRecord(), undefined);
    assert.equal(hasAll(), false);
  });

  it('is not all gone with the PodChaperon alone', () => {
    told.tellChaperon(KEY, goingChaperon, undefined);
    assert.equal(hasAll(), false);
  });

  it('is not known by a change, or by an object that appears', () => {
    told.here = [goingChaperon];
    told.tellDelegate(KEY, delegate, ended);
    told.tellDelegate(KEY, undefined, delegate);
    told.tellChaperon(KEY, goingChaperon, goingChaperon);
    assert.equal(hasAll(), false);
  });

  it('is known by session: a new one lists its target again', () => {
    const other = new ToldSession();
    deletions.follow(other.session);
    told.here = [goingChaperon];
    told.tellDelegate(KEY, delegate, undefined);
    told.tellChaperon(KEY, goingChaperon, undefined);
    assert.equal(deletions.hasAll(other.session, PROXY_UID), false);
  });

  it('is forgotten with the pod', () => {
    told.here = [goingChaperon];
    told.tellDelegate(KEY, ended, undefined);
    told.tellChaperon(KEY, goingChaperon, undefined);
    deletions.forget(told.session, PROXY_UID);
    assert.deepEqual([hasAll(), deletions.lastOf(PROXY_UID)], [false, undefined]);
  });

  it('is nothing that is known of a session that was never followed', () =>
    assert.equal(deletions.hasAll(new ToldSession().session, PROXY_UID), false));

  describe('and how its delegate ended', () => {
    it('is kept when the delegate goes before its end was shown', () => {
      told.tellDelegate(KEY, ended, undefined);
      assert.equal(deletions.lastOf(PROXY_UID), ended);
    });
    it('is not kept of one that was still running', () => {
      told.tellDelegate(KEY, delegate, undefined);
      assert.equal(deletions.lastOf(PROXY_UID), undefined);
    });
    it('is not kept when the pod shows an end already', () => {
      lacksEnd = false;
      told.tellDelegate(KEY, ended, undefined);
      assert.equal(deletions.lastOf(PROXY_UID), undefined);
    });
    it('counts no more once the delegate was made again', () => {
      told.tellDelegate(KEY, ended, undefined);
      told.tellDelegate(KEY, undefined, delegate);
      assert.equal(deletions.lastOf(PROXY_UID), undefined);
    });
    it('is kept also while its pod is not being deleted: a Job waits for it', () => {
      isTerminating = false;
      told.tellDelegate(KEY, ended, undefined);
      assert.equal(deletions.lastOf(PROXY_UID), ended);
    });
  });
});
