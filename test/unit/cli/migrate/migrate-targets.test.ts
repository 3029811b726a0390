import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requireSameClusters, secretOf } from '../../../../cli/migrate/migrate-targets.ts';
import { migrationTarget, type NamedTarget } from '../../../../cli/migrate/migration.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';

describe('the kubeconfig Secret of a target of Admiralty', () => {
  it('is in the namespace of a Target, and in the one that a ClusterTarget says', () => {
    assert.deepEqual(
      secretOf(
        { metadata: { namespace: 'team', name: 'own' }, spec: { kubeconfigSecret: { name: 'k' } } }, 'isthmus-system',
      ),
      { namespace: 'team', name: 'k' },
    );
    assert.deepEqual(
      secretOf(
        { metadata: { name: 'far' }, spec: { kubeconfigSecret: { name: 'k', namespace: 'admiralty' } } },
        'isthmus-system',
      ),
      { namespace: 'admiralty', name: 'k' },
    );
  });

  it('is in the install namespace where a ClusterTarget says none, and nowhere for the cluster itself', () => {
    assert.deepEqual(
      secretOf({ metadata: { name: 'far' }, spec: { kubeconfigSecret: { name: 'k' } } }, 'isthmus-system'),
      { namespace: 'isthmus-system', name: 'k' },
    );
    assert.equal(secretOf({ metadata: { name: 'here' }, spec: { self: true } }, 'isthmus-system'), undefined);
  });
});

describe("administrators' kubeconfigs of targets", () => {
  const token = (uid: string): string => `x.${Buffer.from(JSON.stringify(
    { 'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'source', uid } } },
  )).toString('base64url')}.s`;
  const kubeconfig = (user: object): string =>
    Buffer.from(JSON.stringify({ users: [{ name: 'u', user }] })).toString('base64');
  const named = (name: string): NamedTarget => ({
    ref: { kind: 'ClusterTarget', name }, object: { metadata: { name }, spec: { kubeconfigSecret: { name } } },
  });
  /** A cluster with these objects, by name; anything else is not there. */
  const cluster = (objects: Readonly<Record<string, object>>): ClusterClient => ({
    get: (_type: unknown, { name }: { readonly name: string }) =>
      objects[name] === undefined ? Promise.reject(new ApiError(404, 'NotFound', 'gone'))
        : Promise.resolve(objects[name]),
  }) as unknown as ClusterClient;
  const account = (uid: string) => cluster({ source: { metadata: { name: 'source', uid } } });
  const source = cluster({
    eu: { data: { config: kubeconfig({ token: token('u-eu') }) } },
    us: { data: { config: kubeconfig({ token: token('u-us') }) } },
    other: { data: { config: kubeconfig({ 'client-certificate-data': 'x' }) } },
  });
  const check = (files: Readonly<Record<string, ClusterClient>>): Promise<void> => requireSameClusters({
    client: source, installNamespace: 'isthmus-system', signal: new AbortController().signal,
    targets: Object.entries(files).map(
      ([name, client]) => migrationTarget({ kind: 'ClusterTarget', name }, client, false),
    ),
  }, Object.keys(files).map(named));

  it('lead to the cluster that has the account of the source', async () => {
    await check({ eu: account('u-eu'), us: account('u-us') });
  });

  it('are refused when two are swapped, or where the account is not there', async () => {
    await assert.rejects(
      check({ eu: account('u-us'), us: account('u-eu') }),
      { code: 'BadInput', message: /given for eu points to another cluster.*ServiceAccount default\/source.*swapped/ },
    );
    await assert.rejects(check({ eu: account('u-eu'), us: cluster({}) }), { message: /given for us points/ });
  });

  it('are believed where nothing can be compared', async () => {
    await check({ other: cluster({}), 'without-secret': cluster({}) });
  });
});
