import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCORE_NAMES } from '../../../../api/kinds/placement-policy.ts';
import { DEFAULT_WEIGHTS, mergeWeights } from '../../../../scheduler/snapshot/default-weights.ts';

describe('mergeWeights', () => {
  it('gives each score a weight', () => assert.deepEqual(
    Object.keys(mergeWeights()).toSorted(), [...SCORE_NAMES].toSorted(),
  ));
  it('starts from free room and the wishes of pods', () => assert.deepEqual(mergeWeights(), DEFAULT_WEIGHTS));
  it('lets the later say win', () => assert.deepEqual(
    [mergeWeights({ cost: 1, rtt: 2 }, undefined, { cost: 3 })].map(({ cost, rtt }) => [cost, rtt]), [[3, 2]],
  ));
});
