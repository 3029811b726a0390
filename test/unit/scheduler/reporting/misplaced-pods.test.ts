import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { planMisplacedPodRemoval } from '../../../../scheduler/reporting/misplaced-pods.ts';
import { aPod, aProxy, frozen, onNode, withMetadata } from '../../../support/objects/builders.ts';

const deleted = (seconds: number) =>
  withMetadata({ deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: seconds });

describe('a pod on a virtual node', () => {
  const rows: Record<string, readonly [pod: Pod, ended: boolean]> = {
    'that is deleted waits for no kubelet': [aPod(onNode('admiralty-c2'), deleted(30)), true],
    'that nobody has deleted stays': [aPod(onNode('admiralty-c2')), false],
    'that only waits for its finalizers is left to who set them': [aPod(onNode('admiralty-c2'), deleted(0)), false],
    'that Isthmus placed there is left to the feedback of its delegate':
      [aProxy(onNode('admiralty-c2'), deleted(30)), false],
  };
  for (const [sentence, [pod, isEnded]] of Object.entries(rows)) {
    it(sentence, () => {
      const expected = {
        kind: 'delete', type: { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true },
        at: { namespace: 'team-a', name: 'web' }, preconditions: { uid: 'pod-uid' }, propagation: 'Background',
        gracePeriodSeconds: 0,
      };
      assert.deepEqual(planMisplacedPodRemoval([frozen(pod)]), isEnded ? [expected] : []);
    });
  }
});
