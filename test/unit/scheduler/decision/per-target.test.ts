import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { comparesTargets } from '../../../../scheduler/decision/per-target.ts';
import type { PodToSchedule } from '../../../../scheduler/snapshot/snapshot.ts';
import { aPodWithConstraints, constrained, rulesOf } from '../../../support/placement.ts';

const PLAIN: PodToSchedule =
  { namespace: 'team-a', requirements: { requests: new Map(), nodeSelector: {} }, refusals: new Map() };

describe('comparesTargets', () => {
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
    it(`${sentence}: ${compares ? 'yes' : 'no'}`, () => assert.equal(comparesTargets(pod), compares));
  }
});
