import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DiscoveredCluster, TargetDiscovery } from '../../../../api/registry/target-discovery.ts';
import { planApproval } from '../../../../discovery/plan/approval.ts';

const proposed = (name: string, entry = `Secret argocd/${name}`): DiscoveredCluster =>
  ({ entry, name, state: 'Proposed' });
const discovery = (
  spec: Partial<TargetDiscovery['spec']>, clusters?: readonly DiscoveredCluster[],
): TargetDiscovery => ({
  metadata: { name: 'argo' }, spec: { from: { argoCD: {} }, policy: 'Propose', ...spec },
  status: clusters === undefined ? {} : { clusters },
});

describe('an approval', () => {
  it('adds the name to those that are approved', () => {
    const clusters = [proposed('eu'), proposed('us')];
    assert.deepEqual(planApproval(discovery({}, clusters), 'eu'), { kind: 'approve', approved: ['eu'] });
    assert.deepEqual(
      planApproval(discovery({ approved: ['ap'] }, clusters), 'us'), { kind: 'approve', approved: ['ap', 'us'] },
    );
  });

  it('changes nothing where it was given before', () => {
    assert.deepEqual(planApproval(discovery({ approved: ['eu'] }, [proposed('eu')]), 'eu'), { kind: 'nothing' });
  });

  for (const [what, found] of [
    ['is not in the registry', discovery({}, [proposed('us')])],
    ['is in another state', discovery({}, [{ ...proposed('eu'), state: 'Unreachable' }])],
    ['was not looked for yet', discovery({})],
    ['needs no approval', discovery({ policy: 'Create' }, [proposed('eu')])],
  ] as const) {
    it(`is refused for a cluster that ${what}`, () => assert.deepEqual(planApproval(found, 'eu'), {
      kind: 'refuse', message: 'TargetDiscovery argo does not propose a cluster "eu".',
    }));
  }

  it('is refused for a name that two entries have: one of them was not looked at', () => {
    const plan = planApproval(discovery({}, [proposed('eu'), proposed('eu', 'Secret argocd/second')]), 'eu');
    assert.ok(plan.kind === 'refuse');
    assert.match(plan.message, /^2 entries of .* called "eu": Secret argocd\/eu, Secret argocd\/second\./);
  });
});
