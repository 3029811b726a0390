// A cluster of each registry becomes a target, on a real API server: with the owners' own definitions where their Go
// modules can be fetched, and objects as the owners' documentation shows them. Argo CD and the end of the way, a pod
// that runs there, are in discovery.test.ts.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { REGISTRY_NAMES, type RegistryChoice, type RegistryName } from '../../api/registry/registry-choice.ts';
import { lookFor } from '../../cli/clusters/apply-objects.ts';
import { environment } from '../../process/config.ts';
import {
  discover, makeRegistryNamespace, startDiscoveryWorld, untilEntry, untilReady, writeSecret, type DiscoveryWorld,
} from '../support/discovery-world.ts';
import { ensureRegistryDefinitions } from '../support/foreign-definitions.ts';
import {
  CLUSTER_API_CLUSTERS, CLUSTER_PROFILES, FLEET_CLUSTERS, installDefinition, installDefinitionFile, KUBE_FED_CLUSTERS,
  KUSTOMIZATIONS, MANAGED_CLUSTERS, MANAGED_SERVICE_ACCOUNTS,
} from '../support/registry-crds.ts';
import { startSimulatedClusters, type SimulatedClusters } from '../support/simulated-clusters.ts';

const PATIENCE = { forMs: 60_000, everyMs: 100 };

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
    from: { clusterProfile: {} }, definitions: [CLUSTER_PROFILES],
    secrets: ({ token }) => ({ 'of-profile': { token } }),
    objects: ({ server, authority }) => [[CLUSTER_PROFILES, {
      spec: { displayName: 'of-profile', clusterManager: { name: 'manager' } },
      status: {
        conditions: [{ type: 'ControlPlaneHealthy', status: 'True', reason: 'Healthy', message: '' }],
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
before(async () => {
  world = await startDiscoveryWorld(1);
  clusters = await startSimulatedClusters(Object.keys(ROWS).length, 1);
  for (const file of await ensureRegistryDefinitions(environment(), world.signal)) {
    await installDefinitionFile(world.source, file);
  }
});
after(async () => {
  clusters?.stop();
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

/** A kind is served a moment after it was defined; a status that has a path of its own is written there. */
async function write(type: ResourceType, object: KubernetesObject): Promise<void> {
  const create = () => world.source.create(type, object).catch(() => undefined);
  assert.ok(await lookFor(create, PATIENCE, world.signal), `${type.plural} are not served`);
  const { namespace, name = '' } = object.metadata;
  const { status } = object as { readonly status?: object };
  if (status === undefined || type !== CLUSTER_API_CLUSTERS) return;
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
  it('is tried in every registry but Argo CD', () => {
    const tried = new Set(Object.values(ROWS).flatMap(({ from }) => Object.keys(from)));
    assert.deepEqual(REGISTRY_NAMES.filter((name: RegistryName) => !tried.has(name)), ['argoCD']);
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
