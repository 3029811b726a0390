import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Taint, Toleration } from '../../../../api/objects/core.ts';
import { firstUntoleratedTaint, toleratesTaint } from '../../../../model/pod/tolerations.ts';

const gpu: Taint = { key: 'gpu', value: 'a100', effect: 'NoSchedule' };
const bare: Taint = { key: 'gpu', effect: 'NoSchedule' };

const cases: Record<string, readonly [toleration: Toleration, taint: Taint, tolerated: boolean]> = {
  'Exists without a key tolerates everything': [{ operator: 'Exists' }, gpu, true],
  'Exists without a key, of another effect, does not': [{ operator: 'Exists', effect: 'NoExecute' }, gpu, false],
  'Exists tolerates any value of its key': [{ key: 'gpu', operator: 'Exists' }, gpu, true],
  'Exists of another key does not': [{ key: 'disk', operator: 'Exists' }, gpu, false],
  'Equal tolerates its value': [{ key: 'gpu', operator: 'Equal', value: 'a100' }, gpu, true],
  'Equal of another value does not': [{ key: 'gpu', operator: 'Equal', value: 'h100' }, gpu, false],
  'no operator means Equal': [{ key: 'gpu', value: 'a100' }, gpu, true],
  'an empty operator means Equal': [{ key: 'gpu', operator: '', value: 'a100' } as unknown as Toleration, gpu, true],
  'an absent value equals an absent value': [{ key: 'gpu' }, bare, true],
  'an empty value equals an absent value': [{ key: 'gpu', value: '' }, bare, true],
  'an absent value does not equal a value': [{ key: 'gpu' }, gpu, false],
  'the same effect is tolerated': [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }, gpu, true],
  'an empty effect means all effects': [{ key: 'gpu', operator: 'Exists', effect: '' }, gpu, true],
  'an unknown operator tolerates nothing':
    [{ key: 'gpu', operator: 'Gt', value: 'a100' } as unknown as Toleration, gpu, false],
};

describe('toleratesTaint', () => {
  for (const [sentence, [toleration, taint, tolerated]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(toleratesTaint(toleration, taint), tolerated));
  }
});

describe('firstUntoleratedTaint', () => {
  const soft: Taint = { key: 'soft', effect: 'PreferNoSchedule' };
  const evicting: Taint = { key: 'evicting', effect: 'NoExecute' };

  it('finds nothing on a node without taints', () => assert.equal(
    firstUntoleratedTaint(undefined, undefined), undefined,
  ));
  it('finds a NoSchedule taint', () => assert.equal(firstUntoleratedTaint([soft, gpu], []), gpu));
  it('finds a NoExecute taint', () => assert.equal(firstUntoleratedTaint([evicting], undefined), evicting));
  it('ignores taints that only discourage', () => assert.equal(firstUntoleratedTaint([soft], []), undefined));
  it('finds the first of several', () => assert.equal(firstUntoleratedTaint([gpu, evicting], []), gpu));
  it('passes over tolerated ones', () => {
    assert.equal(firstUntoleratedTaint([gpu, evicting], [{ key: 'gpu', operator: 'Exists' }]), evicting);
  });

  const text = fc.constantFrom('', 'a', 'b');
  const taint = fc.record({
    key: fc.constantFrom('a', 'b'), value: text, effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'),
  });
  const toleration = fc.record({
    key: text,
    value: text,
    effect: fc.constantFrom('', 'NoSchedule', 'NoExecute'),
    operator: fc.constantFrom<'Exists' | 'Equal'>('Exists', 'Equal'),
  });

  it('one more toleration never shuts a pod out, one more taint never lets it in', () => {
    fc.assert(
      fc.property(fc.array(taint),
        fc.array(toleration), taint, toleration, (taints, tolerations, moreTaint, moreToleration) => {
        const isKeptAway = firstUntoleratedTaint(taints, tolerations) !== undefined;
        if (!isKeptAway) assert.equal(firstUntoleratedTaint(taints, [...tolerations, moreToleration]), undefined);
        if (isKeptAway) assert.notEqual(firstUntoleratedTaint([...taints, moreTaint], tolerations), undefined);
      }),
    );
  });
});
