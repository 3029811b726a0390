// A cluster of each registry becomes a target, on a real API server: with the owners' own definitions where their Go
// modules can be fetched, and objects as the owners' documentation shows them. Argo CD and the end of the way, a pod
// that runs there, are in discovery.test.ts.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { REGISTRY_NAMES, type RegistryChoice, type RegistryName } from '../../api/registry/registry-choice.ts';
import type { PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import {
  DECISIONS_LABEL, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../api/objects/keys.ts';
import { DECISIONS_VALUE, type ClusterDecision } from '../../api/placement/cluster-decision.ts';
import { MANAGER_LABEL, type ClusterProfile, type PlacementDecision } from '../../api/placement/cluster-inventory.ts';
import {
  CLUSTER_DECISIONS, CLUSTER_PROFILES, CLUSTER_TARGETS, NAMESPACES, PLACEMENT_DECISIONS, PLACEMENT_POLICIES, SECRETS,
  TARGET_DISCOVERIES,
} from '../../api/resource-types.ts';
import type { TargetDiscoverySpec } from '../../api/registry/target-discovery.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { environment } from '../../process/config.ts';
import {
  allowProfiles, discover, makeRegistryNamespace, startDiscoveryWorld, untilEntry, untilReady, writeSecret,
  type DiscoveryWorld,
} from '../support/worlds/discovery-world.ts';
import { startDnsZone, zoneOf, type DnsZone } from '../support/doubles/dns-zone.ts';
import { ensureRegistryDefinitions } from '../support/peers/foreign-definitions.ts';
import {
  CLUSTER_API_CLUSTERS, FLEET_CLUSTERS, installDefinition, installDefinitionFile, KUBE_FED_CLUSTERS, KUSTOMIZATIONS,
  MANAGED_CLUSTERS, MANAGED_SERVICE_ACCOUNTS,
} from '../support/peers/registry-crds.ts';
import { startSimulatedClusters, type SimulatedClusters } from '../support/doubles/simulated-clusters.ts';
import { WatchedCollection } from '../support/history/watched-collection.ts';

/** Where targets are published. */
const INVENTORY = 'inventory';
const POLLING = { forMs: 60_000, everyMs: 100 };

/** A cluster that is to be registered. */
interface Access {
  readonly kubeconfig: string;
  readonly server: string;
  /** Base64 of a PEM bundle. */
  readonly authority: string;
  readonly token: string;
}

/** Objects of a registry, with the Secrets that they name; the namespace has the name of the row. */
interface Registered {
  readonly from: RegistryChoice;
  readonly definitions?: readonly ResourceType[];
  readonly secrets: (access: Access) => Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly secretLabels?: Readonly<Record<string, string>>;
  readonly objects?: (access: Access) => readonly (readonly [type: ResourceType, object: object])[];
}

const accepted = [
  { type: 'HubAcceptedManagedCluster', status: 'True', reason: 'HubClusterAdminAccepted' },
  { type: 'ManagedClusterJoined', status: 'True', reason: 'ManagedClusterJoined' },
  { type: 'ManagedClusterConditionAvailable', status: 'True', reason: 'ManagedClusterAvailable' },
];

/** By the name of the cluster, which is that of the namespace. */
const ROWS: Readonly<Record<string, Registered>> = {
  'of-secrets': {
    from: { kubeconfigSecrets: {} }, secretLabels: { 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true' },
    secrets: ({ kubeconfig }) => ({ 'of-secrets': { kubeconfig } }),
  },
  'of-capi': {
    from: { clusterAPI: {} }, secretLabels: { 'cluster.x-k8s.io/cluster-name': 'of-capi' },
    secrets: ({ kubeconfig }) => ({ 'of-capi-kubeconfig': { value: kubeconfig } }),
    objects: () => [[CLUSTER_API_CLUSTERS, {
      spec: {
        clusterNetwork: { pods: { cidrBlocks: ['192.168.0.0/16'] }, services: { cidrBlocks: ['10.128.0.0/12'] } },
        controlPlaneRef: { apiGroup: 'controlplane.cluster.x-k8s.io', kind: 'KubeadmControlPlane', name: 'of-capi' },
        infrastructureRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'DockerCluster', name: 'of-capi' },
      },
      status: { phase: 'Provisioned', initialization: { controlPlaneInitialized: true } },
    }]],
  },
  'of-flux': {
    from: { flux: {} }, secrets: ({ kubeconfig }) => ({ 'of-flux-kubeconfig': { value: kubeconfig } }),
    objects: () => [[KUSTOMIZATIONS, {
      spec: {
        interval: '10m', path: './apps', prune: true, sourceRef: { kind: 'GitRepository', name: 'apps' },
        kubeConfig: { secretRef: { name: 'of-flux-kubeconfig' } },
      },
    }]],
  },
  'of-profile': {
    from: { clusterProfile: {} },
    secrets: ({ token }) => ({ 'of-profile': { token } }),
    objects: ({ server, authority }) => [[CLUSTER_PROFILES, {
      spec: { displayName: 'of-profile', clusterManager: { name: 'manager' } },
      status: {
        conditions: [{
          type: 'ControlPlaneHealthy', status: 'True', reason: 'Healthy', message: '',
          lastTransitionTime: '2026-11-25T00:00:00Z',
        }],
        accessProviders: [{ name: 'secretreader', cluster: { server, 'certificate-authority-data': authority } }],
      },
    }]],
  },
  'of-fleet': {
    from: { fleet: {} }, definitions: [FLEET_CLUSTERS],
    secrets: ({ kubeconfig }) => ({ 'of-fleet-kubeconfig': { value: kubeconfig, apiServerURL: 'https://manager' } }),
    objects: () => [[FLEET_CLUSTERS, { spec: { kubeConfigSecret: 'of-fleet-kubeconfig' } }]],
  },
  'of-kubefed': {
    from: { kubeFed: {} }, definitions: [KUBE_FED_CLUSTERS], secrets: ({ token }) => ({ 'of-kubefed-x': { token } }),
    objects: ({ server, authority }) => [[KUBE_FED_CLUSTERS, {
      spec: { apiEndpoint: server, caBundle: authority, secretRef: { name: 'of-kubefed-x' } },
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'ClusterReady', message: '/healthz is ok' }] },
    }]],
  },
  'of-ocm': {
    from: { ocm: { managedServiceAccount: 'isthmus' } }, definitions: [MANAGED_CLUSTERS, MANAGED_SERVICE_ACCOUNTS],
    secrets: ({ token, authority }) => ({ isthmus: { token, 'ca.crt': Buffer.from(authority, 'base64').toString() } }),
    objects: ({ server, authority }) => [
      [MANAGED_CLUSTERS, {
        spec: { hubAcceptsClient: true, managedClusterClientConfigs: [{ url: server, caBundle: authority }] },
        status: { conditions: accepted },
      }],
      [MANAGED_SERVICE_ACCOUNTS, {
        metadata: { name: 'isthmus' }, spec: { rotation: {} },
        status: { tokenSecretRef: { name: 'isthmus', lastRefreshTimestamp: '2026-11-25T00:00:00Z' } },
      }],
    ],
  },
};

let world: DiscoveryWorld;
let clusters: SimulatedClusters;
let zone: DnsZone;
before(async () => {
  world = await startDiscoveryWorld(1, { flags: ['--cluster-profiles', INVENTORY] });
  clusters = await startSimulatedClusters(Object.keys(ROWS).length + 1, 2); // one node alone may be tainted
  zone = await startDnsZone();
  for (const file of await ensureRegistryDefinitions(environment(), world.signal)) {
    await installDefinitionFile(world.source, file);
  }
});
after(async () => {
  clusters?.stop();
  zone?.stop();
  await world?.stop();
});

function accessOf(kubeconfig: string): Access {
  const { clusters: [cluster], users: [user] } = parse(kubeconfig) as {
    readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
    readonly users: readonly { readonly user: { readonly token: string } }[];
  };
  const { server = '', 'certificate-authority-data': authority = '' } = cluster?.cluster ?? {};
  return { kubeconfig, server, authority, token: user?.user.token ?? '' };
}

/** The owners' own definitions, which have a path for the status. */
const WITH_STATUS: ReadonlySet<ResourceType> = new Set([CLUSTER_API_CLUSTERS, CLUSTER_PROFILES]);

/** A kind is served a moment after it was defined; a status that has a path of its own is written there. */
async function write(type: ResourceType, object: KubernetesObject): Promise<void> {
  const create = () => world.source.create(type, object).catch(() => undefined);
  assert.ok(await pollUntil(create, POLLING, world.signal), `${type.plural} are not served`);
  const { namespace, name = '' } = object.metadata;
  const { status } = object as { readonly status?: object };
  if (status === undefined || !WITH_STATUS.has(type)) return;
  const at = { ...(namespace !== undefined && { namespace }), name, subresource: 'status' } as const;
  await world.source.patch(type, at, { patchType: 'merge', patch: { status } });
}

async function register(name: string, index: number): Promise<void> {
  const { from, definitions = [], secrets, secretLabels = {}, objects } = ROWS[name]!;
  const access = accessOf(clusters.kubeconfigs[index]!);
  await makeRegistryNamespace(world, name);
  for (const type of definitions) await installDefinition(world.source, type);
  await discover(world, name, { from, ...(from.ocm === undefined && { namespaces: [name] }) });
  for (const [secret, texts] of Object.entries(secrets(access))) {
    await writeSecret(world, { namespace: name, name: secret, labels: secretLabels }, texts);
  }
  for (const [type, object] of objects?.(access) ?? []) {
    const metadata = { name, ...(type.namespaced && { namespace: name }), ...(object as KubernetesObject).metadata };
    await write(type, { ...object, metadata });
  }
}

describe('a cluster that is registered', () => {
  it('is tried in every registry but Argo CD, and DNS below', () => {
    const tried = new Set(Object.values(ROWS).flatMap(({ from }) => Object.keys(from)));
    assert.deepEqual(REGISTRY_NAMES.filter((name: RegistryName) => !tried.has(name)), ['argoCD', 'dns']);
  });

  for (const [index, name] of Object.keys(ROWS).entries()) {
    it(`${name.replace('-', ' ')} becomes a target`, async () => {
      await register(name, index);
      const { target } = await untilEntry(world, name, 'it is a target', ({ state }) => state === 'Target');
      assert.equal(target, name);
      await untilReady(world, name);
    });
  }
});

describe('a cluster that DNS announces', () => {
  const NAME = 'of-dns';
  const discoverIt = (more: Partial<TargetDiscoverySpec> = {}) => discover(world, NAME, {
    from: { dns: { domain: 'clusters.example', server: zone.address } }, namespaces: [NAME], policy: 'Propose', ...more,
  });

  it('is not used before it is approved, although all that is needed is there', async () => {
    const { server, authority, token } = accessOf(clusters.kubeconfigs.at(-1)!);
    const { hostname: target, port } = new URL(server);
    const announced = { instance: NAME, target, port: Number(port), texts: ['id=announced'] };
    zone.answerBy(zoneOf('clusters.example', [announced]));
    await makeRegistryNamespace(world, NAME);
    const certificate = Buffer.from(authority, 'base64').toString('utf8');
    await writeSecret(world, { namespace: NAME, name: NAME }, { token, 'ca.crt': certificate });
    await discoverIt();
    const { message = '' } = await untilEntry(world, NAME, 'it is proposed', ({ state }) => state === 'Proposed');
    assert.match(message, new RegExp(
      `^DNS, which is not authenticated, announces it at ${target}:${port}, as cluster announced\\. `,
    ));
    assert.equal(world.clusterTargets.get(NAME), undefined);
  });

  it('becomes a target once it is', async () => {
    await discoverIt({ approved: [NAME] });
    await untilReady(world, NAME);
    assert.notEqual(world.clusterTargets.get(NAME)?.status?.clusterID, 'announced');
  });

  it('needs a policy that asks', async () => {
    for (const wrong of [{ policy: 'Create' }, { namespaces: ['*'] }, { namespaces: ['a', 'b'] }] as const) {
      await assert.rejects(discoverIt(wrong), /not trusted by itself/);
    }
  });
});

describe('targets that are published', () => {
  const named = (name: string) => `${INVENTORY}/${name}`;
  const another = (name: string): ClusterProfile => ({
    metadata: { namespace: INVENTORY, name }, spec: { clusterManager: { name: 'fleet' } },
  });
  let profiles: WatchedCollection<ClusterProfile>;
  let decisions: WatchedCollection<PlacementDecision>;
  before(async () => {
    const labels = { [DECISIONS_LABEL]: DECISIONS_VALUE };
    await world.source.create(NAMESPACES, { metadata: { name: INVENTORY, labels } });
    await world.source.create(CLUSTER_PROFILES, another('of-flux'));
    profiles = await new WatchedCollection(world.source, CLUSTER_PROFILES).start(world.signal);
    decisions = await new WatchedCollection(world.source, PLACEMENT_DECISIONS).start(world.signal);
    await allowProfiles(world, INVENTORY);
  });

  it('have a ClusterProfile each, which leads to the cluster by its Secret', async () => {
    const others = Object.keys(ROWS).filter((name) => name !== 'of-flux');
    await profiles.until('all are healthy', () => others.every((name) => {
      const { conditions, accessProviders = [] } = profiles.get(named(name))?.status ?? {};
      return findCondition(conditions, 'ControlPlaneHealthy')?.status === 'True' && accessProviders.length === 1;
    }));
    for (const name of others) {
      const status = profiles.get(named(name))?.status;
      const { clusterID } = world.clusterTargets.get(name)?.status ?? {};
      assert.deepEqual(status?.properties, [{ name: 'cluster.clusterset.k8s.io', value: clusterID }]);
      const [provider] = status?.accessProviders ?? [];
      assert.ok(provider !== undefined);
      const { server, extensions: [extension] } = provider.cluster as ProfiledCluster;
      const { namespace, name: secretName, key } = extension!.extension;
      const secret = await world.source.get(SECRETS, { namespace, name: secretName });
      const kubeconfig = Buffer.from(secret.data?.[key] ?? '', 'base64').toString();
      assert.equal(accessOf(kubeconfig).server, server);
    }
  });

  it('have no profile where somebody else has one of their name, which stays as it is', async () => {
    assert.equal(profiles.get(named('of-flux'))?.spec.clusterManager.name, 'fleet');
    assert.deepEqual(
      profiles.history.filter(({ key }) => key === named('of-flux')).map(({ after }) => after?.status), [undefined],
    );
    await world.source.delete(CLUSTER_PROFILES, { namespace: INVENTORY, name: 'of-flux' });
    await profiles.until('ours is made', () => profiles.get(named('of-flux'))?.spec.clusterManager.name === 'isthmus');
  });

  it('are put right when somebody changes them, and get the labels of their targets', async () => {
    const at = { namespace: INVENTORY, name: 'of-capi' };
    const label = (given: object) => world.source.patch(
      CLUSTER_TARGETS, { name: 'of-capi' }, { patchType: 'merge', patch: { metadata: { labels: given } } },
    );
    const labelsOf = () => profiles.get(named('of-capi'))?.metadata.labels ?? {};
    await label({ region: 'eu' });
    await profiles.until('it has the label', () => labelsOf()['region'] === 'eu');
    await world.source.patch(
      CLUSTER_PROFILES, { ...at, subresource: 'status' }, { patchType: 'merge', patch: { status: { properties: [] } } },
    );
    await profiles.until(
      'it has properties again', () => profiles.get(named('of-capi'))?.status?.properties?.length === 1,
    );
    await label({ region: null });
    await profiles.until('the label is gone', () => !('region' in labelsOf()) && MANAGER_LABEL in labelsOf());
  });

  it('are in PlacementDecisions, beside those of others', async () => {
    const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
    await world.source.create(NAMESPACES, { metadata: { name: 'shop', labels } });
    const metadata = { namespace: INVENTORY, name: 'others-0' };
    const theirs: PlacementDecision = { metadata, decisions: [], schedulerName: 'other' };
    await world.source.create(PLACEMENT_DECISIONS, theirs);
    for (const name of ['web', 'others']) {
      const decision: ClusterDecision = { metadata: { namespace: INVENTORY, name }, spec: { namespace: 'shop' } };
      await world.source.create(CLUSTER_DECISIONS, decision);
    }
    const clustersOf = (name: string) =>
      decisions.get(named(name))?.decisions.map(({ clusterProfileRef }) => clusterProfileRef.name);
    const all = [...Object.keys(ROWS), 'of-dns'].toSorted().join();
    await decisions.until('it names all', () => clustersOf('web-0')?.join() === all);
    assert.deepEqual([clustersOf('others-0'), decisions.get(named('others-0'))?.schedulerName], [[], 'other']);
    const spec = { require: { matchLabels: { no: 'where' } } };
    const policy: PlacementPolicy = { metadata: { namespace: 'shop', name: 'none' }, spec };
    await world.source.create(PLACEMENT_POLICIES, policy);
    await decisions.until('it names none', () => clustersOf('web-0')?.length === 0);
    await world.source.delete(CLUSTER_DECISIONS, { namespace: INVENTORY, name: 'web' });
    await decisions.until('it goes with its decision', () => decisions.get(named('web-0')) === undefined);
  });

  it('go with their targets', async () => {
    await world.source.delete(TARGET_DISCOVERIES, { name: 'of-fleet' });
    await world.discoveries.until(
      'it is followed no more', (all) => all.every(({ metadata }) => metadata.name !== 'of-fleet'),
    );
    await world.source.delete(CLUSTER_TARGETS, { name: 'of-fleet' });
    await profiles.until('its profile is gone', () => profiles.get(named('of-fleet')) === undefined);
    assert.ok(profiles.get(named('of-secrets')));
  });
});

/** What an access provider says of a cluster. */
interface ProfiledCluster {
  readonly server: string;
  readonly extensions: readonly {
    readonly extension: { readonly namespace: string; readonly name: string; readonly key: string }
  }[];
}
