import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import { recordedDecision } from '../../../../dashboard/pod/recorded-decision.ts';
import { toPlacementRecord } from '../../../../scheduler/explain/explain.ts';

const podWith = (record: string | undefined) => ({
  metadata: { ...(record !== undefined && { annotations: { [PLACEMENT_ANNOTATION]: record } }) },
  spec: { containers: [] },
});
const rejections = (count: number) => Array.from({ length: count }, (_, index) => (
  { target: `Target/team/t-${index}`, reason: 'InsufficientRoom', message: 'no node has room', filter: 'Room' }
));
const decided = (rejected: number, tier = 0, afterScaleUp = false): string => toPlacementRecord({
  kind: 'chosen', target: { key: 'ClusterTarget/eu-west' }, tier, afterScaleUp, score: 71.23456,
  rejected: rejections(rejected),
} as never) ?? '';

describe('the decision that is recorded on a pod', () => {
  it('is what the scheduler has written there', () => {
    assert.deepEqual(recordedDecision(podWith(decided(2, 1, true))), {
      target: 'eu-west', score: 71.235, tier: 2, isAfterScaleUp: true, more: 0,
      rejected: [
        { target: 'team/t-0', reason: 'InsufficientRoom' }, { target: 'team/t-1', reason: 'InsufficientRoom' },
      ],
    });
  });

  it('says how many rejected targets it leaves out', () => {
    const { rejected, more } = recordedDecision(podWith(decided(33))) ?? {};
    assert.deepEqual([rejected?.length, more], [20, 13]);
  });

  it('has no tier where it is the first', () => {
    assert.equal(recordedDecision(podWith(decided(0)))?.tier, undefined);
  });

  for (const record of [
    undefined, '', 'null', '[]', '{', '{"target":1,"score":2}', '{"target":"eu"}', '"ClusterTarget/eu"',
  ]) it(`is not there in ${record ?? 'a pod without it'}`, () => (
    assert.equal(recordedDecision(podWith(record)), undefined)
  ));

  it('is bounded, whatever somebody else has written there', () => {
    const long = 'x'.repeat(10_000);
    const not = Object.fromEntries(rejections(500).map(({ target }) => [target, long]));
    const forged = { target: long, score: 1, not };
    const { target, rejected } = recordedDecision(podWith(JSON.stringify(forged))) ?? {};
    assert.deepEqual([target?.length, rejected?.length, rejected?.[0]?.reason.length], [253, 20, 253]);
    for (const reason of ['{"toString":0}', `${'['.repeat(100_000)}${']'.repeat(100_000)}`]) {
      const read = recordedDecision(podWith(`{"target":"eu","score":1,"not":{"us":${reason}}}`));
      assert.deepEqual(read?.rejected, [{ target: 'us', reason: '' }]);
    }
    fc.assert(fc.property(fc.json(), (text) => void recordedDecision(podWith(text))));
    fc.assert(fc.property(fc.jsonValue(), (not) => {
      recordedDecision(podWith(JSON.stringify({ target: 'ClusterTarget/eu', score: 1, not, more: not, tier: not })));
    }));
  });
});
