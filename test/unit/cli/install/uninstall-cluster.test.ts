import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import {
  CHAPERON_FINALIZER, DELEGATE_FINALIZER, DRAIN_FINALIZER, HAS_FINALIZER_LABEL, PROVIDER_KEY, PROVIDER_VALUE,
  PROXY_SCHEDULER,
} from '../../../../api/objects/keys.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, CLUSTER_TARGETS, CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS,
  DEPLOYMENTS,
  MUTATING_WEBHOOK_CONFIGURATIONS, NAMESPACES, NODES, POD_CHAPERONS, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES, SOURCES,
  TARGETS,
} from '../../../../api/resource-types.ts';
import { typeOf } from '../../../../cli/clusters/apply-objects.ts';
import { ensureNamespaces } from '../../../../cli/install/install-namespace.ts';
import { keepWebhookUrl, moveWebhooks } from '../../../../cli/install/webhook-address.ts';
import { uninstallFrom, type Uninstallation } from '../../../../cli/install/uninstall-cluster.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { installManifests, installNamespaceManifest } from '../../../../manifests/install.ts';
import {
  webhookConfiguration, WEBHOOK_CONFIGURATION_NAME, WEBHOOK_SERVICE,
} from '../../../../manifests/objects/webhook-configuration.ts';
import { PART_OF } from '../../../../model/access/rbac-objects.ts';
import { aPod, withFinalizers } from '../../../support/objects/builders.ts';
import { STATEFUL_SETS } from '../../../support/objects/resource-types.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const NAMESPACE = 'isthmus-system';
const KEPT: readonly string[] = [
  'CustomResourceDefinition', 'ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding', 'Namespace',
];
const ours = (name: string, namespace?: string): KubernetesObject =>
  ({ metadata: { ...(namespace !== undefined && { namespace }), name, labels: PART_OF } });
const theirs = (name: string, namespace?: string): KubernetesObject =>
  ({ metadata: { ...(namespace !== undefined && { namespace }), name } });

const owned = (name: string, namespace: string): KubernetesObject =>
  ({ metadata: { namespace, name, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u' }] } });
const RELEASES: ResourceType = {
  group: 'helm.toolkit.fluxcd.io', version: 'v2', plural: 'helmreleases', kind: 'HelmRelease', namespaced: true,
};

/** A cluster as "isthmus install" leaves it. */
function installed(t: TestContext) {
  virtualWaits(t);
  const manifests = installManifests({ installNamespace: NAMESPACE });
  const cluster = new MemoryCluster(...manifests.map((object) => [typeOf(object), object] as const));
  const told: string[] = [];
  const progress = { tell: (line: string) => told.push(line), signal: new AbortController().signal };
  const left = () => [...new Set(manifests.filter(({ kind, metadata: { name = '', namespace }, ...object }) =>
    cluster.find(typeOf({ kind, metadata: { name }, ...object } as KubernetesObject), name, namespace) !== undefined)
    .map(({ kind }) => kind ?? ''))];
  const uninstall = (more: Partial<Uninstallation> = {}) => uninstallFrom(
    { client: cluster.client, installNamespace: NAMESPACE, purges: false, isForced: false, ...more }, progress,
  );
  return { cluster, told, left, uninstall };
}

describe('a cluster from which Isthmus is uninstalled', () => {
  it('keeps the kinds with their objects, the namespace and the policies that limit sources', async (t) => {
    const { left, uninstall } = installed(t);
    await uninstall();
    assert.deepEqual(left().filter((kind) => !KEPT.includes(kind)), []);
    assert.ok(left().includes('CustomResourceDefinition') && left().includes('Namespace'));
  });

  it('keeps nothing when it is purged', async (t) => {
    const { left, uninstall } = installed(t);
    await uninstall({ purges: true });
    assert.deepEqual(left(), []);
  });

  it('first loses the webhooks: nobody may wait for one that has gone', async (t) => {
    const { cluster, uninstall } = installed(t);
    await uninstall({ purges: true });
    assert.match(cluster.writes[0] ?? '', /mutatingwebhookconfigurations/);
    assert.match(cluster.writes[1] ?? '', /validatingwebhookconfigurations/);
  });

  for (const writes of [1, 8, 20, 40]) {
    it(`can be purged again when the command was killed after write ${writes}`, async (t) => {
      const { cluster, left, uninstall } = installed(t);
      cluster.before = () => (cluster.writes.length >= writes ? new Error('killed') : undefined);
      await assert.rejects(uninstall({ purges: true }), /killed/);
      cluster.before = () => undefined;
      await uninstall({ purges: true });
      assert.deepEqual(left(), []);
    });
  }

  it('keeps what others have: roles, Services, accounts, nodes', async (t) => {
    const { cluster, uninstall } = installed(t);
    const others = [
      [CLUSTER_ROLES, theirs('view')], [SERVICES, theirs('web', 'shop')], [SERVICE_ACCOUNTS, theirs('default', 'shop')],
      [NODES, theirs('node-1')], [CUSTOM_RESOURCE_DEFINITIONS, theirs('issuers.cert-manager.io')],
    ] as const;
    for (const [type, object] of others) cluster.put(type, object);
    cluster.put(NODES, { metadata: { name: 'admiralty-eu', labels: { [PROVIDER_KEY]: PROVIDER_VALUE } } });
    await uninstall({ purges: true });
    assert.deepEqual(others.map(([type]) => cluster.names(type).length), [1, 1, 1, 1, 1]);
  });

  it("keeps Admiralty's definitions that it has only taken over by name", async (t) => {
    const { cluster, told, uninstall } = installed(t);
    const name = 'clustertargets.multicluster.admiralty.io';
    cluster.put(CUSTOM_RESOURCE_DEFINITIONS, theirs(name));
    await uninstall({ purges: true });
    assert.deepEqual(cluster.names(CUSTOM_RESOURCE_DEFINITIONS), [name]);
    assert.ok(told.includes(`kept CustomResourceDefinition ${name}: not created by Isthmus`));
  });

  type Content = readonly [what: string, object: Stored, stays: boolean];
  const content: readonly Content[] = [
    ['a Secret of a user', [SECRETS, theirs('password', NAMESPACE)], true],
    ['a Deployment of a user', [DEPLOYMENTS, theirs('proxy', NAMESPACE)], true],
    ['a StatefulSet of a user', [STATEFUL_SETS, theirs('database', NAMESPACE)], true],
    ['an object of a kind that only its owner knows', [RELEASES, theirs('shop', NAMESPACE)], true],
    ['an object that goes with another one', [SECRETS, owned('token', NAMESPACE)], false],
    ["Kubernetes' CA bundle", [CONFIG_MAPS, theirs('kube-root-ca.crt', NAMESPACE)], false],
    ["Kubernetes' ServiceAccount", [SERVICE_ACCOUNTS, theirs('default', NAMESPACE)], false],
    ['what a component wrote', [CONFIG_MAPS, theirs('isthmus-left-behind-eu', NAMESPACE)], false],
  ];
  for (const [what, [type, object], stays] of content) {
    it(`${stays ? 'keeps' : 'loses'} its install namespace with ${what} in it`, async (t) => {
      const { cluster, told, uninstall } = installed(t);
      cluster.put(type, object);
      await uninstall({ purges: true });
      assert.equal(cluster.names(NAMESPACES).includes(NAMESPACE), stays);
      assert.equal(told.some((line) => line.startsWith(`kept Namespace ${NAMESPACE}: Isthmus did not create`)), stays);
    });
  }

  it('keeps an install namespace that a user had made, empty or not', async (t) => {
    const { cluster, uninstall } = installed(t);
    cluster.put(NAMESPACES, theirs(NAMESPACE));
    await uninstall({ purges: true });
    assert.ok(cluster.names(NAMESPACES).includes(NAMESPACE));
  });

  const uses: Record<string, readonly [type: ResourceType, object: KubernetesObject, says: RegExp]> = {
    'an elected pod': [PODS, { ...aPod(withFinalizers(DELEGATE_FINALIZER)), metadata: {
      ...aPod(withFinalizers(DELEGATE_FINALIZER)).metadata, labels: { [HAS_FINALIZER_LABEL]: 'true' },
    } }, /1 elected pod would stay Terminating .*team-a\/web/],
    'a delegate of another cluster': [POD_CHAPERONS, theirs('web', 'shop'), /1 delegate of other/],
    'a target': [CLUSTER_TARGETS, theirs('eu'), /run "isthmus unpeer eu"/],
    'a target of a namespace': [TARGETS, theirs('eu', 'shop'), /run "isthmus unpeer shop\/eu"/],
    'a source': [CLUSTER_SOURCES, theirs('berlin'), /ClusterSource berlin may send pods here/],
    'a source of a namespace': [SOURCES, theirs('berlin', 'shop'), /Source shop\/berlin may send pods/],
  };
  for (const [what, [type, object, says]] of Object.entries(uses)) {
    it(`is left as it is while it has ${what}, unless by force`, async (t) => {
      const { cluster, left, uninstall } = installed(t);
      cluster.put(type, object);
      await assert.rejects(uninstall(), { code: 'StillInUse', message: says });
      assert.deepEqual(cluster.writes, []);
      await uninstall({ isForced: true });
      assert.deepEqual(left().filter((kind) => !KEPT.includes(kind)), []);
    });
  }

  it('releases by force what nobody else would: our finalizers, and no others', async (t) => {
    const { cluster, told, uninstall } = installed(t);
    const finalizers = [CHAPERON_FINALIZER, 'a/b'];
    cluster.put(POD_CHAPERONS, { metadata: { namespace: 'shop', name: 'web', finalizers } });
    cluster.put(CLUSTER_TARGETS, { metadata: { name: 'eu', finalizers: [DRAIN_FINALIZER] } });
    await uninstall({ isForced: true });
    assert.deepEqual(cluster.find(POD_CHAPERONS, 'web', 'shop')?.metadata.finalizers, ['a/b']);
    assert.equal(cluster.find(CLUSTER_TARGETS, 'eu')?.metadata.finalizers, undefined);
    assert.ok(told.includes('released PodChaperon shop/web') && told.includes('released ClusterTarget eu'));
  });

  it('releases targets that drain once no controller can hold them again', async (t) => {
    const { cluster, uninstall } = installed(t);
    const target = { metadata: { name: 'eu', finalizers: [DRAIN_FINALIZER] } };
    cluster.put(CLUSTER_TARGETS, target);
    cluster.before = () => {
      const mayWrite = cluster.names(CLUSTER_ROLE_BINDINGS).includes('isthmus-virtual-node');
      const isHeld = cluster.find(CLUSTER_TARGETS, 'eu')?.metadata.finalizers !== undefined;
      if (mayWrite && !isHeld) cluster.put(CLUSTER_TARGETS, target);
      return undefined;
    };
    await uninstall({ isForced: true });
    assert.equal(cluster.find(CLUSTER_TARGETS, 'eu')?.metadata.finalizers, undefined);
  });

  it('releases an elected pod by force whose user has removed the label', async (t) => {
    const { cluster, uninstall } = installed(t);
    const { metadata, spec, ...pod } = aPod(withFinalizers(DELEGATE_FINALIZER));
    cluster.put(PODS, { ...pod, metadata, spec: { ...spec, schedulerName: PROXY_SCHEDULER } } as KubernetesObject);
    await uninstall({ isForced: true });
    const left = cluster.find(PODS, metadata.name ?? '', metadata.namespace);
    assert.equal(left?.metadata.finalizers, undefined);
  });

  it('is not touched when the install namespace is mistyped', async (t) => {
    const { cluster, uninstall } = installed(t);
    await assert.rejects(uninstall({ installNamespace: 'isthmus' }), {
      code: 'NotFound', message: /not installed in namespace isthmus, but in isthmus-system: .*Nothing was changed/,
    });
    assert.deepEqual(cluster.writes, []);
  });

  it('is not concluded to be unused from lists that are forbidden', async (t) => {
    const { cluster, uninstall } = installed(t);
    cluster.before = ({ path }) => (path.endsWith('/podchaperons') ? new ApiError(403, 'Forbidden', 'no') : undefined);
    await assert.rejects(uninstall(), { status: 403 });
    assert.deepEqual(cluster.writes, []);
  });

  it('whose definitions do not go is told what to look at', async (t) => {
    const { cluster, uninstall } = installed(t);
    const name = 'targets.multicluster.admiralty.io';
    const { metadata } = ours(name);
    cluster.put(CUSTOM_RESOURCE_DEFINITIONS, { metadata: { ...metadata, finalizers: ['customresourcecleanup'] } });
    await assert.rejects(uninstall({ purges: true }), { code: 'Timeout', message: new RegExp(`${name} has not gone`) });
  });

  it('without any kinds of Isthmus has none of their objects', async (t) => {
    const { cluster, uninstall } = installed(t);
    cluster.withoutKinds(POD_CHAPERONS, TARGETS, CLUSTER_TARGETS, SOURCES, CLUSTER_SOURCES);
    const unserved = new ApiError(404, '', 'not served');
    cluster.before = ({ path }) => (path.includes('validatingadmission') ? unserved : undefined);
    await uninstall({ purges: true, isForced: true });
    assert.deepEqual(cluster.names(SERVICE_ACCOUNTS), []);
  });
});

describe('namespaces of an installation', () => {
  it('that are there keep their labels, and are told of', async () => {
    const cluster = new MemoryCluster([NAMESPACES, theirs(NAMESPACE)]);
    const told: string[] = [];
    const manifests = [installNamespaceManifest(NAMESPACE), installNamespaceManifest(`${NAMESPACE}-keys`)];
    await ensureNamespaces(cluster.client, manifests, 'me', {
      tell: (line) => told.push(line), signal: new AbortController().signal,
    });
    assert.deepEqual(told, [`applied Namespace ${NAMESPACE}-keys`, `kept Namespace ${NAMESPACE} as it is`]);
    assert.equal(cluster.find(NAMESPACES, NAMESPACE)?.metadata.labels, undefined);
  });
});

describe('the address of a webhook when Isthmus is installed again', () => {
  const URL_OPTIONS = { installNamespace: NAMESPACE, webhookUrl: 'https://webhook.example/mutate' };
  const SERVICE_OPTIONS = { installNamespace: NAMESPACE };
  const told: string[] = [];
  const progress = { tell: (line: string) => told.push(line), signal: new AbortController().signal };
  const at = (options: typeof SERVICE_OPTIONS) =>
    new MemoryCluster([MUTATING_WEBHOOK_CONFIGURATIONS, webhookConfiguration(options)]);
  type Webhooks = readonly { readonly clientConfig: { readonly url?: string; readonly caBundle?: string } }[];
  const clientConfigs = (cluster: MemoryCluster) => {
    const { webhooks } = cluster.find(MUTATING_WEBHOOK_CONFIGURATIONS, WEBHOOK_CONFIGURATION_NAME)!;
    return (webhooks as Webhooks).map(({ clientConfig }) => clientConfig);
  };

  it('stays at its URL when none is given and no Service is there', async () => {
    const kept = await keepWebhookUrl(at(URL_OPTIONS).client, SERVICE_OPTIONS, progress);
    assert.equal(kept.webhookUrl, URL_OPTIONS.webhookUrl);
    assert.match(told.join('\n'), /the webhook stays at its URL/);
  });
  it('moves to the Service when there is one', async () => {
    const cluster = at(URL_OPTIONS);
    cluster.put(SERVICES, theirs(WEBHOOK_SERVICE, NAMESPACE));
    assert.deepEqual(await keepWebhookUrl(cluster.client, SERVICE_OPTIONS, progress), SERVICE_OPTIONS);
  });
  it('is the one that is given, whatever is there; and the Service where nothing is', async () => {
    const other = { ...URL_OPTIONS, webhookUrl: 'https://other.example/mutate' };
    assert.deepEqual(await keepWebhookUrl(at(URL_OPTIONS).client, other, progress), other);
    assert.deepEqual(await keepWebhookUrl(new MemoryCluster().client, SERVICE_OPTIONS, progress), SERVICE_OPTIONS);
  });

  it('moves with the CA bundle that the process wrote, which an apply would not do', async () => {
    const cluster = at(SERVICE_OPTIONS);
    const { webhooks = [], ...rest } = webhookConfiguration(SERVICE_OPTIONS);
    cluster.put(MUTATING_WEBHOOK_CONFIGURATIONS, { ...rest, webhooks: webhooks.map((webhook) => ({
      ...webhook, clientConfig: { ...webhook.clientConfig, caBundle: 'Q0E=' },
    })) } as KubernetesObject);
    await moveWebhooks(cluster.client, URL_OPTIONS, progress.signal);
    for (const { url, caBundle, ...others } of clientConfigs(cluster)) {
      assert.deepEqual([new URL(url ?? '').host, caBundle, others], ['webhook.example', 'Q0E=', {}]);
    }
  });
  it('is not written when it moves from URL to URL, or not at all: an apply does that', async () => {
    for (const [before, options] of [[URL_OPTIONS, URL_OPTIONS], [SERVICE_OPTIONS, SERVICE_OPTIONS]] as const) {
      const cluster = at(before);
      await moveWebhooks(cluster.client, options, progress.signal);
      assert.deepEqual(cluster.writes, []);
    }
  });
});
