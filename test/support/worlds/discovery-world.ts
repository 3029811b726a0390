// A source with Isthmus and registries in it, and clusters that nobody has joined: what discovery starts from.
import { mkdtemp, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  DiscoveredCluster, TargetDiscovery, TargetDiscoverySpec,
} from '../../../api/registry/target-discovery.ts';
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Pod, Secret } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_TARGETS, NAMESPACES, PODS, ROLE_BINDINGS, SECRETS, SERVICE_ACCOUNTS,
  TARGET_DISCOVERIES,
} from '../../../api/resource-types.ts';
import { installInto } from '../../../cli/install/install.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster, type OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import {
  ALL_COMPONENTS_ACCOUNT, PROFILE_WRITER_ROLE, REGISTRY_SECRET_READER_ROLE,
} from '../../../model/access/component-accounts.ts';
import { clusterRoleBinding, roleBinding } from '../../../model/access/rbac-objects.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { RunningCommand } from '../processes/command-line.ts';
import { Packaging } from '../peers/packaging.ts';
import { startTestSandbox, stopWithProcess } from '../processes/stopped-with-process.ts';
import { WatchedCollection } from '../history/watched-collection.ts';

const ACCOUNT = { namespace: DEFAULT_INSTALL_NAMESPACE, name: ALL_COMPONENTS_ACCOUNT };
const COMPONENTS = 'webhook,scheduler,delegate-controller,virtual-node,discovery';

/** The world; call {@link DiscoveryWorld.stop} in `after`. */
export interface DiscoveryWorld {
  readonly sandbox: Sandbox;
  readonly source: ClusterClient;
  /** Clusters with nodes, without Isthmus. */
  readonly targets: readonly OpenCluster[];
  /** The running process. */
  readonly process: RunningCommand;
  /** URL of its metrics. */
  readonly metrics: string;
  readonly discoveries: WatchedCollection<TargetDiscovery>;
  readonly clusterTargets: WatchedCollection<ClusterTarget>;
  readonly pods: WatchedCollection<Pod>;
  /** Aborted when the world stops. */
  readonly signal: AbortSignal;
  stop(): Promise<void>;
}

/** Options of a world. */
export interface WorldOptions {
  /** Whether the targets' API servers write audit logs. */
  readonly audit?: boolean;
  /** Flags for the process. */
  readonly flags?: readonly string[];
}

/** Starts it with so many targets. */
export async function startDiscoveryWorld(
  targets: number, { audit = false, flags = [] }: WorldOptions = {},
): Promise<DiscoveryWorld> {
  const stopped = new AbortController();
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-discovery-'));
  const sandbox = await startTestSandbox({ dir, targets, nodes: 2, gpus: 0, audit }, stopped.signal);
  try {
    return await startIn(sandbox, dir, flags, stopped);
  } catch (error) {
    stopped.abort();
    await sandbox.stop();
    throw error;
  }
}

async function startIn(
  sandbox: Sandbox, dir: string, flags: readonly string[], stopped: AbortController,
): Promise<DiscoveryWorld> {
  const { signal } = stopped;
  const [source, ...others] = await Promise.all(sandbox.clusters.map(
    ({ kubeconfigPath }) => openCluster({ kubeconfigPath, userAgent: 'isthmus-test' }),
  ));
  if (source === undefined) throw new Error('the sandbox has no source');
  const [webhookPort = 0, healthPort = 0] = await freePorts(2);
  const webhookUrl = `https://127.0.0.1:${webhookPort}/mutate--v1-pod`;
  await installInto(
    source.client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl, role: 'source' },
    { tell: () => undefined, signal },
  );
  const kubeconfig = join(sandbox.clusters[0]?.directory ?? '', 'isthmus.kubeconfig');
  await writeFile(kubeconfig, await kubeconfigOf(source, ACCOUNT), { mode: 0o600 });
  const process = new RunningCommand(
    'run', '--kubeconfig', kubeconfig, '--components', COMPONENTS, '--no-target', '--no-leader-elect',
    '--target-allow-ranges', '127.0.0.0/8', '--webhook-host', '127.0.0.1', '--webhook-port', String(webhookPort),
    '--health-host', '127.0.0.1', '--health-port', String(healthPort), ...flags,
  );
  await process.line(/"running"/);
  const { client } = source;
  const [discoveries, clusterTargets, pods] = await Promise.all([
    new WatchedCollection(client, TARGET_DISCOVERIES).start(signal),
    new WatchedCollection(client, CLUSTER_TARGETS).start(signal),
    new WatchedCollection(client, PODS).start(signal),
  ]);
  const stop = async () => {
    stopped.abort();
    await process.stop();
    await Promise.all([source, ...others].map((cluster) => cluster.client.transport.close()));
    await sandbox.stop();
    await rmdir(dir); // fails when the sandbox left something in it
  };
  stopWithProcess(stop);
  return {
    sandbox, source: client, targets: others, process, metrics: `http://127.0.0.1:${healthPort}/metrics`, discoveries,
    clusterTargets, pods, signal, stop,
  };
}

/** The kubeconfig of a ServiceAccount. */
export async function kubeconfigOf(
  { client, connection }: OpenCluster, account: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const { token } = await requestToken(client, { ...account, seconds: 3_600 }, AbortSignal.timeout(30_000));
  const { certificateAuthority } = connection;
  return tokenKubeconfig({ server: connection.server.href, certificateAuthority, token, cluster: 'c', user: 'u' });
}

/** The account that a registry's tool has in a cluster, as cluster-admin, and its token. */
export async function managerOf({ client }: OpenCluster): Promise<{ token(): Promise<string> }> {
  const account = { namespace: 'kube-system', name: 'manager' };
  await client.apply(SERVICE_ACCOUNTS, { metadata: account }, 'isthmus-test');
  await client.apply(
    CLUSTER_ROLE_BINDINGS, clusterRoleBinding('manager', 'cluster-admin', [account]), 'isthmus-test',
  );
  const ask = () => requestToken(client, { ...account, seconds: 3_600 }, AbortSignal.timeout(30_000));
  return { token: async () => (await ask()).token };
}

/** A namespace of a registry, where discovery may read Secrets. */
export async function makeRegistryNamespace({ source }: DiscoveryWorld, namespace: string): Promise<void> {
  await source.apply(NAMESPACES, { metadata: { name: namespace } }, 'isthmus-test');
  await bindHere(source, namespace, REGISTRY_SECRET_READER_ROLE);
}

/** Lets the scheduler publish targets in a namespace. */
export async function allowProfiles({ source }: DiscoveryWorld, namespace: string): Promise<void> {
  await bindHere(source, namespace, PROFILE_WRITER_ROLE);
}

async function bindHere(source: ClusterClient, namespace: string, roleName: string): Promise<void> {
  const binding = roleBinding({ namespace, name: roleName, roleKind: 'ClusterRole', roleName }, [ACCOUNT]);
  await source.apply(ROLE_BINDINGS, binding, 'isthmus-test');
}

/** Makes or changes a TargetDiscovery. */
export async function discover({ source }: DiscoveryWorld, name: string, spec: TargetDiscoverySpec): Promise<void> {
  await source.apply(TARGET_DISCOVERIES, { metadata: { name }, spec } as KubernetesObject, 'isthmus-test');
}

/** Writes a Secret with these texts. */
export async function writeSecret(
  { source }: DiscoveryWorld,
  { namespace, name, labels = {} }: {
    readonly namespace: string; readonly name: string; readonly labels?: Readonly<Record<string, string>>
  },
  texts: Readonly<Record<string, string>>,
): Promise<void> {
  const data = Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]),
  );
  await source.apply(SECRETS, { metadata: { namespace, name, labels }, data } as Secret, 'isthmus-test');
}

/** What `argocd cluster add` writes for a target of the world, with labels. */
export async function addToArgo(
  world: DiscoveryWorld, index: number,
  { name, labels }: { readonly name: string; readonly labels: Readonly<Record<string, string>> },
): Promise<void> {
  const target = world.targets[index]!;
  const { server, certificateAuthority = '' } = target.connection;
  const caData = Buffer.from(certificateAuthority, 'utf8').toString('base64');
  const config = { bearerToken: await (await managerOf(target)).token(), tlsClientConfig: { insecure: false, caData } };
  const kept = { 'argocd.argoproj.io/secret-type': 'cluster', ...labels };
  await writeSecret(
    world, { namespace: 'argocd', name: `cluster-${name}`, labels: kept },
    { name, server: server.href, config: JSON.stringify(config) },
  );
}

/** kubectl in the source; resolves with what it prints, and rejects with what it says when it fails. */
export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/** kubectl for the source of a world. */
export async function kubectlOf({ sandbox, signal }: DiscoveryWorld): Promise<Kubectl> {
  const tools = await Packaging.open(signal);
  const kubeconfig = sandbox.clusters[0]!.kubeconfigPath;
  return async (args, input = '') => {
    const { stdout, stderr, code } = await tools.kubectl(args, { kubeconfig, input });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
}

/** Resolves once an entry of a registry is as wanted. */
export async function untilEntry(
  { discoveries }: DiscoveryWorld, discovery: string, what: string, holds: (entry: DiscoveredCluster) => boolean,
): Promise<DiscoveredCluster> {
  const find = (all: readonly TargetDiscovery[]) =>
    all.find(({ metadata }) => metadata.name === discovery)?.status?.clusters?.find(holds);
  const all = await discoveries.until(`${discovery}: ${what}`, (objects) => find(objects) !== undefined, 40_000);
  return find(all)!;
}

/** Resolves once a target takes pods. */
export async function untilReady({ clusterTargets }: DiscoveryWorld, name: string): Promise<void> {
  await clusterTargets.until(
    `${name} is Ready`,
    (all) => all.some(({ metadata, status }) => metadata.name === name
      && findCondition(status?.conditions, 'Ready')?.status === 'True'),
    60_000,
  );
}
