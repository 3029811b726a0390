// What docs/joining.md says of a source's permissions is what the roles give; an integration test holds the same
// against a real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterRoles } from '../../../support/worlds/cluster-roles.ts';
import {
  CLUSTER_SUMMARY_VIEWER_ROLE, SOURCE_ELSEWHERE_ROLE, SOURCE_ROLE,
} from '../../../../model/access/component-accounts.ts';
import type { RoleObject } from '../../../../model/access/rbac-objects.ts';
import { identityManifests } from '../../../../peering/identity/source-identity.ts';
import { documentedPermissions, permissionsOfRules } from '../../../support/docs/documented-permissions.ts';

const rulesOf = (name: string) => clusterRoles().find(({ metadata }) => metadata.name === name)?.rules ?? [];
const isRole = (object: { readonly kind?: string }): object is RoleObject =>
  object.kind === 'Role' || object.kind === 'ClusterRole';

describe('the page about joining', () => {
  const { inNamespaces, elsewhere, inTarget } = documentedPermissions();

  it('lists what a source may do where its pods go', () => assert.deepEqual(
    inNamespaces, permissionsOfRules(rulesOf(SOURCE_ROLE)),
  ));

  it('lists what it may do in other namespaces, which is a part of that', () => {
    assert.deepEqual(elsewhere, permissionsOfRules(rulesOf(SOURCE_ELSEWHERE_ROLE)));
    assert.deepEqual(elsewhere.filter((right) => !inNamespaces.includes(right)), []);
  });

  it('lists what else it may do in the target', () => {
    const own = identityManifests(
      { name: 'SOURCE', account: { namespace: 'n', name: 'ACCOUNT' }, clusterId: 'CLUSTER' }, 'n',
    ).filter(isRole).flatMap(({ rules }) => rules);
    assert.deepEqual(inTarget, permissionsOfRules([...rulesOf(CLUSTER_SUMMARY_VIEWER_ROLE), ...own]));
  });
});
