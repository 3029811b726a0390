// Isthmus in a sandbox, as users run it: installed into every cluster, one process each, targets peered with the
// source. The processes run this checkout's command line, so they can be measured, killed and restarted.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_INSTALL_NAMESPACE } from '../api/objects/keys.ts';
import { SERVICE_ACCOUNTS } from '../api/resource-types.ts';
import { installInto } from '../cli/install/install.ts';
import { peerClusters, type PeerCluster } from '../cli/join/peer-clusters.ts';
import { untilTargetReady } from '../cli/clusters/target-readiness.ts';
import { openCluster, userAgent } from '../kubernetes/client/open-cluster.ts';
import { ALL_COMPONENTS_ACCOUNT } from '../model/access/component-accounts.ts';
import { tokenKubeconfig } from '../peering/access/target-access.ts';
import { AppError } from '../process/errors.ts';
import type { ShutdownStep } from '../process/lifecycle.ts';
import { startComponent, type ComponentProcess } from './processes/component-process.ts';
import type { Cluster } from './control-plane/control-plane.ts';
import { heapOptions } from './plan/heap-options.ts';
import { freePorts } from './processes/free-ports.ts';
import type { Sandbox } from './sandbox.ts';

/** The `isthmus` processes of a sandbox. */
export interface IsthmusInSandbox extends ShutdownStep {
  /** By the name of the cluster that each serves. */
  readonly processes: ReadonlyMap<string, ComponentProcess>;
  /** Starts the process of a cluster again after it was stopped or killed. */
  restart(clusterName: string): Promise<void>;
}

/** Where the API servers of a sandbox are: on loopback, or in the networks of real nodes. */
const API_SERVERS = '127.0.0.0/8,198.18.0.0/15,fd69:7374:686d::/48';
/**
 * On a busy machine the processes take their time to start; a sandbox that does not come up at all says so in the end.
 */
const POLLING = { firstStatus: { forMs: 60_000, everyMs: 100 }, ready: { forMs: 60_000, everyMs: 100 } };
const LOCAL = '127.0.0.1';
/** The limit of the manifests' containers. */
const HEAP_AS_INSTALLED = heapOptions('1Gi').join(' ');
const COMMAND = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/**
 * Installs, starts and peers; resolves once every target is Ready. `sourceFlags` are further options of `run` in the
 * source, `env` variables of all.
 */
export async function startIsthmus(
  sandbox: Sandbox, signal: AbortSignal, sourceFlags: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<IsthmusInSandbox> {
  const running = new RunningIsthmus(env);
  const opened = await Promise.all(sandbox.clusters.map(open));
  try {
    const [source, ...targets] = opened;
    if (source === undefined) throw new AppError('NotFound', 'The sandbox has no source cluster.');
    const [webhookPort = 0, kubeletPort = 0] = await freePorts(2);
    const ports = { webhook: webhookPort, kubelet: kubeletPort };
    await Promise.all(opened.map((cluster) => install(cluster, cluster === source ? webhookPort : undefined, signal)));
    await Promise.all(opened.map((cluster) => writeOwnKubeconfig(cluster, signal)));
    await Promise.all(opened.map(
      (cluster) =>
        running.start(commandFor(cluster.cluster, cluster === source ? { ...ports, flags: sourceFlags } : undefined)),
    ));
    await Promise.all(targets.map((target) => peer(source, target, signal)));
    return running;
  } catch (error) {
    await running.stop();
    throw error;
  } finally {
    await Promise.all(opened.map(({ client }) => client.transport.close()));
  }
}

interface OpenedCluster extends PeerCluster {
  readonly cluster: Cluster;
}

async function open(cluster: Cluster): Promise<OpenedCluster> {
  const { client, connection } =
    await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: userAgent('sandbox') });
  return { cluster, client, connection, label: cluster.name };
}

async function install({ client }: OpenedCluster, webhookPort: number | undefined, signal: AbortSignal): Promise<void> {
  const webhookUrl = webhookPort === undefined ? undefined : `https://127.0.0.1:${webhookPort}/mutate--v1-pod`;
  await installInto(
    client, { installNamespace: DEFAULT_INSTALL_NAMESPACE, webhookUrl }, { tell: () => undefined, signal },
  );
}

/** A year: a sandbox does not live longer. */
const TOKEN_SECONDS = 365 * 24 * 60 * 60;

/**
 * Our processes act as the ServiceAccount that was installed for them: what it may not do fails here as it would in
 * production.
 */
async function writeOwnKubeconfig({ cluster, client, connection }: OpenedCluster, signal: AbortSignal): Promise<void> {
  const at = { namespace: DEFAULT_INSTALL_NAMESPACE, name: ALL_COMPONENTS_ACCOUNT, subresource: 'token' } as const;
  const request =
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: TOKEN_SECONDS } };
  const { status } =
    await client.post<{ readonly status: { readonly token: string } }>(SERVICE_ACCOUNTS, at, request, signal);
  const { certificateAuthority } = connection;
  const text = tokenKubeconfig({
    server: cluster.server, certificateAuthority, token: status.token, cluster: cluster.name,
    user: ALL_COMPONENTS_ACCOUNT,
  });
  await writeFile(ownKubeconfig(cluster), text, { mode: 0o600 });
}

function ownKubeconfig(cluster: Cluster): string {
  return join(cluster.directory, 'isthmus.kubeconfig');
}

async function peer(source: OpenedCluster, target: OpenedCluster, signal: AbortSignal): Promise<void> {
  // As a ClusterSource of Admiralty's form grants it: the owner of a sandbox is its only user.
  const grants = { namespaces: 'All', podSecurity: 'privileged' } as const;
  const request =
    { name: target.cluster.name, namespace: undefined, installNamespace: DEFAULT_INSTALL_NAMESPACE, grants };
  const peering = await peerClusters({ ...request, source, target }, { tell: () => undefined, signal });
  const readiness = await untilTargetReady(source.client, peering, signal, POLLING);
  if (readiness.kind === 'ready') return;
  const why =
    readiness.kind === 'not-ready' ? `${readiness.reason}: ${readiness.message}` : 'nothing writes its status';
  throw new AppError(
    'StartFailed', `Target ${target.cluster.name} did not become Ready: ${why}. Its log is ${logOf(source.cluster)}.`,
  );
}

interface RunCommand {
  readonly cluster: Cluster;
  readonly args: readonly string[];
}

/** A target admits no elected pods of its own, so it runs no webhook; the source runs no pods of others. */
function commandFor(
  cluster: Cluster,
  ports: { readonly webhook: number; readonly kubelet: number; readonly flags: readonly string[] } | undefined,
): RunCommand {
  const begin = ['run', '--kubeconfig', ownKubeconfig(cluster), '--target-allow-ranges', API_SERVERS, '--components'];
  if (ports === undefined) return { cluster, args: [...begin, 'delegate-controller,peering'] };
  const webhook = ['--no-target', '--webhook-host', LOCAL, '--webhook-port', String(ports.webhook)];
  const kubelet = ['--kubelet-host', LOCAL, '--kubelet-address', LOCAL, '--kubelet-port', String(ports.kubelet)];
  return {
    cluster,
    args: [
      ...begin, 'webhook,scheduler,delegate-controller,virtual-node,kubelet-api,peering,discovery', ...webhook,
      ...kubelet,
      ...ports.flags,
    ],
  };
}

function logOf(cluster: Cluster): string {
  return join(cluster.directory, 'isthmus.log');
}

class RunningIsthmus implements IsthmusInSandbox {
  readonly name = 'isthmus';
  readonly processes = new Map<string, ComponentProcess>();
  readonly #commands = new Map<string, RunCommand>();
  readonly #env: Readonly<Record<string, string>>;

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  async start(command: RunCommand): Promise<void> {
    const { cluster, args } = command;
    this.#commands.set(cluster.name, command);
    const component = await startComponent({
      name: `${cluster.name}/isthmus`,
      command: [process.execPath, COMMAND, ...args],
      cwd: cluster.directory,
      logPath: logOf(cluster),
      env: { NODE_OPTIONS: HEAP_AS_INSTALLED, ...this.#env },
    });
    this.processes.set(cluster.name, component);
  }

  async restart(clusterName: string): Promise<void> {
    const command = this.#commands.get(clusterName);
    if (command !== undefined) await this.start(command);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.processes.values()].map((component) => component.stop()));
  }
}
