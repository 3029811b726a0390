import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import {
  CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS, SOURCES, TARGETS,
  VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS,
} from '../../../../api/resource-types.ts';
import { peerClusters, type PeeringRequest } from '../../../../cli/join/peer-clusters.ts';
import { ApiError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import {
  SOURCE_OBJECT_POLICY, SOURCE_ROLE, SOURCE_TOKEN_POLICY, TARGET_SECRET_READER_ROLE,
} from '../../../../model/access/component-accounts.ts';
import { PART_OF } from '../../../../model/access/rbac-objects.ts';
import { storedIn } from '../../../support/doubles/memory-admiralty.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';

const name = (of: string, labels = {}): KubernetesObject => ({ metadata: { name: of, labels } });
const system = (uid: string): Stored => [NAMESPACES, { metadata: { name: 'kube-system', uid } }];
const POLICIES = [VALIDATING_ADMISSION_POLICIES, VALIDATING_ADMISSION_POLICY_BINDINGS].flatMap(
  (type) => [SOURCE_OBJECT_POLICY, SOURCE_TOKEN_POLICY].map((policy): Stored => [type, name(policy)]),
);

/** Two clusters with Isthmus, and the command between them. */
function world() {
  const source = new MemoryCluster(system('0123abcd-source'), [CLUSTER_ROLES, name(TARGET_SECRET_READER_ROLE)]);
  const target = new MemoryCluster(
    system('target'), [CLUSTER_ROLES, name(SOURCE_ROLE)], [NAMESPACES, name('isthmus-system')], ...POLICIES,
    [NAMESPACES, name('shop', { 'isthmus.dev/sources': 'all' })], [NAMESPACES, name('closed')],
  );
  const told: string[] = [];
  const connection = (certificateAuthority: string | undefined = 'CA') => ({
    server: new URL('https://target.example:6443/'), insecure: false, credentials: { kind: 'none' as const },
    ...(certificateAuthority !== undefined && { certificateAuthority }),
  });
  return {
    source, target, told, connection,
    peer: (more: Partial<PeeringRequest> = {}) => peerClusters({
      name: 'eu', installNamespace: 'isthmus-system',
      source: { client: source.client, connection: connection(), label: 'source cluster (s.yaml)' },
      target: { client: target.client, connection: connection(), label: 'target cluster (t.yaml)' },
      grants: { namespaces: 'OptedIn', podSecurity: 'baseline' }, ...more,
    }, { tell: (line) => told.push(line), signal: new AbortController().signal }),
  };
}

const kubeconfigIn = (cluster: MemoryCluster, at = 'isthmus-system'): string => Buffer.from(
  (cluster.find(SECRETS, 'eu-kubeconfig', at) as { readonly data?: Record<string, string> } | undefined)
    ?.data?.['config'] ?? '', 'base64',
).toString('utf8');

describe('two clusters that are peered', () => {
  it('know each other: the target by its object and a token, the source by an account', async () => {
    const { source, target, told, peer } = world();
    const peering = await peer();
    assert.deepEqual(source.names(CLUSTER_TARGETS), ['eu']);
    assert.deepEqual(target.names(CLUSTER_SOURCES), ['eu-0123abcd']);
    assert.match(kubeconfigIn(source), /token: token of isthmus-system\/eu-0123abcd/);
    assert.match(kubeconfigIn(source), /server: https:\/\/target\.example:6443\n/);
    assert.equal(peering.sourceId, '0123abcd-source');
    assert.match(told.join('\n'), /pods of the source may run in these namespaces: shop;/);
  });

  it('can be peered again: the token is renewed, the rest stays', async () => {
    const { source, target, peer } = world();
    await peer();
    const before = [source, target].map((cluster) => [CLUSTER_ROLES, SECRETS].map((type) => cluster.names(type)));
    await peer();
    assert.deepEqual(
      [source, target].map((cluster) => [CLUSTER_ROLES, SECRETS].map((type) => cluster.names(type))), before,
    );
  });

  it('are peered for one namespace by objects in it alone', async () => {
    const { source, target, peer } = world();
    for (const cluster of [source, target]) cluster.put(NAMESPACES, name('shop'));
    await peer({ namespace: 'shop' });
    assert.deepEqual([source.names(TARGETS), target.names(SOURCES)], [['shop/eu'], ['shop/eu-0123abcd']]);
    assert.deepEqual([source.names(CLUSTER_TARGETS), target.names(CLUSTER_SOURCES)], [[], []]);
    assert.match(kubeconfigIn(source, 'shop'), /namespace: shop/);
  });

  it('need nothing of Isthmus in the target when the source writes the pods', async () => {
    const { source, target, peer } = world();
    target.withoutKinds(CLUSTER_SOURCES, SOURCES);
    target.drop(NAMESPACES, { name: 'isthmus-system' });
    await peer({ delegation: 'Pod' });
    assert.deepEqual(target.names(SERVICE_ACCOUNTS), ['isthmus-system/eu-0123abcd']);
    assert.ok(target.names(NAMESPACES).includes('isthmus-system'));
    assert.match(JSON.stringify(source.find(CLUSTER_TARGETS, 'eu')), /"delegation":"Pod"/);
  });

  const refused: Record<string, readonly [
    change: (of: ReturnType<typeof world>) => Partial<PeeringRequest> | void, error: object,
  ]> = {
    'lack Isthmus in the source': [({ source }) => void source.withoutKinds(CLUSTER_TARGETS), {
      code: 'NotFound',
      message: 'The source cluster (s.yaml) does not serve the kinds of Isthmus: run "isthmus install" there first.',
    }],
    'have half of an installation in the source': [
      ({ source }) => source.drop(CLUSTER_ROLES, { name: TARGET_SECRET_READER_ROLE }),
      { code: 'NotFound', message: /source cluster \(s\.yaml\) has no ClusterRole isthmus-target-secret-reader/ },
    ],
    'lack Isthmus in the target': [({ target }) => void target.withoutKinds(CLUSTER_SOURCES), {
      code: 'NotFound', message: /target cluster \(t\.yaml\) does not serve the kinds/,
    }],
    'have another install namespace in the target': [() => ({ installNamespace: 'mine' }), {
      code: 'NotFound', message: /target cluster \(t\.yaml\) has no namespace mine: .*--install-namespace/,
    }],
    'lack the one namespace in the source': [() => ({ namespace: 'shop' }), {
      code: 'NotFound', message: 'The source cluster (s.yaml) has no namespace shop: create it first.',
    }],
    'lack the policies that limit sources': [
      ({ target }) => target.drop(VALIDATING_ADMISSION_POLICY_BINDINGS, { name: SOURCE_TOKEN_POLICY }),
      { reason: 'PolicyMissing', message: /limits sources: run "isthmus install" in the target again/ },
    ],
    "have somebody else's account under the name in the target": [
      ({ target }) => target.put(SERVICE_ACCOUNTS, { metadata: { namespace: 'isthmus-system', name: 'eu-0123abcd' } }),
      { code: 'BadInput', message: /In the target: ServiceAccount isthmus-system\/eu-0123abcd is there already/ },
    ],
    "have somebody else's target under the name in the source": [
      ({ source }) => source.put(CLUSTER_TARGETS, { metadata: { name: 'eu' } }),
      { code: 'BadInput', message: /Isthmus did not create ClusterTarget eu .*Choose another --name/ },
    ],
    'have a target without a certificate that can be checked': [({ target, connection }) => ({
      target: { client: target.client, connection: { ...connection(), insecure: true }, label: 'target' },
    }), { code: 'KubeconfigInvalid', message: /insecure-skip-tls-verify/ }],
    'have a target that is reached under another name': [({ target, connection }) => ({
      target: { client: target.client, connection: { ...connection(), serverName: 'inner' }, label: 'target' },
    }), { code: 'KubeconfigInvalid', message: /tls-server-name, which the kubeconfig for.*--target-server/ }],
    'have a target without TLS': [() => ({ targetServer: 'http://target.example' }), { name: 'AppError' }],
  };
  for (const [what, [change, error]] of Object.entries(refused)) {
    it(`are not peered when they ${what}, and nothing is written`, async () => {
      const made = world();
      const more = change(made);
      await assert.rejects(made.peer(typeof more === 'object' ? more : {}), error);
      assert.deepEqual([made.source.writes, made.target.writes], [[], []]);
    });
  }

  it('must be two', async () => {
    const { source, peer } = world();
    source.drop(NAMESPACES, { name: 'kube-system' });
    source.put(...system('target'));
    await assert.rejects(peer(), { code: 'BadInput', message: /same cluster.*spec: \{self: true\}/ });
  });

  it('that cannot be used are named, the source first', async () => {
    const { source, target, peer } = world();
    for (const cluster of [source, target]) cluster.before = () => new ApiError(401, 'Unauthorized', 'no');
    await assert.rejects(peer(), { code: 'KubeconfigInvalid', message: /^The source cluster \(s\.yaml\) cannot/ });
  });

  it('write nothing in the source when the target does not issue a token', async () => {
    const { source, target, peer } = world();
    target.before = ({ path }) => (path.endsWith('/token') ? new ApiError(403, 'Forbidden', 'no') : undefined);
    await assert.rejects(peer(), { status: 403 });
    assert.deepEqual(source.writes, []);
  });

  it('keep the install namespace of the source as its owner labelled it', async () => {
    const { source, peer } = world();
    source.put(NAMESPACES, name('isthmus-system', { team: 'platform' }));
    await peer();
    assert.deepEqual(source.find(NAMESPACES, 'isthmus-system')?.metadata.labels, { team: 'platform' });
    assert.notDeepEqual(source.find(CLUSTER_TARGETS, 'eu')?.metadata.labels, undefined);
    assert.deepEqual(source.find(CLUSTER_TARGETS, 'eu')?.metadata.labels, PART_OF);
  });

  for (const delegation of [undefined, 'Pod'] as const) {
    for (const when of ['before', 'after'] as const) {
      it(`are peered as they should be when the command ended ${when} any call, and is typed again (${
        delegation ?? 'PodChaperon'})`, async () => {
        const whole = world();
        let calls = 0;
        for (const cluster of [whole.source, whole.target]) cluster[when] = () => void (calls += 1);
        await whole.peer({ delegation });
        const expected = [whole.source, whole.target].map(storedIn);
        for (let nth = 1; nth <= calls; nth += 1) {
          const { source, target, peer } = world();
          let count = 0;
          for (const cluster of [source, target]) {
            cluster[when] = () => ((count += 1) >= nth ? new UnreachableError('reset') : undefined);
          }
          await assert.rejects(peer({ delegation }), `call ${nth} of ${calls}`);
          for (const cluster of [source, target]) cluster[when] = () => undefined;
          await peer({ delegation });
          assert.deepEqual([source, target].map(storedIn), expected, `call ${nth} of ${calls}`);
        }
      });
    }
  }
});
