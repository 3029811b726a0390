import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceList } from '../../../api/core.ts';
import { parseResourceList } from '../../../model/resources.ts';
import { leastAllocated } from '../../../scheduler/scores.ts';
import { toTargetCapacity, type TargetCapacity } from '../../../scheduler/target-capacity.ts';
import { frozen } from '../../support/builders.ts';

function capacityOf(allocatable: ResourceList, free: ResourceList): TargetCapacity {
  return toTargetCapacity({ metadata: {}, allocatable, free });
}

const total = { cpu: '10', memory: '10Gi', pods: '100' };

function scoreOf(freeCpu: number, askedCpu: number): number {
  return leastAllocated(capacityOf(total, { ...total, cpu: `${freeCpu}` }), parseResourceList({ cpu: `${askedCpu}` }).amounts);
}

describe('leastAllocated', () => {
  const cases: Record<string, readonly [free: ResourceList, requests: ResourceList, score: number]> = {
    'an empty target scores 1 for a pod that asks for nothing': [total, {}, 1],
    'a full target scores 0': [{ cpu: '0', memory: '0' }, {}, 0],
    'the pod itself counts as placed': [total, { cpu: '5', memory: '5Gi' }, 0.5],
    'CPU and memory count alike': [{ cpu: '10', memory: '0' }, {}, 0.5],
    'the number of pods does not count': [{ ...total, pods: '0' }, { pods: '1' }, 1],
    'a pod that is larger than what is free scores 0, not less': [{ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '2Gi' }, 0],
    'a resource that the target lacks counts as none free': [total, { 'nvidia.com/gpu': '1' }, 2 / 3],
  };
  for (const [sentence, [free, requests, score]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(leastAllocated(frozen(capacityOf(total, free)), frozen(parseResourceList(requests).amounts)), score));
  }

  it('counts another resource that the pod asks for', () => {
    const capacity = capacityOf({ ...total, 'nvidia.com/gpu': '4' }, { ...total, 'nvidia.com/gpu': '3' });
    assert.equal(leastAllocated(capacity, parseResourceList({ 'nvidia.com/gpu': '1' }).amounts), 2.5 / 3);
  });

  const amount = fc.record({ cpu: fc.nat(20).map(String), memory: fc.nat(20).map((gib) => `${gib}Gi`) });

  it('is between 0 and 1, whatever a target claims', () => {
    fc.assert(
      fc.property(amount, amount, amount, (allocatable, free, requests) => {
        const score = leastAllocated(capacityOf(allocatable, free), parseResourceList(requests).amounts);
        assert.ok(score >= 0 && score <= 1, `${score}`);
      }),
    );
  });

  it('never falls when more is free, nor rises when the pod asks for more', () => {
    const cpu = fc.tuple(fc.nat(10), fc.nat(10)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
    fc.assert(
      fc.property(cpu, cpu, ([lessFree, moreFree], [lessAsked, moreAsked]) => {
        assert.ok(scoreOf(lessFree, lessAsked) <= scoreOf(moreFree, lessAsked));
        assert.ok(scoreOf(moreFree, moreAsked) <= scoreOf(moreFree, lessAsked));
      }),
    );
  });
});
