import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import { exclusionBy, reachOf } from '../../../../scheduler/policies/policy-reach.ts';
import type { TargetLabels } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { aClusterPolicy, aPolicy } from '../../../support/objects/placement.ts';

const select = (region: string) => ({ matchLabels: { region } });
const target = (region: string): TargetLabels => ({ labels: { region } });
/** Of a tenant: cluster policies do not see its labels. */
const tenants = (region: string): TargetLabels => ({ labels: { region }, clusterLabels: {} });

describe('reachOf', () => {
  const eu = [target('eu')];
  const rows: readonly (
    readonly [what: string, spec: PlacementPolicySpec, targets: readonly TargetLabels[], blocked: RegExp | undefined]
  )[] = [
    ['that selects nothing by labels', {}, eu, undefined],
    ['whose requirement a target meets', { require: select('eu') }, [target('us'), ...eu], undefined],
    [
      'whose requirement no target meets', { require: select('eu') }, [target('us')],
      /^no target has the labels that it requires \(region=eu\)$/,
    ],
    ['while there are no targets', { require: select('eu') }, [], undefined],
    ['that forbids every target', { forbid: select('eu') }, eu, /^it forbids every target/],
    ['that forbids what it requires', { require: select('eu'), forbid: select('eu') }, eu, /^it forbids every target/],
    [
      'with tiers of which one selects', { tiers: [{ targets: select('us') }, { targets: select('eu') }] }, eu,
      undefined,
    ],
    ['with tiers of which none selects', { tiers: [{ targets: select('us') }] }, eu, /none of its tiers/],
    [
      'with tiers that select only what it forbids', { forbid: select('us'), tiers: [{ targets: select('us') }] },
      [target('us'), ...eu], /none of its tiers/,
    ],
    [
      'with shares that must hold and select nothing',
      { replicas: { shares: [{ targets: select('us'), weight: 1 }], whenUnsatisfiable: 'DoNotSchedule' } }, eu,
      /none of its replica shares/,
    ],
    ['with shares that need not hold', { replicas: { shares: [{ targets: select('us'), weight: 1 }] } }, eu, undefined],
  ];
  for (const [what, spec, targets, blocked] of rows) {
    it(`of a policy ${what} is ${blocked === undefined ? 'some target' : 'none'}`, () => {
      const reach = reachOf(aPolicy(spec), targets);
      if (blocked === undefined) assert.equal(reach.blocked, undefined);
      else assert.match(reach.blocked ?? '', blocked);
    });
  }

  it('names parts that select nothing', () => {
    const spec: PlacementPolicySpec = {
      tiers: [{ targets: select('eu') }, { targets: select('us') }],
      overrides: [{ targets: select('asia'), patch: [] }],
    };
    assert.deepEqual(reachOf(aPolicy(spec), eu).idle, ['tier 2', 'override 1']);
  });

  it("counts a tenant's labels for policies of a namespace, and not for those of the cluster", () => {
    assert.equal(reachOf(aPolicy({ require: select('eu') }), [tenants('eu')]).blocked, undefined);
    assert.match(reachOf(aClusterPolicy({ require: select('eu') }), [tenants('eu')]).blocked ?? '', /no target has/);
  });
});

describe('exclusionBy', () => {
  const shares = [{ targets: select('us'), weight: 1 }];
  const rows: readonly (readonly [what: string, spec: PlacementPolicySpec, reason: string | undefined])[] = [
    ['that requires what it has', { require: select('eu') }, undefined],
    ['that requires something else', { require: select('us') }, 'PolicyRequires'],
    ['that forbids what it has', { forbid: select('eu') }, 'PolicyForbids'],
    ['with a tier that selects it', { tiers: [{ targets: select('us') }, { targets: select('eu') }] }, undefined],
    ['with tiers that do not select it', { tiers: [{ targets: select('us') }] }, 'NotInTiers'],
    ['with shares that need not hold', { replicas: { shares } }, undefined],
    ['with shares that must hold', { replicas: { shares, whenUnsatisfiable: 'DoNotSchedule' } }, 'NotInShares'],
  ];
  for (const [what, spec, reason] of rows) {
    it(`of a target by a policy ${what} is ${reason ?? 'none'}`, () => {
      const exclusion = exclusionBy(aPolicy(spec), target('eu'));
      assert.equal(exclusion?.reason, reason);
      if (reason !== undefined) assert.notEqual(exclusion?.message, '');
    });
  }

  it("does not trust a tenant's labels for a policy of the cluster", () => {
    assert.equal(exclusionBy(aPolicy({ require: select('eu') }), tenants('eu')), undefined);
    assert.equal(exclusionBy(aClusterPolicy({ require: select('eu') }), tenants('eu'))?.reason, 'PolicyRequires');
  });
});
