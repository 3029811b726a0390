import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXPIRES_AFTER_ANNOTATION, MOVE_LABEL } from '../../../../api/objects/keys.ts';
import { parseSeconds, parseTarget } from '../../../../cli/clusters/cluster-flags.ts';
import { expiryOf } from '../../../../scheduler/policies/move-expiry.ts';

describe('the timeout of a drain or a move', () => {
  for (const [text, seconds] of [['300', 300], ['0.5', 0.5], ['1e3', 1_000], ['86400', 86_400]] as const) {
    it(`is read from ${text}`, () => assert.equal(parseSeconds(text), seconds));
  }

  for (const text of ['', ' ', '0', '-1', 'soon', 'NaN', 'Infinity', '86401', '1e9', '1e22']) {
    it(`is not "${text}"`, () => {
      assert.throws(() => parseSeconds(text), /must be a number of seconds above 0 and at most 86400 \(a day\), not "/);
    });
  }

  it('is never so long that the policy of the move would not expire', () => {
    const seconds = 2 * parseSeconds('86400') + 75;
    const policy = {
      namespace: 'shop', creationTimestamp: '2026-01-01T10:00:00Z', labels: { [MOVE_LABEL]: 'true' },
      annotations: { [EXPIRES_AFTER_ANNOTATION]: `${seconds}` },
    };
    assert.equal(expiryOf(policy), Date.parse('2026-01-01T10:00:00Z') + seconds * 1_000);
  });
});

describe('a target on the command line', () => {
  it('has any name that an object can have', () => {
    assert.deepEqual(parseTarget('prod.eu-west'), { kind: 'ClusterTarget', name: 'prod.eu-west' });
    assert.deepEqual(parseTarget('shop/a.b'), { kind: 'Target', namespace: 'shop', name: 'a.b' });
  });
  for (const text of ['', '.', 'a..b', 'A', 'a/', '/a', 'a.b/c', 'a/b/c', `a.${'b'.repeat(252)}`]) {
    it(`is not "${text.slice(0, 9)}"`, () => assert.throws(() => parseTarget(text), { code: 'BadInput' }));
  }
});
