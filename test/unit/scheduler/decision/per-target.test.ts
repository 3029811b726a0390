import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SCORE_NAMES } from '../../../../api/kinds/placement-policy.ts';
import { dependsOnOtherTargets } from '../../../../scheduler/decision/per-target.ts';
import { evaluateTargets } from '../../../../scheduler/decision/schedule-pod.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { unavailable, withNodes, withoutSummary } from '../../../support/objects/builders.ts';
import { aPlace, aPodWithConstraints, constrained, full, placed, rulesOf,
  withNodeInfo } from '../../../support/objects/placement.ts';

const PLAIN: PodToSchedule =
  { namespace: 'team-a', requirements: { requests: new Map(), nodeSelector: {} }, rejectedBy: new Map() };

describe('dependsOnOtherTargets', () => {
  const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  const other = { namespace: 'team-a', labels: {}, terminating: false, byNode: new Map([['a', 1]]) };
  const cases: Record<string, readonly [pod: PodToSchedule, compares: boolean]> = {
    'a pod without wishes': [PLAIN, false],
    'a pod that selects targets by label': [constrained({ nodeSelector: { a: 'b' } }), false],
    'a policy that requires labels': [aPodWithConstraints({ rules: rulesOf({ require: {} }) }), false],
    'a pod with topology spread': [constrained({ topologySpreadConstraints: [spread] }), true],
    'a pod with an empty list of topology spreads': [constrained({ topologySpreadConstraints: [] }), false],
    'a pod with anti-affinity to pods': [constrained({ affinity: { podAntiAffinity: {} } }), true],
    'a pod that requires labels of nodes': [constrained({ affinity: { nodeAffinity: {} } }), false],
    'a weight of the round trip': [aPodWithConstraints({ weights: { rtt: 1 } }), false],
    'a policy with weights': [aPodWithConstraints({ rules: rulesOf({ weights: { rtt: 1 } }) }), false],
    'a pod with affinity to pods': [constrained({ affinity: { podAffinity: {} } }), true],
    'a pod that prefers labels':
      [constrained({ affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }), true],
    'a policy with tiers': [aPodWithConstraints({ rules: rulesOf({ tiers: [{ targets: {} }] }) }), true],
    'a policy that divides replicas':
      [aPodWithConstraints({ rules: rulesOf({ replicas: { shares: [{ targets: {}, weight: 1 }] } }) }), true],
    'nodes on which policies override requirements': [aPodWithConstraints({ overridden: new Map() }), true],
    'another pod on a target': [aPodWithConstraints({ placed: [other] }), false],
    'another pod there that keeps pods away':
      [aPodWithConstraints({ placed: [{ ...other, antiAffinity: [{ topologyKey: 'zone' }] }] }), true],
    'fields that are null, as in files': [
      constrained({ affinity: { nodeAffinity: null, podAffinity: null }, topologySpreadConstraints: null } as never),
      false,
    ],
    'an affinity that is null': [constrained({ affinity: null } as never), false],
    'a weight of cost': [aPodWithConstraints({ weights: { cost: 1 } }), true],
  };
  for (const [sentence, [pod, compares]] of Object.entries(cases)) {
    it(`${sentence}: ${compares ? 'yes' : 'no'}`, () => assert.equal(dependsOnOtherTargets(pod), compares));
  }
});

describe('what is decided about a target by itself', () => {
  const EU = { matchLabels: { region: 'eu' } };
  const change = fc.constantFrom(
    full(), unavailable('Unreachable', 'm'), withoutSummary(), withNodes({ cpu: '1', memory: '1Gi', pods: '3' }),
    (target: TargetSnapshot) => target,
  );
  const target = (name: string): fc.Arbitrary<TargetSnapshot> => fc.record({
    region: fc.constantFrom('eu', 'us'), cordoned: fc.boolean(), rttMs: fc.nat(200), price: fc.nat(3), change,
    taints: fc.constantFrom([], [{ key: 'k', effect: 'NoSchedule' as const }]),
  }).map(({ region, cordoned, rttMs, price, taints, change: changed }) => aPlace(name, {}, withNodeInfo({
    labels: { region }, cordoned, rttMs, taints, spec: { prices: { cpu: `${price}` } },
  }), changed));
  const spread = { maxSkew: 1, topologyKey: 'region', labelSelector: {} };
  const prefers = [{ weight: 5, preference: { matchExpressions: [{ key: 'region', operator: 'Exists' as const }] } }];
  const near = { topologyKey: 'region', labelSelector: {} };
  const constraints = fc.constantFrom<PlacementConstraints['constraints']>(
    {}, { nodeSelector: { region: 'eu' } }, { tolerations: [{ operator: 'Exists' }] },
    { topologySpreadConstraints: [{ ...spread, whenUnsatisfiable: 'DoNotSchedule' }] },
    { topologySpreadConstraints: [{ ...spread, whenUnsatisfiable: 'ScheduleAnyway' }] },
    { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: prefers } } },
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near] } } },
    { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [near] } } },
  );
  const rules = fc.constantFrom(
    {}, { require: EU }, { forbid: EU }, { tiers: [{ targets: EU, waitSeconds: 9 }, { targets: {} }] },
    { replicas: { shares: [{ targets: EU, weight: 1 }], whenUnsatisfiable: 'DoNotSchedule' as const } },
    { weights: { rtt: 3 } },
  ).map((spec) => rulesOf(spec));
  const weights = fc.record(Object.fromEntries(
    SCORE_NAMES.map((name) => [name, name === 'cost' ? fc.constantFrom(0, 0, 0, 1) : fc.nat(2)]),
  ));
  const pod = fc.record({
    constraints, rules, weights, inB: fc.nat(2), antiAffinity: fc.constantFrom(undefined, undefined, undefined, [near]),
    isRefused: fc.boolean(),
  }).map(({ inB, antiAffinity, isRefused, ...placement }): PodToSchedule => ({
    ...aPodWithConstraints({
      ...placement, location: { region: 'eu' },
      placed: [placed({ a: 1, b: inB }, antiAffinity === undefined ? {} : { antiAffinity })],
    }),
    rejectedBy: new Map(isRefused ? [['ClusterTarget/a', { reason: 'Conflict', message: 'm' }]] : []),
  }));

  it('is the same whatever the other targets are', () => {
    let compared = 0;
    const about = (one: PodToSchedule, targets: readonly TargetSnapshot[]) => {
      const { ranked, rejected } = evaluateTargets(one, targets);
      const rank = ranked.find(({ target: { key } }) => key === 'ClusterTarget/a');
      return [rank?.score, rank?.tier, rank?.afterScaleUp,
        rejected.find(({ target: key }) => key === 'ClusterTarget/a')];
    };
    fc.assert(fc.property(pod, target('a'), target('b'), (one, a, b) => {
      if (dependsOnOtherTargets(one)) return;
      compared += 1;
      assert.deepEqual(about(one, [a, b]), about(one, [a]));
    }), { numRuns: 400 });
    assert.ok(compared > 10, `${compared}`);
  });
});
