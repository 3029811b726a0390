import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta } from '../../../../api/objects/core.ts';
import { EXPIRES_AFTER_ANNOTATION, MOVE_LABEL } from '../../../../api/objects/keys.ts';
import { PLACEMENT_POLICIES } from '../../../../api/resource-types.ts';
import { expiryOf, planExpiry } from '../../../../scheduler/policies/move-expiry.ts';

const MADE = Date.parse('2026-01-01T10:00:00Z');
const metadata: ObjectMeta = {
  namespace: 'shop', name: 'isthmus-move-x', uid: 'u', creationTimestamp: '2026-01-01T10:00:00Z',
  labels: { [MOVE_LABEL]: 'true' }, annotations: { [EXPIRES_AFTER_ANNOTATION]: '675' },
};
const planned = (now: number | undefined, change: ObjectMeta = {}) =>
  planExpiry({ metadata: { ...metadata, ...change } }, now);

describe('the policy of a move', () => {
  it('is deleted once its time is over by the clock of its API server, and no other of its name', () => {
    assert.deepEqual(planned(MADE + 675_000), { kind: 'expired', plan: [{
      kind: 'delete', type: PLACEMENT_POLICIES, at: { namespace: 'shop', name: 'isthmus-move-x' },
      preconditions: { uid: 'u' }, propagation: 'Background',
    }] });
  });

  it('stays until then, and is looked at again at that time', () => {
    for (const [now, ms] of [[MADE, 675_000], [MADE + 600_000, 75_000], [MADE + 674_999, 1_000]] as const) {
      assert.deepEqual(planned(now), { kind: 'later', ms });
    }
  });

  it('is looked at again soon while the time of the API server is not known', () => {
    assert.deepEqual(planned(undefined), { kind: 'later', ms: 1_000 });
  });

  const stays: readonly (readonly [what: string, change: ObjectMeta])[] = [
    ['a policy that is no move', { labels: {} }], ['a move of an older command', { annotations: {} }],
    ['a policy of the cluster', { namespace: undefined } as never],
    ['one that is being deleted', { deletionTimestamp: '2026-01-01T10:01:00Z' }],
    ['one that was never stored', { creationTimestamp: '' }],
    ...['', '-1', '1.5', '1e3', ' 1', '0x10', '1234567890', 'soon'].map((text) => (
      [`a time ${JSON.stringify(text)}`, { annotations: { [EXPIRES_AFTER_ANNOTATION]: text } }] as const
    )),
  ];
  for (const [what, change] of stays) {
    it(`is never deleted for ${what}`, () => {
      assert.deepEqual(planned(MADE + 1e12, change), { kind: 'stays' });
    });
  }

  it('tells when it expires', () => assert.equal(expiryOf(metadata), MADE + 675_000));
});
