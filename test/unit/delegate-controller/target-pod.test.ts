import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PodPhase } from '../../../api/core.ts';
import { toTargetPodRecord } from '../../../delegate-controller/target-pod.ts';
import { digestOf } from '../../../model/pod-status.ts';
import { aDelegate, aPod, frozen, inPhase, onNode, terminating, withMetadata, withoutOwner, withRequests, withStatus } from '../../support/builders.ts';

describe('toTargetPodRecord', () => {
  it('remembers little of a pod of the target itself', () => {
    assert.deepEqual(toTargetPodRecord(frozen(aPod())), { key: 'team-a/web', uid: 'pod-uid', phase: 'Pending', terminating: false });
  });

  it('remembers what a pod holds on its node', () => {
    const { occupies } = toTargetPodRecord(aPod(onNode('node-1'), inPhase('Running'), withRequests({ cpu: '1' })));
    assert.deepEqual(occupies, { nodeName: 'node-1', requests: new Map([['cpu', 1000], ['pods', 1]]) });
  });

  it('a pod that goes holds its room until it has ended', () => {
    assert.equal(toTargetPodRecord(aPod(onNode('node-1'), inPhase('Running'), terminating())).occupies?.nodeName, 'node-1');
  });

  it('holds room exactly while it has a node and has not ended', () => {
    const phase = fc.constantFrom<PodPhase>('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown');
    fc.assert(
      fc.property(phase, fc.constantFrom('', 'node-1'), (phase, node) => {
        const holds = node !== '' && phase !== 'Succeeded' && phase !== 'Failed';
        assert.equal(toTargetPodRecord(aPod(onNode(node), inPhase(phase))).occupies !== undefined, holds);
      }),
    );
  });

  it('remembers of a delegate what its chaperon is to show', () => {
    const status = { phase: 'Running', podIP: '10.0.0.1' } as const;
    const record = toTargetPodRecord(aDelegate(withStatus({ ...status, hostIP: '192.168.0.1' })));
    assert.deepEqual([record.chaperonUid, record.status, record.statusDigest], ['chaperon-uid', status, digestOf(status)]);
  });

  it('takes no pod for a delegate that only looks like one', () => assert.equal(toTargetPodRecord(aDelegate(withoutOwner())).chaperonUid, undefined));

  it('takes no pod for a delegate that a chaperon owns but does not control', () => {
    const ownerReferences = [{ apiVersion: 'x/v1', kind: 'PodChaperon', name: 'x', uid: 'u' }];
    assert.equal(toTargetPodRecord(aDelegate(withMetadata({ ownerReferences }))).chaperonUid, undefined);
  });
});
