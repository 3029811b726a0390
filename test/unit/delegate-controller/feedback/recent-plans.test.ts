import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { PODS } from '../../../../api/resource-types.ts';
import { RecentPlans } from '../../../../delegate-controller/feedback/recent-plans.ts';
import type { Plan } from '../../../../model/objects/plan.ts';

const deletionOf = (uid: string): Plan => [{
  kind: 'delete', type: PODS, at: { namespace: 'team-a', name: 'web' }, preconditions: { uid },
  propagation: 'Background',
}];

describe('RecentPlans', () => {
  let now = 0;
  let recent = new RecentPlans(() => now);
  beforeEach(() => {
    now = 1_000;
    recent = new RecentPlans(() => now);
  });

  it('lets a plan rest for two seconds after it was executed', () => {
    assert.equal(recent.remainingMs(deletionOf('a')), 0);
    recent.done(deletionOf('a'));
    assert.equal(recent.remainingMs(deletionOf('a')), 2_000);
    now += 1_999;
    assert.equal(recent.remainingMs(deletionOf('a')), 1);
    now += 1;
    assert.equal(recent.remainingMs(deletionOf('a')), 0);
  });

  it('says nothing of another object of the same name', () => {
    recent.done(deletionOf('a'));
    assert.equal(recent.remainingMs(deletionOf('b')), 0);
  });

  it('counts from the last time', () => {
    recent.done(deletionOf('a'));
    now += 1_500;
    recent.done(deletionOf('a'));
    now += 1_500;
    recent.done(deletionOf('b'));
    assert.equal(recent.remainingMs(deletionOf('a')), 500);
    assert.equal(recent.remainingMs(deletionOf('b')), 2_000);
  });
});
