import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSource, Source } from '../../../../api/kinds/cluster-source.ts';
import type { BindingObject, RoleObject } from '../../../../model/access/rbac-objects.ts';
import {
  accountManifest, identityManifests, sourceObject, toSourceIdentity, type SourceIdentity,
} from '../../../../peering/identity/source-identity.ts';

const clusterId = '0123abcd-1111-4222-8333-444455556666';
const whole: SourceIdentity =
  { name: 'c2-0123abcd', uid: 'uid-1', account: { namespace: 'isthmus-system', name: 'c2-0123abcd' }, clusterId };
const oneNamespace: SourceIdentity =
  { ...whole, namespace: 'team-a', account: { namespace: 'team-a', name: 'c2-0123abcd' } };
const objectsOf = (identity: SourceIdentity) =>
  [accountManifest(identity)!, ...identityManifests(identity, 'isthmus-system')];
const listed = (identity: SourceIdentity): string[] =>
  objectsOf(identity).map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name].filter(Boolean).join(' '));
const bindingsOf = (identity: SourceIdentity) => identityManifests(identity, 'isthmus-system').filter(
  (object): object is BindingObject => object.kind?.endsWith('RoleBinding') === true,
);

describe('the identity of a source', () => {
  it('for whole clusters is its account and what it may do', () => {
    assert.deepEqual(listed(whole), [
      'ServiceAccount isthmus-system c2-0123abcd',
      'ClusterRoleBinding admiralty-cluster-source-c2-0123abcd',
      'ClusterRoleBinding admiralty-cluster-source-c2-0123abcd-cluster-summary-viewer',
      'ClusterRole admiralty-cluster-source-c2-0123abcd-leave',
      'ClusterRoleBinding admiralty-cluster-source-c2-0123abcd-leave',
      'RoleBinding isthmus-system admiralty-cluster-source-c2-0123abcd-token-requester',
      'Role isthmus-system admiralty-cluster-source-c2-0123abcd-own-token',
      'RoleBinding isthmus-system admiralty-cluster-source-c2-0123abcd-own-token',
    ]);
  });

  it('for one namespace has its permissions there, and sees capacity only cluster-wide', () => {
    const names = listed(oneNamespace);
    assert.equal(names[0], 'ServiceAccount team-a c2-0123abcd');
    assert.equal(names[1], 'RoleBinding team-a admiralty-source-c2-0123abcd');
    // Two variable parts with dashes of their own: Admiralty's rule appends a hash (docs/admiralty-contract.md).
    assert.match(
      names[2] ?? '', /^ClusterRoleBinding admiralty-source-team-a-c2-0123abcd-cluster-summary-viewer-[0-9a-f]{10}$/,
    );
    const others = names.slice(3).map((name) => name.replace(/-[0-9a-f]{10}$/, ''));
    const source = 'admiralty-source-team-a-c2-0123abcd';
    assert.deepEqual(others, [
      `Role team-a ${source}-leave`, `RoleBinding team-a ${source}-leave`,
      `RoleBinding team-a ${source}-token-requester`,
      `Role team-a ${source}-own-token`, `RoleBinding team-a ${source}-own-token`,
    ]);
  });

  for (const [what, identity] of [['whole clusters', whole], ['one namespace', oneNamespace]] as const) {
    it(`for ${what} is bound to the account alone, but for the right to ask for tokens, which our peering needs to ` +
      'give it away', () => {
      const account = { kind: 'ServiceAccount', ...identity.account };
      const ours =
        ['isthmus-peering', 'isthmus'].map((name) => ({ kind: 'ServiceAccount', namespace: 'isthmus-system', name }));
      const bindings = bindingsOf(identity);
      assert.deepEqual(
        bindings.slice(0, 2).map(({ roleRef }) => roleRef.name), ['isthmus-source', 'isthmus-cluster-summary-viewer'],
      );
      for (const { roleRef, subjects } of bindings) {
        assert.deepEqual(subjects, roleRef.name === 'isthmus-token-requester' ? ours : [account]);
      }
    });

    it(`for ${what} may ask for tokens of its own account, write what is its cluster's and remove itself, by name`,
      () => {
      const roles = identityManifests(identity, 'isthmus-system').filter(
        (object): object is RoleObject => object.kind?.endsWith('Role') === true,
      );
      const [leave, own, token] = roles.flatMap(({ rules }) => rules);
      assert.deepEqual(leave, {
        apiGroups: ['multicluster.admiralty.io'],
        resources: [identity.namespace === undefined ? 'clustersources' : 'sources'], verbs: ['delete'],
        resourceNames: ['c2-0123abcd'],
      });
      assert.deepEqual(own, {
        apiGroups: ['isthmus.dev'], resources: ['sourceidentities'], verbs: ['own'], resourceNames: [clusterId],
      });
      assert.deepEqual(token, {
        apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'], resourceNames: ['c2-0123abcd'],
      });
    });
  }

  it('is owned by its source, as far as garbage collection honours that', () => {
    const owned = (identity: SourceIdentity) =>
      objectsOf(identity).filter(({ metadata }) => metadata.ownerReferences !== undefined).map(({ kind }) => kind);
    assert.equal(owned(whole).length, objectsOf(whole).length, 'a cluster-scoped owner may own everything');
    assert.deepEqual(
      owned(oneNamespace),
      ['ServiceAccount', 'RoleBinding', 'Role', 'RoleBinding', 'RoleBinding', 'Role', 'RoleBinding'],
      'a namespaced one only what is in its namespace',
    );
    assert.deepEqual(owned({ ...whole, uid: undefined }), []);
  });

  it('says of each part whose it is', () => {
    for (const { metadata } of objectsOf(oneNamespace)) {
      assert.equal(metadata.annotations?.['isthmus.dev/source'], 'team-a/c2-0123abcd');
    }
    for (const { metadata } of objectsOf(whole)) {
      assert.equal(metadata.annotations?.['isthmus.dev/source'], 'c2-0123abcd');
    }
  });

  it('of a user is bound with the API group that the API server stores, so that nothing is written twice', () => {
    const [permissions] = bindingsOf({ name: 's', userName: 'jane', clusterId });
    assert.deepEqual(permissions?.subjects, [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }]);
    assert.equal(accountManifest({ name: 's', userName: 'jane' }), undefined);
  });

  it('without a cluster may write what is any cluster\'s', () => {
    const roles = identityManifests({ ...whole, clusterId: undefined }, 'isthmus-system').filter(
      (object): object is RoleObject => object.kind === 'ClusterRole',
    );
    const marks = roles.flatMap(({ rules }) => rules).filter(({ resources }) => resources.includes('sourceidentities'));
    assert.deepEqual(marks, [{ apiGroups: ['isthmus.dev'], resources: ['sourceidentities'], verbs: ['own'] }]);
  });

  it('keeps two sources apart that call the target by the same name', () => {
    const names = new Set(listed(whole));
    const other = { ...whole, name: 'c2-ffffabcd', account: { namespace: 'isthmus-system', name: 'c2-ffffabcd' } };
    assert.ok(listed(other).every((name) => !names.has(name)));
  });
});

describe('a (Cluster)Source', () => {
  for (
    const [what, identity] of [
      ['cluster-scoped', whole], ['namespaced', oneNamespace], ['of a user', { name: 's', userName: 'jane' }],
    ] as const
  ) {
    it(`${what} gives back the identity it was made from`, () => {
      const object = sourceObject(identity);
      const stored = { ...object, metadata: { ...object.metadata, ...('uid' in identity && { uid: 'uid-1' }) } };
      const { namespace, name, uid, account, userName, clusterId: cluster }: SourceIdentity = identity;
      assert.deepEqual(toSourceIdentity(stored), { namespace, name, uid, account, userName, clusterId: cluster });
    });
  }

  it('as Admiralty 0.17 has it, without a cluster, is understood', () => {
    const source: Source =
      { metadata: { namespace: 'ns', name: 's' }, spec: { serviceAccountName: 'sa', userName: 'u' } };
    assert.deepEqual(toSourceIdentity(source), {
      namespace: 'ns', name: 's', uid: undefined, account: { namespace: 'ns', name: 'sa' }, userName: 'u',
      clusterId: undefined,
    });
    const clusterSource: ClusterSource =
      { metadata: { name: 's' }, spec: { serviceAccount: { namespace: 'ns', name: 'sa' } } };
    assert.deepEqual(toSourceIdentity(clusterSource).account, { namespace: 'ns', name: 'sa' });
  });
});
