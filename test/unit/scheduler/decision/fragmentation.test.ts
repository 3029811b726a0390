// Free capacity by node shape, not sums. A target with many free GPUs, one on each node, takes no pod that needs eight
// on one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import { toClusterSummary } from '../../../../delegate-controller/capacity/cluster-summary.ts';
import { NodeGrouper } from '../../../../delegate-controller/capacity/node-groups.ts';
import { NodeLedger } from '../../../../delegate-controller/capacity/node-ledger.ts';
import { toTargetNodeRecord } from '../../../../delegate-controller/target-cache/target-node.ts';
import { toTargetPodRecord } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { toRequirements, toTargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import {
  aNode, aPod, aTarget, named, onNode, withAllocatable, withRequests,
} from '../../../support/objects/builders.ts';

const GPU = 'nvidia.com/gpu';
const ROOM = { cpu: '96', memory: '1152Gi', pods: '110', [GPU]: '8' };

/** Nodes of eight GPUs, of which so many are taken on each. */
function summaryOf(taken: readonly number[]): ClusterSummary {
  const ledger = new NodeLedger();
  for (const [index, gpus] of taken.entries()) {
    ledger.setNode(`n${index}`, toTargetNodeRecord(aNode(named(`n${index}`), withAllocatable(ROOM))));
    if (gpus > 0) {
      ledger.changePod(undefined, toTargetPodRecord(aPod(onNode(`n${index}`), withRequests({ [GPU]: `${gpus}` }))));
    }
  }
  return toClusterSummary(ledger, new NodeGrouper(), { podsResourceVersion: '1' });
}

function targetOf(name: string, taken: readonly number[]): TargetSnapshot {
  return { ...aTarget(name), capacity: toTargetCapacity(summaryOf(taken)) };
}

function aPodOf(gpus: number): PodToSchedule {
  return {
    namespace: 'team-a', requirements: toRequirements(aPod(withRequests({ [GPU]: `${gpus}` })).spec),
    rejectedBy: new Map(),
  };
}

describe('fragmented GPUs', () => {
  const scattered = targetOf('scattered', Array.from({ length: 64 }, () => 7)); // 64 free, one on each node
  const whole = targetOf('whole', [8, 8, 8, 0]); // 8 free, on one node

  it('64 free GPUs, one on each node, take no pod of eight; 8 free on one node do', () => {
    const decision = schedulePod(aPodOf(8), [scattered, whole]);
    assert.equal(decision.kind === 'chosen' && decision.target.key, 'ClusterTarget/whole');
    assert.deepEqual(decision.rejected, [
      { target: 'ClusterTarget/scattered', reason: 'InsufficientResources', message: `no node has 8 ${GPU} free` },
    ]);
  });

  it('without a whole node nobody takes it, whatever the sums are', () => {
    assert.equal(schedulePod(aPodOf(2), [scattered]).kind, 'none');
    assert.equal(schedulePod(aPodOf(1), [scattered]).kind, 'chosen');
  });

  it('the target says so in its summary', () => {
    assert.deepEqual(
      summaryOf(Array.from({ length: 64 }, () => 7)).gpus, [{ resource: GPU, allocatable: 512, free: 64, largest: 1 }],
    );
  });

  it('a pod of eight that was sent leaves no room for a second one', () => {
    const target = targetOf('whole', [8, 0]);
    target.capacity?.addPod(aPodOf(8).requirements);
    assert.equal(schedulePod(aPodOf(8), [target]).kind, 'none');
  });
});
