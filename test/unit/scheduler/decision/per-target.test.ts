import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isPerTarget } from '../../../../scheduler/decision/per-target.ts';
import type { PodToSchedule } from '../../../../scheduler/snapshot/snapshot.ts';
import { aPodWithConstraints, constrained, rulesOf } from '../../../support/placement.ts';

const PLAIN: PodToSchedule =
  { namespace: 'team-a', requirements: { requests: new Map(), nodeSelector: {} }, refusals: new Map() };

describe('isPerTarget', () => {
  const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  const other = { namespace: 'team-a', labels: {}, terminating: false, byNode: new Map([['a', 1]]) };
  const cases: Record<string, readonly [pod: PodToSchedule, local: boolean]> = {
    'a pod without wishes': [PLAIN, true],
    'a pod that selects targets by label': [constrained({ nodeSelector: { a: 'b' } }), true],
    'a policy that requires labels': [aPodWithConstraints({ rules: rulesOf({ require: {} }) }), true],
    'a pod with topology spread': [constrained({ topologySpreadConstraints: [spread] }), false],
    'a pod with an empty list of topology spreads': [constrained({ topologySpreadConstraints: [] }), true],
    'a pod with anti-affinity to pods': [constrained({ affinity: { podAntiAffinity: {} } }), false],
    'a pod that requires labels of nodes': [constrained({ affinity: { nodeAffinity: {} } }), true],
    'a weight of the round trip': [aPodWithConstraints({ weights: { rtt: 1 } }), true],
    'a policy with weights': [aPodWithConstraints({ rules: rulesOf({ weights: { rtt: 1 } }) }), true],
    'a pod with affinity to pods': [constrained({ affinity: { podAffinity: {} } }), false],
    'a pod that prefers labels':
      [constrained({ affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } } }), false],
    'a policy with tiers': [aPodWithConstraints({ rules: rulesOf({ tiers: [{ targets: {} }] }) }), false],
    'a policy that divides replicas':
      [aPodWithConstraints({ rules: rulesOf({ replicas: { shares: [{ targets: {}, weight: 1 }] } }) }), false],
    'nodes on which policies override requirements': [aPodWithConstraints({ overridden: new Map() }), false],
    'another pod on a target': [aPodWithConstraints({ placed: [other] }), true],
    'another pod there that keeps pods away':
      [aPodWithConstraints({ placed: [{ ...other, antiAffinity: [{ topologyKey: 'zone' }] }] }), false],
    'fields that are null, as in files': [
      constrained({ affinity: { nodeAffinity: null, podAffinity: null }, topologySpreadConstraints: null } as never),
      true,
    ],
    'an affinity that is null': [constrained({ affinity: null } as never), true],
    'a weight of cost': [aPodWithConstraints({ weights: { cost: 1 } }), false],
  };
  for (const [sentence, [pod, local]] of Object.entries(cases)) {
    it(`${sentence}: ${local ? 'yes' : 'no'}`, () => assert.equal(isPerTarget(pod), local));
  }
});
