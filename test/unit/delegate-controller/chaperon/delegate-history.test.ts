import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { DelegateHistory } from '../../../../delegate-controller/chaperon/delegate-history.ts';
import type { TargetPod } from '../../../../delegate-controller/target-cache/target-pod.ts';

const delegate = (change: Partial<TargetPod> = {}) =>
  ({ key: 'ns/web-x', uid: 'p1', chaperonUid: 'c1', statusDigest: 'a', ...change }) as TargetPod;

describe('what was observed of delegates', () => {
  let isTerminating = true;
  let history = new DelegateHistory(() => isTerminating);
  beforeEach(() => {
    isTerminating = true;
    history = new DelegateHistory(() => isTerminating);
  });

  it('says when the status changed last', () => {
    assert.equal(history.changedAt('c1'), undefined);
    history.observe(undefined, delegate(), 1);
    history.observe(delegate(), delegate(), 2);
    assert.equal(history.changedAt('c1'), 1, 'the same status is no change');
    history.observe(delegate(), delegate({ statusDigest: 'b' }), 3);
    assert.equal(history.changedAt('c1'), 3);
    history.forgetStatus('c1');
    assert.equal(history.changedAt('c1'), undefined);
  });

  it('leaves pods of nobody alone', () => {
    const own = delegate();
    delete (own as { chaperonUid?: string }).chaperonUid;
    history.observe(own, undefined, 1);
    assert.equal(history.changedAt(''), undefined);
    assert.equal(history.isGone(''), false);
  });

  it('knows that a delegate is gone whose chaperon terminates', () => {
    history.observe(delegate(), undefined, 1);
    assert.equal(history.isGone('c1'), true);
    history.forget('c1');
    assert.equal(history.isGone('c1'), false);
  });

  it('concludes nothing while another delegate may be created', () => {
    isTerminating = false;
    history.observe(delegate(), undefined, 1);
    assert.equal(history.isGone('c1'), false);
  });

  it('concludes nothing while the watch lacks a created delegate', () => {
    history.creates.begin('c1').made('p2', false);
    history.observe(delegate(), undefined, 1);
    assert.equal(history.isGone('c1'), false, 'that was an earlier one');
    history.observe(undefined, delegate({ uid: 'p2' }), 2);
    history.observe(delegate({ uid: 'p2' }), undefined, 3);
    assert.equal(history.isGone('c1'), true);
  });
});
