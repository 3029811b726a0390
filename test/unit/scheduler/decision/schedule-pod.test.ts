import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceList } from '../../../../api/objects/core.ts';
import { addAmounts, formatResourceList, parseResourceList } from '../../../../model/resources/resources.ts';
import {
  compareRanked, evaluateTargets, explainRejections, schedulePod, type RankedTarget,
} from '../../../../scheduler/decision/schedule-pod.ts';
import type { PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { toTargetCapacity, type TargetCapacity } from '../../../../scheduler/snapshot/target-capacity.ts';
import { aTarget, frozen, unavailable, withNodes, withoutSummary, withRef } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, withNodeInfo } from '../../../support/objects/placement.ts';

function aPodFor(requests: ResourceList, rejectedBy: PodToSchedule['rejectedBy'] = new Map()): PodToSchedule {
  return frozen({
    namespace: 'team-a', requirements: { requests: parseResourceList({ pods: '1', ...requests }).amounts }, rejectedBy,
  });
}

function choose(pod: PodToSchedule, ...targets: TargetSnapshot[]): string {
  const decision = schedulePod(pod, frozen(targets));
  return decision.kind === 'chosen' ? decision.target.key : 'none';
}

describe('schedulePod', () => {
  const small = aTarget('small', withNodes({ cpu: '2', memory: '2Gi', pods: '10' }));
  const large = aTarget('large', withNodes({ cpu: '64', memory: '64Gi', pods: '10' }));
  const scattered =
    aTarget('scattered', withNodes(...Array.from({ length: 64 }, () => ({ cpu: '1', memory: '1Gi', pods: '10' }))));
  const cases: Record<string, readonly [pod: PodToSchedule, targets: readonly TargetSnapshot[], choice: string]> = {
    'without targets there is no choice': [aPodFor({}), [], 'none'],
    'the target that stays emptiest gets the pod': [aPodFor({ cpu: '1' }), [small, large], 'ClusterTarget/large'],
    'one node with room beats many without': [aPodFor({ cpu: '2' }), [scattered, small], 'ClusterTarget/small'],
    'equal targets are told apart by name': [aPodFor({}), [aTarget('b'), aTarget('a')], 'ClusterTarget/a'],
    'a target that cannot be reached gets none':
      [aPodFor({}), [aTarget('a', unavailable('Unreachable', 'm')), aTarget('b')], 'ClusterTarget/b'],
    'a target that told nothing gets none': [aPodFor({}), [aTarget('a', withoutSummary())], 'none'],
    'a target that rejected gets none for now': [
      aPodFor({}, new Map([['ClusterTarget/a', { reason: 'R', message: 'm' }]])), [aTarget('a'), aTarget('b')],
      'ClusterTarget/b',
    ],
    'a Target of the namespace is one like any other':
      [aPodFor({}), [aTarget('t', withRef({ kind: 'Target', namespace: 'team-a', name: 't' }))], 'Target/team-a/t'],
    'a Target of another namespace is none':
      [aPodFor({}), [aTarget('t', withRef({ kind: 'Target', namespace: 'team-b', name: 't' }))], 'none'],
  };
  for (const [sentence, [pod, targets, choice]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(choose(pod, ...targets), choice));
  }

  it('tells of every target why it was rejected, by name, also when another is chosen', () => {
    const targets = [aTarget('c', withNodes()), aTarget('a', unavailable('Unreachable', 'no route')), aTarget('b')];
    const { rejected } = schedulePod(aPodFor({}), targets);
    assert.deepEqual(rejected.map(({ target, reason }) => [target, reason]), [
      ['ClusterTarget/a', 'Unreachable'], ['ClusterTarget/c', 'NoNodes'],
    ]);
  });

  it('does not betray Targets of other namespaces', () => {
    assert.deepEqual(
      schedulePod(
        aPodFor({}), [aTarget('t', withRef({ kind: 'Target', namespace: 'team-b', name: 't' }), withNodes())],
      ).rejected,
      [],
    );
  });
});

describe('explainRejections', () => {
  it('says how to get a target where there is none', () => assert.match(
    explainRejections([]), /^0\/0 targets.*create one, for example with "isthmus peer"/,
  ));

  it('lists each target with reason and message', () => {
    const rejected = [{ target: 'ClusterTarget/a', reason: 'NoNodes', message: 'it has none' }, {
      target: 'Target/n/b', reason: 'Forbidden', message: 'quota',
    }];
    assert.equal(
      explainRejections(rejected),
      '0/2 targets are available: ClusterTarget/a: NoNodes: it has none. Target/n/b: Forbidden: quota.',
    );
  });
});

describe('explainRejections of many targets', () => {
  const many = (count: number) => explainRejections(Array.from(
    { length: count }, (_, index) => ({ target: `ClusterTarget/${index}`, reason: 'NoNodes', message: 'none' }),
  ));
  it('names twenty of them, and says how many more there are', () => {
    assert.match(many(20), /^0\/20 targets .*ClusterTarget\/19: NoNodes: none\.$/);
    assert.match(many(21), /^0\/21 targets .*ClusterTarget\/19: NoNodes: none\. And 1 more\.$/);
    assert.ok(!many(1_000).includes('ClusterTarget/20:'));
  });
});

describe('compareRanked', () => {
  const rank = (change: Partial<RankedTarget>, name = 'a'): RankedTarget => (
    { target: aTarget(name), tier: 1, afterScaleUp: false, replicaShareExcess: 1, score: 0.5, ...change }
  );
  const better: Record<string, readonly [one: RankedTarget, other: RankedTarget]> = {
    'a lower tier is better than all else': [
      rank({ tier: 0, afterScaleUp: true, replicaShareExcess: Infinity, score: 0 }, 'z'),
      rank({ tier: 1, afterScaleUp: false, replicaShareExcess: 0, score: 1 }),
    ],
    'room now is better than replica shares and scores': [
      rank({ replicaShareExcess: Infinity, score: 0 }, 'z'),
      rank({ afterScaleUp: true, replicaShareExcess: 0, score: 1 }),
    ],
    'a replica share that is behind is better than a score':
      [rank({ replicaShareExcess: 0.9, score: 0 }, 'z'), rank({ score: 1 })],
    'any replica share is better than none':
      [rank({ replicaShareExcess: 99 }, 'z'), rank({ replicaShareExcess: Infinity, score: 1 })],
    'a higher score is better than a name': [rank({ score: 0.51 }, 'z'), rank({})],
    'two without a replica share are told apart by score':
      [rank({ replicaShareExcess: Infinity, score: 0.6 }, 'z'), rank({ replicaShareExcess: Infinity })],
    'then the name decides': [rank({}, 'a'), rank({}, 'b')],
    'by code units, as keys are sorted': [rank({}, 'B'), rank({}, 'a')],
  };
  for (const [sentence, [one, other]] of Object.entries(better)) {
    it(sentence, () => assert.deepEqual([compareRanked(one, other) < 0, compareRanked(other, one) > 0], [true, true]));
  }

  it('law: it is a total order, so that any two schedulers choose alike', () => {
    const any = fc.record({
      tier: fc.nat(2), afterScaleUp: fc.boolean(), replicaShareExcess: fc.constantFrom(0, 0.5, Infinity),
      score: fc.constantFrom(0, 0.5, 1),
    });
    fc.assert(fc.property(any, any, any, (...all) => {
      const [a, b, c] = all.map((change, index) => rank(change, `t${index}`)) as [RankedTarget, RankedTarget,
        RankedTarget];
      assert.equal(Math.sign(compareRanked(a, b)), -Math.sign(compareRanked(b, a)));
      if (compareRanked(a, b) < 0 && compareRanked(b, c) < 0) assert.ok(compareRanked(a, c) < 0);
    }));
  });
});

describe('a node that an autoscaler may add', () => {
  const grows = withNodeInfo({ spec: { headroom: [{ count: 1, allocatable: { cpu: '16', memory: '64Gi' } }] } });
  const pod = aPodWithConstraints({}, { cpu: '8' });
  const ranked = (...all: TargetSnapshot[]) => evaluateTargets(pod, all).ranked.map(({ target, afterScaleUp }) =>
    [target.ref.name, afterScaleUp]);
  const large = aPlace('large', {}, withNodes({ cpu: '64', memory: '64Gi', pods: '9' }), grows);

  it('counts only where no node has room now', () => assert.deepEqual(
    ranked(aPlace('small', {}, grows), large), [['small', true], ['large', false]],
  ));
  it('is the last resort, however good the score', () => {
    const decision = schedulePod(aPodWithConstraints({ weights: { leastAllocated: 0, rtt: 1 } }, { cpu: '8' }), [
      aPlace('near', {}, withNodeInfo({ rttMs: 0,
        spec: { headroom: [{ count: 1, allocatable: { cpu: '16', memory: '1Gi' } }] } })),
      aPlace('far', {}, withNodes({ cpu: '64', memory: '64Gi', pods: '9' }), withNodeInfo({ rttMs: 500 })),
    ]);
    assert.equal(decision.kind === 'chosen' && decision.target.ref.name, 'far');
  });
  it('does not make up for a summary that is missing', () => assert.equal(
    schedulePod(pod, [aPlace('a', {}, withoutSummary(), grows)]).rejected[0]?.reason, 'NoSummary',
  ));
});

const nodeRoom = fc.record(
  { cpu: fc.nat(8).map(String), memory: fc.nat(8).map((gib) => `${gib}Gi`), pods: fc.constantFrom('0', '5') },
);
const targets = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 5 }).chain((names) =>
  fc.tuple(...names.map((name) =>
    fc.tuple(fc.array(nodeRoom, { maxLength: 3 }), fc.integer({ min: 0, max: 5 })).map(([nodes, luck]) => (
    aTarget(
      name, withNodes(...nodes),
      luck === 0 ? unavailable('Unreachable', 'm') : luck === 1 ? withoutSummary() : (target) => target,
    )
  )))),
);
function withAnotherNode(capacity: TargetCapacity, room: ResourceList): TargetCapacity {
  const { nodeGroups = [], ...sums } = capacity.toSummary();
  const free = formatResourceList(addAmounts(capacity.free, parseResourceList(room).amounts));
  return toTargetCapacity({
    ...sums, free,
    nodeGroups: nodeGroups.map((group) => ({ ...group, holes: [...group.holes, { count: 1, free: room }] })),
  });
}

const pod = fc.record({ cpu: fc.nat(6).map(String), memory: fc.nat(6).map((gib) => `${gib}Gi`) })
  .map((requests) => aPodFor(requests));

describe('laws of scheduling', () => {
  it('the order of targets does not matter', () => {
    const shuffled = targets.chain(
      (targets) => fc.tuple(fc.constant(targets), fc.shuffledSubarray(targets, { minLength: targets.length })),
    );
    fc.assert(fc.property(
      pod, shuffled, (pod, [targets, others]) => assert.deepEqual(schedulePod(pod, targets), schedulePod(pod, others)),
    ));
  });

  it('the same input gives the same decision, and is not touched', () => {
    fc.assert(fc.property(
      pod, targets, (pod, targets) => assert.deepEqual(schedulePod(pod, frozen(targets)), schedulePod(pod, targets)),
    ));
  });

  it('every target of the pod is chosen, passed over for a better one, or rejected with a reason', () => {
    fc.assert(
      fc.property(pod, targets, (pod, targets) => {
        const decision = schedulePod(pod, targets);
        const rejected = new Set(decision.rejected.map(({ target }) => target));
        if (decision.kind === 'none') assert.equal(rejected.size, targets.length);
        else assert.equal(rejected.has(decision.target.key), false);
        assert.ok(decision.rejected.every(({ reason, message }) => reason !== '' && message !== ''));
      }),
    );
  });

  it('more room in the chosen target never makes another one the choice', () => {
    fc.assert(
      fc.property(pod, targets, nodeRoom, (pod, targets, more) => {
        const decision = schedulePod(pod, targets);
        fc.pre(decision.kind === 'chosen');
        const chosen = decision.kind === 'chosen' ? decision.target : undefined;
        const larger = targets.map(
          (target) => (target === chosen ? { ...target, capacity: withAnotherNode(target.capacity!, more) } : target),
        );
        const again = schedulePod(pod, larger);
        assert.equal(again.kind === 'chosen' && again.target.key, chosen?.key);
      }),
    );
  });

  it('a rejection changes nothing but that its target is rejected, also where it would have been anyway', () => {
    fc.assert(
      fc.property(pod, targets, fc.constantFrom('a', 'b', 'c'), (pod, targets, name) => {
        const key = `ClusterTarget/${name}`;
        const rejecting = { ...pod, rejectedBy: new Map([[key, { reason: 'Conflict', message: 'm' }]]) };
        const left = (one: PodToSchedule) =>
          evaluateTargets(one, targets).ranked.filter(({ target }) => target.key !== key).map(({ target }) =>
            target.key);
        assert.deepEqual(left(rejecting), left(pod));
        assert.equal(evaluateTargets(rejecting, targets).ranked.some(({ target }) => target.key === key), false);
      }),
    );
  });

  it('a target that fails changes nothing for the others', () => {
    fc.assert(
      fc.property(pod, targets, (pod, targets) => {
        const decision = schedulePod(pod, targets);
        const failed = aTarget('0-first-by-name', unavailable('Unreachable', 'm'));
        const again = schedulePod(pod, [failed, ...targets]);
        assert.equal(again.kind, decision.kind);
        assert.deepEqual(again.kind === 'chosen' && again.target, decision.kind === 'chosen' && decision.target);
      }),
    );
  });
});
