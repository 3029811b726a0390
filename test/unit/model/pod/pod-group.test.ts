import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podGroupOf, readPodGroup } from '../../../../model/pod/pod-group.ts';

const LABEL = 'isthmus.dev/pod-group';
const COUNT = 'isthmus.dev/pod-group-min-count';

describe('the group of a pod', () => {
  it('is none without a count, though the label of the Coscheduling plugin is there', () => {
    assert.deepEqual(readPodGroup({}), { kind: 'none' });
    assert.deepEqual(readPodGroup({ labels: { 'scheduling.x-k8s.io/pod-group': 'train' } }), { kind: 'none' });
  });

  for (const label of [LABEL, 'scheduling.x-k8s.io/pod-group']) {
    it(`is named by label ${label}`, () => {
      assert.deepEqual(
        podGroupOf({ labels: { [label]: 'train' }, annotations: { [COUNT]: '4' } }), { name: 'train', minCount: 4 },
      );
    });
  }

  it('is named by our own label where both are there', () => {
    const labels = { [LABEL]: 'ours', 'scheduling.x-k8s.io/pod-group': 'theirs' };
    assert.equal(podGroupOf({ labels, annotations: { [COUNT]: '1' } })?.name, 'ours');
  });

  for (const text of ['', '0', '-1', '1.5', '1e3', '1001', 'four', ' 4']) {
    it(`is rejected with the count "${text}", and says what a count is`, () => {
      const reading = readPodGroup({ labels: { [LABEL]: 'train' }, annotations: { [COUNT]: text } });
      assert.ok(reading.kind === 'invalid' && reading.message.includes('an integer from 1 to 1000'));
    });
  }

  it('is rejected with a count and no name', () => {
    const reading = readPodGroup({ annotations: { [COUNT]: '2' } });
    assert.ok(reading.kind === 'invalid' && reading.message.includes(`needs label ${LABEL}`));
    assert.equal(podGroupOf({ annotations: { [COUNT]: '2' } }), undefined);
  });
});
