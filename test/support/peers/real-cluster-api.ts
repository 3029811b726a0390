// Cluster API's own core controller in the source of a world, from a program and a folder that somebody else has built
// and gives by their paths: with its own kinds and permissions. No provider runs: the objects of infrastructure and
// control planes are written as a provider would leave them by Cluster API's contract (v1beta2), for clusters that
// there are.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import type { KubernetesObject, Node, Secret } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, NODES, SECRETS } from '../../../api/resource-types.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { loadAuthority, type KeyPair } from '../../../process/crypto/certificate-authority.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { kubeconfigOf, type DiscoveryWorld, type Kubectl } from '../worlds/discovery-world.ts';
import { eventually } from '../history/eventually.ts';
import { CLUSTER_API_CLUSTERS, simpleDefinition } from './registry-crds.ts';

const CONTROLLER = { namespace: 'capi-system', name: 'capi-manager' };
const CLUSTER_NAME = 'cluster.x-k8s.io/cluster-name';
const PROVIDER_ID = 'double:///node';
const OPEN = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;

const MACHINES = kindOf('cluster.x-k8s.io', 'v1beta2', 'Machine');
const INFRASTRUCTURE = kindOf('infrastructure.cluster.x-k8s.io', 'v1beta2', 'DoubleCluster');
const INFRASTRUCTURE_MACHINES = kindOf('infrastructure.cluster.x-k8s.io', 'v1beta2', 'DoubleMachine');
const CONTROL_PLANES = kindOf('controlplane.cluster.x-k8s.io', 'v1beta2', 'DoubleControlPlane');

/** A cluster of a world that Cluster API is to manage. */
export interface ManagedCluster {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its index among the targets of the world. */
  readonly target: number;
  /**
   * Who keeps its kubeconfig Secret: Cluster API's core, where there is no control plane provider, or the provider,
   * which the test plays.
   */
  readonly kubeconfigBy: 'core' | 'provider';
}

/** Installs kinds and permissions; `core` is Cluster API's folder of that name. */
export async function installClusterApi(world: DiscoveryWorld, kubectl: Kubectl, core: string): Promise<void> {
  const folder = join(world.sandbox.clusters[0]!.directory, 'cluster-api');
  await mkdir(folder);
  const resources = ['crd', 'rbac'].map((part) => relative(folder, join(core, 'config', part)));
  await writeFile(join(folder, 'kustomization.yaml'), stringify({
    apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', namespace: CONTROLLER.namespace,
    namePrefix: 'capi-', resources,
  }));
  await kubectl(['create', 'namespace', CONTROLLER.namespace]);
  await kubectl(['apply', '--server-side', '-k', folder]);
  for (const type of [INFRASTRUCTURE, INFRASTRUCTURE_MACHINES, CONTROL_PLANES]) {
    await world.source.create(CUSTOM_RESOURCE_DEFINITIONS, contractDefinition(type));
  }
  await eventually('kinds are served', () => kubectl(['wait', '--for', 'condition=Established', 'crd', '--all']));
}

/** Starts the controller with the permissions of its own account. */
export async function startClusterApi({ sandbox }: DiscoveryWorld, program: string): Promise<ComponentProcess> {
  const { kubeconfigPath, directory } = sandbox.clusters[0]!;
  const cluster = await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' });
  const kubeconfig = join(directory, 'cluster-api.kubeconfig');
  await writeFile(kubeconfig, await kubeconfigOf(cluster, CONTROLLER), { mode: 0o600 });
  await cluster.client.transport.close();
  const [health = 0, metrics = 0, webhook = 0] = await freePorts(3);
  return startComponent({
    name: 'capi-controller-manager', cwd: directory, logPath: join(directory, 'cluster-api.log'),
    env: { KUBECONFIG: kubeconfig },
    command: [
      program, '--leader-elect=false', '--insecure-diagnostics', `--diagnostics-address=127.0.0.1:${metrics}`,
      `--health-addr=127.0.0.1:${health}`, `--webhook-port=${webhook}`,
      `--webhook-cert-dir=${await webhookCertificate(directory)}`, '--v=1',
    ],
  });
}

/** Writes the objects of a cluster, as `clusterctl generate cluster` and its providers would. */
export async function manage(world: DiscoveryWorld, cluster: ManagedCluster): Promise<void> {
  const { source } = world;
  const { namespace, name, labels, target, kubeconfigBy } = cluster;
  const metadata = { namespace, name, labels: { [CLUSTER_NAME]: name } };
  const { hostname: host, port } = world.targets[target]!.connection.server;
  await source.create(INFRASTRUCTURE, {
    metadata, spec: { controlPlaneEndpoint: { host, port: Number(port) } }, status: PROVISIONED,
  } as KubernetesObject);
  if (kubeconfigBy === 'core') {
    const { certificate, key } = await authorityIn(world.sandbox.clusters[target + 1]!.directory);
    await source.create(SECRETS, secret(cluster, 'ca', { 'tls.crt': certificate, 'tls.key': key }));
  }
  await source.create(CLUSTER_API_CLUSTERS, {
    metadata: { namespace, name, labels },
    spec: {
      infrastructureRef: refTo(INFRASTRUCTURE, name),
      ...(kubeconfigBy === 'provider' && { controlPlaneRef: refTo(CONTROL_PLANES, name) }),
    },
  } as KubernetesObject);
  if (kubeconfigBy === 'core') await makeMachine(world, cluster, metadata);
  else await makeControlPlane(world, cluster, metadata);
}

/** New credentials for a cluster by whoever keeps its Secret; core makes them where there are none. */
export async function renewKubeconfig(world: DiscoveryWorld, cluster: ManagedCluster): Promise<void> {
  const { namespace, name, kubeconfigBy } = cluster;
  if (kubeconfigBy === 'provider') return writeKubeconfig(world, cluster);
  await world.source.delete(SECRETS, { namespace, name: `${name}-kubeconfig` }, {});
  const annotations = { 'example.com/renewed-at': new Date().toISOString() }; // core looks when its Cluster changes
  await world.source.patch(CLUSTER_API_CLUSTERS, { namespace, name }, {
    patchType: 'merge', patch: { metadata: { annotations } },
  });
}

const PROVISIONED = { initialization: { provisioned: true }, ready: true };

function kindOf(group: string, version: string, kind: string): ResourceType {
  return { group, version, plural: `${kind.toLowerCase()}s`, kind, namespaced: true };
}

/** The label says which version of the contract the kind follows. */
function contractDefinition(type: ResourceType): KubernetesObject {
  const definition = simpleDefinition(type, { type: 'object', properties: { spec: OPEN, status: OPEN } });
  const labels = { 'cluster.x-k8s.io/v1beta2': type.version };
  return { ...definition, metadata: { ...definition.metadata, labels } };
}

function refTo({ group, kind }: ResourceType, name: string): object {
  return { apiGroup: group, kind, name };
}

/** The machine of the control plane, for a node of the target: without a provider, core looks for that node itself. */
async function makeMachine(
  { source, targets }: DiscoveryWorld, { name, target }: ManagedCluster, metadata: KubernetesObject['metadata'],
): Promise<void> {
  const { client } = targets[target]!;
  const [node] = await client.list<Node>(NODES, {});
  await client.patch(NODES, { name: node?.metadata.name ?? '' }, {
    patchType: 'merge', patch: { spec: { providerID: PROVIDER_ID } },
  });
  await source.create(INFRASTRUCTURE_MACHINES, {
    metadata, spec: { providerID: PROVIDER_ID }, status: PROVISIONED,
  } as KubernetesObject);
  const labels = { ...metadata.labels, 'cluster.x-k8s.io/control-plane': '' };
  await source.create(MACHINES, {
    metadata: { ...metadata, labels },
    spec: {
      clusterName: name, bootstrap: { dataSecretName: `${name}-bootstrap` }, version: 'v1.34.0',
      infrastructureRef: refTo(INFRASTRUCTURE_MACHINES, name),
    },
  } as KubernetesObject);
}

async function makeControlPlane(
  world: DiscoveryWorld, cluster: ManagedCluster, metadata: KubernetesObject['metadata'],
): Promise<void> {
  await writeKubeconfig(world, cluster);
  await world.source.create(CONTROL_PLANES, {
    metadata, spec: {}, status: { initialization: { controlPlaneInitialized: true } },
  } as KubernetesObject);
}

/** As the kubeadm provider writes it: a client certificate of the cluster's authority, renewed in place. */
async function writeKubeconfig(world: DiscoveryWorld, cluster: ManagedCluster): Promise<void> {
  const { name, target } = cluster;
  const { server } = world.targets[target]!.connection;
  const authority = await authorityIn(world.sandbox.clusters[target + 1]!.directory);
  const { certificate, key } = await (await loadAuthority(authority)).issue(
    { commonName: 'kubernetes-admin', organizations: ['system:masters'], usages: ['client'], days: 365 }, new Date(),
  );
  const user = `${name}-admin`;
  const value = stringify({
    apiVersion: 'v1', kind: 'Config', 'current-context': `${user}@${name}`,
    clusters: [{
      name, cluster: { server: server.href, 'certificate-authority-data': base64(authority.certificate) },
    }],
    users: [{ name: user, user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) } }],
    contexts: [{ name: `${user}@${name}`, context: { cluster: name, user } }],
  });
  await world.source.apply(SECRETS, secret(cluster, 'kubeconfig', { value }), 'isthmus-test');
}

function secret(
  { namespace, name }: ManagedCluster, purpose: string, texts: Readonly<Record<string, string>>,
): Secret {
  return {
    metadata: { namespace, name: `${name}-${purpose}`, labels: { [CLUSTER_NAME]: name } },
    type: 'cluster.x-k8s.io/secret',
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)])),
  };
}

/** The authority of a cluster of the sandbox. */
async function authorityIn(directory: string): Promise<KeyPair> {
  const read = (file: string) => readFile(join(directory, 'pki', file), 'utf8');
  return { certificate: await read('ca.crt'), key: await read('ca.key') };
}

/** The controller serves admission webhooks in any case; nothing calls them here. */
async function webhookCertificate(directory: string): Promise<string> {
  const folder = join(directory, 'cluster-api-webhook');
  await mkdir(folder);
  const authority = await loadAuthority(await authorityIn(directory));
  const { certificate, key } = await authority.issue(
    { commonName: 'capi-webhook', dnsNames: ['localhost'], usages: ['server'], days: 1 }, new Date(),
  );
  await writeFile(join(folder, 'tls.crt'), certificate);
  await writeFile(join(folder, 'tls.key'), key, { mode: 0o600 });
  return folder;
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
