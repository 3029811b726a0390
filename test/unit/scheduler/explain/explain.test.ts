import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { ResourceList } from '../../../../api/objects/core.ts';
import { PODS } from '../../../../api/resource-types.ts';
import type { Plan } from '../../../../model/objects/plan.ts';
import { targetsLostAtPlacement } from '../../../../model/proxy/lost-at-placement.ts';
import { explainPod, toPlacementRecord, withPlacementRecord } from '../../../../scheduler/explain/explain.ts';
import { FILTERS } from '../../../../scheduler/decision/filters.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { unavailable, withNodes, withRef } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, full, rulesOf, withNodeInfo } from '../../../support/objects/placement.ts';

const EU = { matchLabels: { region: 'eu' } };
const roomy = (name: string, labels = {}) => aPlace(name, labels, withNodes({ cpu: '64', memory: '64Gi', pods: '9' }));

describe('explainPod', () => {
  it('shows every check of every target, also those after the first no', () => {
    const target = aPlace('a', {}, unavailable('Unreachable', 'no route'), full());
    const { targets: [explained] } = explainPod(aPodWithConstraints({ rules: rulesOf({ require: EU }) }), [target]);
    assert.deepEqual(explained?.checks.map(({ filter }) => filter), FILTERS.map(({ name }) => name));
    assert.deepEqual(explained?.checks.flatMap((check) => (check.answer === 'no' ? [check.reason] : [])), [
      'PolicyRequires', 'Unreachable', 'InsufficientResources',
    ]);
    assert.equal(explained?.checks.find(({ filter }) => filter === 'TopologySpread')?.answer, 'not-asked');
    assert.equal(explained?.checks.find(({ filter }) => filter === 'Taints')?.answer, 'passes');
    assert.equal(explained?.scores, undefined);
  });

  it('shows the scores of targets that pass, best first, the others after them', () => {
    const explanation =
      explainPod(aPodWithConstraints({ weights: { locality: 2 } }), [aPlace('b'), aPlace('c', {}, full()), roomy('a')]);
    assert.deepEqual(
      explanation.targets.map(({ target }) => target), ['ClusterTarget/a', 'ClusterTarget/b', 'ClusterTarget/c'],
    );
    assert.deepEqual(explanation.targets[0]?.scores?.map(({ name, weight }) => [name, weight]), [
      ['leastAllocated', 1], ['locality', 2],
    ]);
  });

  const two = (one: TargetSnapshot, other: TargetSnapshot, pod = aPodWithConstraints()) =>
    explainPod(pod, [one, other]).margin;
  const grows = withNodeInfo({ spec: { headroom: [{ count: 1, allocatable: { cpu: '64', memory: '64Gi' } }] } });
  const tiers = aPodWithConstraints({ rules: rulesOf({ tiers: [{ targets: EU }, { targets: {} }] }) });
  const shares = aPodWithConstraints(
    { rules: rulesOf({ replicas: { shares: [{ targets: EU, weight: 1 }, { targets: {}, weight: 2 }] } }) },
  );
  const cases: Record<string, readonly [margin: ReturnType<typeof two>, by: string, over: string]> = {
    'a higher score': [two(roomy('b'), aPlace('a')), 'score', 'a'],
    'a lower tier': [two(roomy('a'), aPlace('b', { region: 'eu' }), tiers), 'tier', 'a'],
    'capacity now': [two(aPlace('a', {}, full(), grows), aPlace('b')), 'capacity-now', 'a'],
    'a share that is behind': [two(roomy('a', { region: 'eu' }), aPlace('b'), shares), 'share', 'a'],
    'nothing but the name': [two(aPlace('b'), aPlace('a')), 'name', 'b'],
  };
  for (const [sentence, [margin, by, over]] of Object.entries(cases)) {
    it(`names what decided: ${sentence}`, () => assert.deepEqual(
      [margin?.by, margin?.over], [by, `ClusterTarget/${over}`],
    ));
  }

  it('has no margin where there was no choice', () => assert.equal(
    explainPod(aPodWithConstraints(), [aPlace('a')]).margin, undefined,
  ));
  it('does not betray targets of other namespaces', () => {
    assert.deepEqual(
      explainPod(
        aPodWithConstraints(), [aPlace('t', {}, withRef({ kind: 'Target', namespace: 'team-b', name: 't' }))],
      ).targets,
      [],
    );
  });

  describe('the smallest change', () => {
    const change = (...targets: TargetSnapshot[]) => explainPod(
      aPodWithConstraints({ rules: rulesOf({ require: EU }) }, { cpu: '8', memory: '1Gi' }), targets,
    ).smallestChange;

    it('is to the target with the fewest noes', () => {
      assert.equal(change(aPlace('a'), aPlace('b', { region: 'eu' }))?.target, 'ClusterTarget/b');
    });
    it('is, of two with as many, to the one that got further', () => {
      assert.equal(change(roomy('a'), aPlace('b', { region: 'eu' }))?.target, 'ClusterTarget/b');
    });
    it('says how much less the pod would have to ask for', () => {
      assert.deepEqual(change(aPlace('b', { region: 'eu' }))?.changes, [
        'InsufficientResources: no node has 8 cpu free; or lower the request of the pod to 4 cpu instead of 8',
      ]);
    });
    it('lists all that is in the way', () => assert.equal(change(aPlace('b'))?.changes.length, 2));
    it('is not asked for where the pod has a target', () => assert.equal(
      change(roomy('a', { region: 'eu' })), undefined,
    ));
    it('is none where there is no target', () => assert.equal(change(), undefined));
    it('names no smaller request where none would do', () => {
      assert.deepEqual(change(aPlace('b', { region: 'eu' }, withNodes()))?.changes, [
        'NoNodes: it has no node that is ready and not cordoned',
      ]);
    });
  });

  describe('how much less a pod would have to ask for', () => {
    const node = (room: ResourceList) => aPlace('a', {}, withNodes({ cpu: '4', memory: '8Gi', pods: '9', ...room }));
    const less = (requests: ResourceList, ...targets: TargetSnapshot[]) =>
      explainPod(aPodWithConstraints({}, requests),
        targets).smallestChange?.changes.map((change) => /; or (.*)$/.exec(change)?.[1]);
    const rows: Record<string, readonly [answer: ReturnType<typeof less>, expected: string | undefined]> = {
      'is told in the unit of the resource': [
        less({ memory: '12Gi' }, node({})), 'lower the request of the pod to 8Gi memory instead of 12Gi',
      ],
      'is told to the thousandth of a core':
        [less({ cpu: '4500m' }, node({ cpu: '4321m' })), 'lower the request of the pod to 4321m cpu instead of 4500m'],
      'is told of devices one by one': [
        less({ 'nvidia.com/gpu': '8' }, node({ 'nvidia.com/gpu': '3' })),
        'lower the request of the pod to 3 nvidia.com/gpu instead of 8',
      ],
      'may be all of it, where the target has no such device':
        [less({ 'nvidia.com/gpu': '8' }, node({})), 'lower the request of the pod to 0 nvidia.com/gpu instead of 8'],
      'is nothing where two resources are short': [less({ cpu: '5', memory: '9Gi' }, node({})), undefined],
      'is nothing where no pod has a place': [less({ cpu: '1' }, node({ pods: '0' })), undefined],
      'is never about the place of a pod': [less({ pods: '10' }, node({ pods: '9' })), undefined],
    };
    for (const [sentence, [answer, expected]] of Object.entries(rows)) {
      it(sentence, () => assert.deepEqual(answer, [expected]));
    }
    it('is the smallest part of a request, of those that would do', () => {
      const target = aPlace('a', {}, withNodes(
        { cpu: '8', memory: '2Gi', pods: '9' }, { cpu: '4', memory: '8Gi', pods: '9' },
      ));
      assert.match(less({ cpu: '8', memory: '8Gi' }, target)?.[0] ?? '', /to 4 cpu instead of 8/);
    });
    it('is about what a policy makes of the delegate', () => {
      const overridden = new Map([['ClusterTarget/a', { requests: new Map([['cpu', 6_000]]) }]]);
      const { smallestChange } = explainPod(aPodWithConstraints({ overridden }, { cpu: '1' }), [node({})]);
      assert.match(smallestChange?.changes[0] ?? '', /to 4 cpu instead of 6$/);
    });
    it('law: with as much as it says the pod fits, and with a bit more it does not', () => {
      const amount = fc.integer({ min: 1, max: 9_000 });
      fc.assert(fc.property(amount, fc.array(amount, { minLength: 1, maxLength: 3 }), (asked, rooms) => {
        const target = aPlace('a', {}, withNodes(
          ...rooms.map((cpu) => ({ cpu: `${cpu}m`, memory: '8Gi', pods: '9' }))));
        const fits = (cpu: number) => schedulePod(aPodWithConstraints({}, { cpu: `${cpu}m` }),
          [target]).kind === 'chosen';
        const [change = ''] = less({ cpu: `${asked}m` }, target) ?? [];
        if (change === '') return assert.ok(fits(asked));
        const told = /to (\S+) cpu/.exec(change)?.[1] ?? '';
        const milli = told.endsWith('m') ? Number(told.slice(0, -1)) : Number(told) * 1_000;
        assert.ok(fits(milli) && !fits(milli + 1), change);
      }), { numRuns: 50 });
    });
  });

  it('says that a target needs another node first, and what else was weighed', () => {
    const grown = aPlace('a', {}, withNodes({ cpu: '1', memory: '1Gi', pods: '9' }), grows);
    const { targets: [first] } = explainPod(aPodWithConstraints({ weights: { rtt: 2, cost: 0 } }, { cpu: '8' }),
      [grown]);
    assert.deepEqual([first?.afterScaleUp, first?.tier], [true, 0]);
    assert.deepEqual(first?.scores?.map(({ name, weight }) => [name, weight]), [['leastAllocated', 1], ['rtt', 2]]);
  });
  it('shows a rejection that has not ended yet among the checks', () => {
    const rejectedBy = new Map([['ClusterTarget/a', { reason: 'Conflict', message: 'a quota' }]]);
    const { targets: [first], chosen } = explainPod({ ...aPodWithConstraints(), rejectedBy }, [aPlace('a')]);
    assert.equal(chosen, undefined);
    assert.deepEqual(first?.checks.filter(({ answer }) => answer === 'no'), [
      { filter: 'NotRejected', answer: 'no', reason: 'Conflict', message: 'a quota' },
    ]);
  });

  it('says what is decided', () => {
    const targets = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')).chain((names) =>
      fc.tuple(...names.map((name) => (
      fc.tuple(fc.nat(8), fc.constantFrom('eu', 'us'), fc.boolean()).map(([cpu, region, cordoned]) => aPlace(
        name, {}, withNodes({ cpu: `${cpu}`, memory: '8Gi', pods: '9' }),
        withNodeInfo({ labels: { region }, cordoned }),
      ))
    ))));
    const pod = fc.tuple(fc.nat(6), fc.constantFrom(
      {}, { require: EU }, { tiers: [{ targets: EU }, { targets: {} }] },
      { replicas: { shares: [{ targets: EU, weight: 1 }] } },
    ))
      .map(([cpu, spec]) => aPodWithConstraints({ rules: rulesOf(spec) }, { cpu: `${cpu}` }));
    fc.assert(fc.property(pod, targets, (pod, targets) => {
      const decision = schedulePod(pod, targets);
      const explanation = explainPod(pod, targets);
      assert.equal(explanation.chosen, decision.kind === 'chosen' ? decision.target.key : undefined);
      assert.equal(explanation.targets[0]?.score, decision.kind === 'chosen' ? decision.score : undefined);
      for (const { target, reason } of decision.rejected) {
        const firstNo = explanation.targets.find((one) => one.target === target)?.checks
          .find(({ answer }) => answer === 'no');
        assert.equal(firstNo?.answer === 'no' && firstNo.reason, reason);
      }
    }));
  });
});

describe('the record at a bound pod', () => {
  it('names target, score, and reasons against the others', () => {
    const decision = schedulePod(
      aPodWithConstraints({ rules: rulesOf({ tiers: [{ targets: EU }, { targets: {} }] }) }),
      [roomy('a'), aPlace('b', { region: 'eu' }, full())],
    );
    assert.deepEqual(JSON.parse(toPlacementRecord(decision) ?? ''), {
      target: 'ClusterTarget/a', score: 0.62, tier: 2, not: { 'ClusterTarget/b': 'InsufficientResources' },
    });
  });

  it('tells of another node that is needed, and nothing that goes without saying', () => {
    const grown = aPlace('a', {}, full(), withNodeInfo(
      { spec: { headroom: [{ count: 1, allocatable: { cpu: '64', memory: '64Gi' } }] } },
    ));
    const recorded = (...targets: TargetSnapshot[]) =>
      JSON.parse(toPlacementRecord(schedulePod(aPodWithConstraints(), targets)) ?? '') as object;
    assert.deepEqual(Object.keys(recorded(grown)), ['target', 'score', 'afterScaleUp']);
    assert.deepEqual(Object.keys(recorded(aPlace('a'))), ['target', 'score']);
  });
  it('names twenty targets before it counts', () => {
    const away = (count: number) => Array.from({ length: count }, (_, index) => aPlace(`t${index}`, {}, full()));
    const { not, more } = JSON.parse(
      toPlacementRecord(schedulePod(aPodWithConstraints(), [roomy('a'), ...away(20)])) ?? '',
    ) as { not: object; more?: number };
    assert.deepEqual([Object.keys(not).length, more], [20, undefined]);
  });
  it('names lost targets before all others: pods go back to those', () => {
    const others = Array.from({ length: 30 }, (_, index) => aPlace(`t${index}`, {}, full()));
    const lost = aPlace('z', {}, unavailable('Unreachable', 'no route'));
    const record = toPlacementRecord(schedulePod(aPodWithConstraints(), [roomy('a'), ...others, lost]));
    assert.deepEqual(
      targetsLostAtPlacement({ annotations: { [PLACEMENT_ANNOTATION]: record ?? '' } }), ['ClusterTarget/z'],
    );
    assert.equal((JSON.parse(record ?? '') as { more: number }).more, 11);
  });
  it('goes with no other write', () => {
    const plan: Plan = [{ kind: 'delete', type: PODS, at: { namespace: 'n', name: 'p' }, preconditions: { uid: 'u' },
      propagation: 'Background' }];
    assert.deepEqual(withPlacementRecord(plan, '{}'), plan);
  });

  it('stays small however many targets there are', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => aPlace(`${'t'.repeat(60)}-${index}`, {}, full()));
    const record = toPlacementRecord(schedulePod(aPodWithConstraints(), [roomy('a'), ...many])) ?? '';
    assert.ok(record.length < 4_096, `${record.length}`);
    assert.equal((JSON.parse(record) as { more: number }).more, 980);
  });

  it('is none where nothing was chosen', () => assert.equal(
    toPlacementRecord(schedulePod(aPodWithConstraints(), [])), undefined,
  ));

  it('goes with the Binding, beside what it has', () => {
    const binding = {
      metadata: { name: 'web', annotations: { a: 'b' } }, target: { apiVersion: 'v1', kind: 'Node', name: 'n' },
    } as const;
    const plan: Plan = [{ kind: 'bind', binding }];
    const [command] = withPlacementRecord(plan, '{}');
    assert.deepEqual(
      command?.kind === 'bind' && command.binding.metadata.annotations, { a: 'b', [PLACEMENT_ANNOTATION]: '{}' },
    );
    assert.equal(withPlacementRecord(plan, undefined), plan);
  });
});
