// What a policy says of all targets and what it says of one must be the same: its author reads the one, and the users
// of its pods the other.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import { exclusionBy, reachOf } from '../../../../scheduler/policies/policy-reach.ts';
import type { KnownPolicy } from '../../../../scheduler/snapshot/placement-rules.ts';
import type { TargetLabels } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { aClusterPolicy, aPolicy } from '../../../support/objects/placement.ts';

const REGIONS = ['eu', 'us', 'asia'];
const selector = fc.oneof(
  fc.constant({}), fc.constantFrom(...REGIONS).map((region) => ({ matchLabels: { region } })),
  fc.constantFrom(...REGIONS).map((region) =>
    ({ matchExpressions: [{ key: 'region', operator: 'NotIn' as const, values: [region] }] })),
);
const labels = fc.dictionary(fc.constant('region'), fc.constantFrom(...REGIONS), { noNullPrototype: true });
const target: fc.Arbitrary<TargetLabels> = fc.oneof(
  labels.map((own) => ({ labels: own })),
  fc.tuple(labels, labels).map(([own, clusterLabels]) => ({ labels: own, clusterLabels })),
  fc.tuple(labels, labels).map(([own, assigned]) =>
    ({ labels: own, assigned: { labels: assigned, clusterLabels: assigned } })),
);
const parts = fc.array(selector.map((targets) => ({ targets, weight: 1 })), { minLength: 1, maxLength: 3 });
const division = fc.oneof(
  fc.constant({}), parts.map((tiers) => ({ tiers })),
  fc.tuple(parts, fc.constantFrom('DoNotSchedule' as const, 'ScheduleAnyway' as const))
    .map(([shares, whenUnsatisfiable]) => ({ replicas: { shares, whenUnsatisfiable } })),
);
const spec: fc.Arbitrary<PlacementPolicySpec> = fc.tuple(
  fc.record({ require: selector, forbid: selector }, { requiredKeys: [], noNullPrototype: true }), division,
).map(([rules, divided]) => ({ ...rules, ...divided }));
const policy: fc.Arbitrary<KnownPolicy> =
  fc.tuple(spec, fc.boolean()).map(([its, isClusterScoped]) => (isClusterScoped ? aClusterPolicy(its) : aPolicy(its)));
const targets = fc.array(target, { minLength: 1, maxLength: 4 });

describe('the reach of a policy', () => {
  it('is blocked exactly when it excludes each target by itself', () => {
    fc.assert(fc.property(policy, targets, (one, all) => {
      const excluded = all.filter((each) => exclusionBy(one, each) !== undefined);
      assert.equal(reachOf(one, all).blocked !== undefined, excluded.length === all.length);
    }), { numRuns: 400 });
  });
  it('grows with the targets: one more never blocks what was open', () => {
    fc.assert(fc.property(policy, targets, target, (one, all, more) => {
      if (reachOf(one, all).blocked === undefined) assert.equal(reachOf(one, [...all, more]).blocked, undefined);
    }), { numRuns: 200 });
  });
  it('names idle parts only where something is left, and never more than there are', () => {
    fc.assert(fc.property(policy, targets, (one, all) => {
      const { blocked, idle } = reachOf(one, all);
      const { tiers = [], replicas } = one.spec;
      assert.ok(idle.length <= tiers.length + (replicas?.shares.length ?? 0));
      if (blocked !== undefined) assert.deepEqual(idle, []);
      assert.equal(new Set(idle).size, idle.length);
    }), { numRuns: 200 });
  });
  it('does not depend on the order of targets', () => {
    fc.assert(fc.property(policy, targets, (one, all) => {
      assert.deepEqual(reachOf(one, all.toReversed()), reachOf(one, all));
    }), { numRuns: 200 });
  });
});
