import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SOURCE_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { SourceGrants } from '../../../../api/kinds/cluster-source.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, NAMESPACES, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS, SOURCES,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../../api/resource-types.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import {
  SOURCE_OBJECT_POLICY, SOURCE_ROLE, SOURCE_TOKEN_POLICY,
} from '../../../../model/access/component-accounts.ts';
import { establishIdentity, identityTypeOf } from '../../../../peering/identity/establish-identity.ts';
import type { SourceIdentity } from '../../../../peering/identity/source-identity.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';

const INSTALL = 'isthmus-system';
const POLICIES = [VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS].flatMap(
  (type) => [SOURCE_OBJECT_POLICY, SOURCE_TOKEN_POLICY].map((name): Stored => [type, { metadata: { name } }]),
);
const namespace = (name: string, labels = {}): Stored => [NAMESPACES, { metadata: { name, labels } }];
const identity = (more: Partial<SourceIdentity> = {}): SourceIdentity => ({
  name: 'berlin', account: { namespace: INSTALL, name: 'berlin' }, clusterId: 'source-id',
  grants: { namespaces: 'OptedIn' }, ...more,
});
const world = () => new MemoryCluster(
  ...POLICIES, namespace('shop', { 'isthmus.dev/sources': 'all' }),
  namespace('bank', { 'isthmus.dev/sources': 'rome_berlin' }), namespace('nobody', { 'isthmus.dev/sources': 'none' }),
  namespace('opted-in', { 'multicluster-scheduler': 'enabled' }), namespace('plain', { team: 'web' }),
  namespace('kube-system', { 'isthmus.dev/sources': 'all' }), namespace(INSTALL, { 'isthmus.dev/sources': 'all' }),
);
const establish = (cluster: MemoryCluster, more: Partial<SourceIdentity> = {}) => establishIdentity(
  { client: cluster.client, installNamespace: INSTALL, fieldManager: 'test' }, identity(more),
  new AbortController().signal,
);
const boundIn = (cluster: MemoryCluster) => cluster.names(ROLE_BINDINGS).map((name) => name.split('/'))
  .filter(([at = '', name = '']) => {
    const { roleRef } = cluster.find(ROLE_BINDINGS, name, at)!;
    return (roleRef as { readonly name: string }).name === SOURCE_ROLE;
  }).map(([at = '']) => at);

describe('the identity of a source', () => {
  it('begins with its object, which owns all of the rest', async () => {
    const cluster = world();
    await establish(cluster);
    assert.match(cluster.writes[0] ?? '', /clustersources\/berlin$/);
    assert.match(cluster.writes[1] ?? '', /serviceaccounts\/berlin$/);
    for (const type of [SERVICE_ACCOUNTS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS]) {
      for (const at of cluster.names(type)) {
        const [name = '', within] = at.split('/').toReversed();
        const { ownerReferences } = cluster.find(type, name, within)!.metadata;
        assert.deepEqual(ownerReferences?.map(({ kind, uid }) => [kind, uid]), [['ClusterSource', 'uid-berlin']], at);
      }
    }
  });

  const grants: Record<string, readonly [grants: SourceGrants, allowed: readonly string[]]> = {
    'where a label allows it, by its name or as one of all': [{ namespaces: 'OptedIn' }, ['shop', 'bank', 'opted-in']],
    'where a selector matches, whatever the other labels say':
      [{ namespaceSelector: { matchLabels: { team: 'web' } } }, ['plain']],
    'in neither more nor less than both allow': [
      { namespaces: 'OptedIn', namespaceSelector: { matchLabels: { team: 'web' } } },
      ['shop', 'bank', 'opted-in', 'plain'],
    ],
  };
  for (const [where, [given, allowed]] of Object.entries(grants)) {
    it(`may run pods ${where}; never in namespaces of the system`, async () => {
      const cluster = world();
      assert.deepEqual([...(await establish(cluster, { grants: given }))].toSorted(), allowed.toSorted());
      assert.deepEqual(boundIn(cluster).toSorted(), allowed.toSorted());
    });
  }

  it('with all namespaces is bound in the cluster, and in none of them', async () => {
    const cluster = world();
    assert.deepEqual(await establish(cluster, { grants: { namespaces: 'All' } }), []);
    assert.deepEqual(boundIn(cluster), []);
    assert.ok(cluster.names(CLUSTER_ROLE_BINDINGS).includes('admiralty-cluster-source-berlin'));
  });

  it('of a namespace is bound there, whatever the namespace allows to others', async () => {
    const cluster = world();
    await establish(cluster, { namespace: 'nobody', account: { namespace: 'nobody', name: 'berlin' } });
    assert.deepEqual([cluster.names(SOURCES), boundIn(cluster)], [['nobody/berlin'], ['nobody']]);
    assert.deepEqual(cluster.names(CLUSTER_SOURCES), []);
  });

  it('can be established again without a change', async () => {
    const cluster = world();
    await establish(cluster);
    const types = [SERVICE_ACCOUNTS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS];
    const before = types.map((type) => cluster.names(type));
    await establish(cluster);
    assert.deepEqual(types.map((type) => cluster.names(type)), before);
  });

  it('is not made with an account of somebody else, whose permissions it would get', async () => {
    const cluster = world();
    cluster.put(SERVICE_ACCOUNTS, { metadata: { namespace: INSTALL, name: 'berlin' } });
    await assert.rejects(establish(cluster), { name: 'AccountTakenError', message: /isthmus-system\/berlin is there/ });
    assert.deepEqual(cluster.writes, []);
  });

  it('is not made with the account of another source', async () => {
    const cluster = world();
    const annotations = { [SOURCE_ANNOTATION]: 'rome' };
    cluster.put(SERVICE_ACCOUNTS, { metadata: { namespace: INSTALL, name: 'berlin', annotations } });
    await assert.rejects(establish(cluster), { name: 'AccountTakenError' });
  });

  for (const [type, name] of POLICIES.map(([kind, { metadata }]) => [kind, metadata.name ?? ''] as const)) {
    it(`is not made while ${type.kind} ${name} is missing: nothing would limit the source`, async () => {
      const cluster = world();
      cluster.drop(type, { name });
      await assert.rejects(establish(cluster), { reason: 'PolicyMissing', message: /run "isthmus install"/ });
      assert.deepEqual(cluster.writes, []);
    });
  }

  it('is not made where the policies may not be read: that does not say that they are there', async () => {
    const cluster = world();
    cluster.before = ({ path }) => (path.includes('admissionpolic') ? new ApiError(403, 'Forbidden', 'no') : undefined);
    await assert.rejects(establish(cluster), { status: 403 });
    assert.deepEqual(cluster.writes, []);
  });

  it('ends with the first object that is refused; a second attempt makes the rest', async () => {
    const cluster = world();
    cluster.before = ({ path, method }) => (
      method === 'PATCH' && path.includes('rolebindings') ? new ApiError(403, 'Forbidden', 'escalation') : undefined
    );
    await assert.rejects(establish(cluster), { status: 403 });
    cluster.before = () => undefined;
    await establish(cluster);
    assert.deepEqual(boundIn(cluster).length, 3);
  });

  it('consists of known kinds', () => assert.throws(
    () => identityTypeOf({ kind: 'Pod', metadata: {} }), { name: 'TypeError', message: /Pod is not part/ },
  ));
});
