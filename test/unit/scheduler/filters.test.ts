import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseResourceList } from '../../../model/resources.ts';
import { concerns, FILTERS } from '../../../scheduler/filters.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../scheduler/snapshot.ts';
import { aTarget, frozen, unavailable, withNodes, withoutSummary, withRef } from '../../support/builders.ts';

const REFUSAL = { reason: 'Unschedulable', message: 'quota' };

function aSmallPod(refusals: PodToSchedule['refusals'] = new Map()): PodToSchedule {
  return frozen({ namespace: 'team-a', requirements: { requests: parseResourceList({ cpu: '1', pods: '1' }).amounts }, refusals });
}

describe('concerns', () => {
  const cases: Record<string, readonly [target: TargetSnapshot, concerned: boolean]> = {
    'a ClusterTarget is for every namespace': [aTarget('c1'), true],
    'a Target is for its own namespace': [aTarget('t', withRef({ kind: 'Target', namespace: 'team-a', name: 't' })), true],
    'a Target of another namespace is not even mentioned': [aTarget('t', withRef({ kind: 'Target', namespace: 'team-b', name: 't' })), false],
  };
  for (const [sentence, [target, concerned]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(concerns(target, 'team-a'), concerned));
  }
});

describe('FILTERS', () => {
  const refused = aSmallPod(new Map([['ClusterTarget/c1', REFUSAL]]));
  const down = unavailable('Unreachable', 'no route');
  const cases: Record<string, readonly [pod: PodToSchedule, target: TargetSnapshot, reason: string | undefined]> = {
    'a target with room passes': [aSmallPod(), aTarget('c1'), undefined],
    'a target that cannot be reached says so': [aSmallPod(), aTarget('c1', down), 'Unreachable'],
    'a target that has told nothing says so': [aSmallPod(), aTarget('c1', withoutSummary()), 'NoSummary'],
    'a target that refused the pod lately is not asked': [refused, aTarget('c1'), 'Unschedulable'],
    'a refusal by another target does not count': [refused, aTarget('c2'), undefined],
    'a target without a node that has room says so': [aSmallPod(), aTarget('c1', withNodes({ cpu: '500m', pods: '9' })), 'InsufficientResources'],
    'that it cannot be reached goes first': [refused, aTarget('c1', down, withoutSummary()), 'Unreachable'],
    'its refusal goes before what its summary says': [refused, aTarget('c1', withNodes()), 'Unschedulable'],
  };
  for (const [sentence, [pod, target, reason]] of Object.entries(cases)) {
    it(sentence, () => {
      const rejections = FILTERS.map((filter) => filter(pod, frozen(target)));
      assert.equal(rejections.find((rejection) => rejection !== undefined)?.reason, reason);
    });
  }

  it('tell the user of every no what it is and what to do', () => {
    for (const [, target, reason] of Object.values(cases)) {
      for (const filter of FILTERS) {
        const rejection = filter(refused, target);
        if (rejection === undefined || reason === undefined) continue;
        assert.match(rejection.reason, /^[A-Z][A-Za-z]+$/);
        assert.notEqual(rejection.message, '');
      }
    }
  });
});
