import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DiscoveredCluster, TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import { planApproval } from '../../../../discovery/plan/approval.ts';

const proposed = (name: string, entry = `Secret argocd/${name}`): DiscoveredCluster =>
  ({ entry, name, state: 'Proposed' });
const seen = (cluster: string, clusterId?: string) => ({ cluster, entry: `Secret argocd/${cluster}`, clusterId });
const discovery = (
  spec: Partial<TargetDiscovery['spec']>, clusters?: readonly DiscoveredCluster[],
): TargetDiscovery => ({
  metadata: { name: 'argo' }, spec: { from: { argoCD: {} }, policy: 'Propose', ...spec },
  status: clusters === undefined ? {} : { clusters },
});

describe('an approval', () => {
  it('adds the name to those that are approved', () => {
    const clusters = [proposed('eu'), proposed('us')];
    assert.deepEqual(planApproval(discovery({}, clusters), seen('eu')), { kind: 'approve', approved: ['eu'] });
    assert.deepEqual(
      planApproval(discovery({ approved: ['ap'] }, clusters), seen('us')), { kind: 'approve', approved: ['ap', 'us'] },
    );
  });

  it('changes nothing where it was given before', () => {
    assert.deepEqual(planApproval(discovery({ approved: ['eu'] }, [proposed('eu')]), seen('eu')), { kind: 'nothing' });
  });

  for (const [what, found] of [
    ['is not in the registry', discovery({}, [proposed('us')])],
    ['is in another state', discovery({}, [{ ...proposed('eu'), state: 'Unreachable' }])],
    ['was not looked for yet', discovery({})],
    ['needs no approval', discovery({ policy: 'Create' }, [proposed('eu')])],
  ] as const) {
    it(`is refused for a cluster that ${what}`, () => assert.deepEqual(planApproval(found, seen('eu')), {
      kind: 'refuse', message: 'TargetDiscovery argo does not propose a cluster "eu".',
    }));
  }

  for (const state of ['Proposed', 'Waiting', 'Connecting', 'Unreachable', 'Refused', 'Duplicate', 'Left'] as const) {
    it(`is refused for a name that another entry has, which is ${state}: it was not looked at`, () => {
      const second = { ...proposed('eu', 'Secret argocd/second'), state };
      const plan = planApproval(discovery({}, [proposed('eu'), second]), seen('eu'));
      assert.ok(plan.kind === 'refuse');
      assert.match(plan.message, /^2 entries of .* called "eu": Secret argocd\/eu, Secret argocd\/second\./);
    });
  }

  it('is refused where another entry or another cluster has the name now', () => {
    const found = discovery({}, [{ ...proposed('eu'), clusterID: 'uid-1' }]);
    const unknown = discovery({}, [proposed('eu')]);
    const moved = discovery({}, [{ ...proposed('eu', 'Secret argocd/second'), clusterID: 'uid-1' }]);
    for (const [now, clusterId] of [
      [moved, 'uid-1'], [moved, undefined], [found, 'uid-2'], [unknown, 'uid-1'],
    ] as const) {
      const plan = planApproval(now, seen('eu', clusterId));
      assert.ok(plan.kind === 'refuse');
      assert.match(plan.message, /^"eu" of TargetDiscovery argo is not what you were shown .* Look at it again/);
    }
  });

  it('is given to the cluster that was shown, and to one whose ID was not known yet', () => {
    const found = discovery({}, [{ ...proposed('eu'), clusterID: 'uid-1' }]);
    for (const clusterId of ['uid-1', undefined]) {
      assert.deepEqual(planApproval(found, seen('eu', clusterId)), { kind: 'approve', approved: ['eu'] });
    }
  });
});
