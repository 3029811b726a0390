import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Plan } from '../../../../model/objects/plan.ts';
import { explainPod, toPlacementRecord, withPlacementRecord } from '../../../../scheduler/explain/explain.ts';
import { FILTERS } from '../../../../scheduler/decision/filters.ts';
import { schedulePod } from '../../../../scheduler/decision/schedule-pod.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { unavailable, withNodes, withRef } from '../../../support/builders.ts';
import { aPlace, aPodWithConstraints, full, rulesOf, withTraits } from '../../../support/placement.ts';

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
  const grows = withTraits({ spec: { headroom: [{ count: 1, allocatable: { cpu: '64', memory: '64Gi' } }] } });
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

  it('says what is decided', () => {
    const targets = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')).chain((names) =>
      fc.tuple(...names.map((name) => (
      fc.tuple(fc.nat(8), fc.constantFrom('eu', 'us'), fc.boolean()).map(([cpu, region, cordoned]) => aPlace(
        name, {}, withNodes({ cpu: `${cpu}`, memory: '8Gi', pods: '9' }), withTraits({ labels: { region }, cordoned }),
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
