import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceShareSpec } from '../../../../api/kinds/resource-share.ts';
import {
  resourceShareStatusPatch, toResourceShareStatus,
} from '../../../../delegate-controller/resource-shares/resource-share-status.ts';

const looked = { generation: 4, now: '2026-01-01T00:00:00Z' };
const LATER = { ...looked, now: '2026-02-02T00:00:00Z' };
const spec: ResourceShareSpec = { source: 'uid', limits: { cpu: '5' } };
const reckoned = { limits: { pods: '10', cpu: '5' }, used: { memory: '1Gi', cpu: '250m' } };

describe('toResourceShareStatus', () => {
  it('tells what a share comes to, what is used, and that it is in force', () => {
    const condition = {
      type: 'Ready', status: 'True', reason: 'InForce', message: 'the pods of its source are counted against it',
      observedGeneration: 4, lastTransitionTime: looked.now,
    };
    assert.deepEqual(
      toResourceShareStatus({}, spec, reckoned, looked),
      { observedGeneration: 4, conditions: [condition], ...reckoned },
    );
  });

  it('names a limit that is none: the schema cannot', () => {
    const { conditions: [ready] = [] } =
      toResourceShareStatus({}, { source: 'uid', limits: { cpu: '5 cores' } }, reckoned, looked);
    assert.deepEqual([ready?.status, ready?.reason], ['False', 'Invalid']);
    assert.match(ready?.message ?? '', /^spec\.limits of cpu is not a valid limit: /);
  });

  it('is the very same when nothing changed, in whatever order the API server gives it back', () => {
    const { limits: _limits, used: _used, ...rest } = toResourceShareStatus({}, spec, reckoned, looked);
    const stored = { ...rest, limits: { cpu: '5', pods: '10' }, used: { cpu: '250m', memory: '1Gi' } };
    assert.equal(toResourceShareStatus(stored, spec, reckoned, LATER), stored);
  });

  const changes = [
    ['more is used', { reckoned: { ...reckoned, used: { cpu: '1' } }, looked }],
    ['nothing is used any more', { reckoned: { ...reckoned, used: {} }, looked }],
    ['the share changes', { reckoned, looked: { ...looked, generation: 5 } }],
  ] as const;
  for (const [when, after] of changes) {
    it(`differs when ${when}`, () => {
      const before = toResourceShareStatus({}, spec, reckoned, looked);
      assert.notEqual(toResourceShareStatus(before, spec, after.reckoned, after.looked), before);
    });
  }
});

describe('resourceShareStatusPatch', () => {
  it('leaves nothing of the lists before', () => {
    const before = toResourceShareStatus({}, spec, reckoned, looked);
    const after = toResourceShareStatus(before, spec, { limits: { cpu: '5' }, used: {} }, looked);
    const { limits, used, observedGeneration } = resourceShareStatusPatch(before, after) as Record<string, unknown>;
    assert.deepEqual({ limits, used, observedGeneration }, {
      limits: { pods: null, cpu: '5' }, used: { memory: null, cpu: null }, observedGeneration: 4,
    });
  });
});
