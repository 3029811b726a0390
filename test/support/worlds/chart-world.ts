// A sandbox into which Isthmus comes as users get it: the Helm chart installs the objects, and for each of its
// Deployments a process runs with the image's command line on the image's file set, as the Deployment's ServiceAccount.
// Only ports differ, for all clusters share one machine.
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { DEPLOYMENTS, MUTATING_WEBHOOK_CONFIGURATIONS, SERVICE_ACCOUNTS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { peerClusters, type PeerCluster } from '../../../cli/join/peer-clusters.ts';
import { untilTargetReady } from '../../../cli/clusters/target-readiness.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { tokenKubeconfig } from '../../../peering/access/target-access.ts';
import { startComponent, type ComponentProcess } from '../../../sandbox/processes/component-process.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import type { IsthmusInSandbox } from '../../../sandbox/isthmus-in-sandbox.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { webhooksWithoutRules } from '../../../webhook/registration/missing-rules.ts';
import { WEBHOOK_CONFIGURATION_NAME } from '../../../webhook/registration/webhook-address.ts';
import { makeImageFiles } from '../real-nodes/image-files.ts';
import { CHART, Packaging } from '../peers/packaging.ts';
import { ReadyRelay, untilAnswers } from '../faults/ready-relay.ts';

const NAMESPACE = DEFAULT_INSTALL_NAMESPACE;
const POLLING = { firstStatus: { forMs: 120_000, everyMs: 100 }, ready: { forMs: 120_000, everyMs: 100 } };
const TOKEN_SECONDS = 24 * 60 * 60;

type Deployment = KubernetesObject & {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string; readonly containers: readonly [{ readonly args: readonly string[] }]
      }
    }
  }
};
type Opened = PeerCluster & { readonly cluster: Cluster };
type ImageCommand = (args: readonly string[]) => readonly [string, ...string[]];

/** What differs from the chart of this checkout and from an installation by defaults. */
export interface ChartSetup {
  /** Folder of the chart. */
  readonly chart?: string;
  /** Command line of the image. */
  readonly command?: ImageCommand;
  /** Variables of the processes, as `defaults.extraEnv` sets them. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Whether clusters are peered by the command of the image: another version than this one has other permissions to
   * give.
   */
  readonly peersByCommand?: boolean;
}

/** Isthmus from the chart. The name of a process is `cluster/deployment`. */
export class ChartInstallation implements IsthmusInSandbox {
  readonly name = 'isthmus of the chart';
  readonly processes = new Map<string, ComponentProcess>();
  readonly #sandbox: Sandbox;
  readonly #tools: Packaging;
  readonly #webhooks = new ReadyRelay();
  #setup: Required<ChartSetup>;

  private constructor(sandbox: Sandbox, tools: Packaging, setup: Required<ChartSetup>) {
    this.#sandbox = sandbox;
    this.#tools = tools;
    this.#setup = setup;
  }

  /**
   * Installs the chart into every cluster, the first as a source and the others as targets, starts the processes, and
   * peers them.
   */
  static async start(sandbox: Sandbox, signal: AbortSignal, setup: ChartSetup = {}): Promise<ChartInstallation> {
    const image = join(sandbox.dir, '..', `image-of-${process.pid}`);
    const command = setup.command ?? (await makeImageFiles(image));
    const installation = new ChartInstallation(
      sandbox, await Packaging.open(signal), { chart: CHART, env: {}, peersByCommand: false, ...setup, command },
    );
    try {
      await installation.install();
      await installation.#peer(signal);
      return installation;
    } catch (error) {
      await installation.stop();
      throw error;
    }
  }

  /**
   * Installs or upgrades the releases, starts the processes of their Deployments, and waits until pods are sent to the
   * webhook.
   */
  async install(): Promise<void> {
    for (const cluster of this.#sandbox.clusters) await this.release(cluster);
    await Promise.all(this.#sandbox.clusters.map((cluster) => this.restart(cluster.name)));
    await this.#untilPodsAreSent();
  }

  async #untilPodsAreSent(): Promise<void> {
    const { client } = await open(this.#sandbox.clusters[0]!);
    const isSent = async (): Promise<true | undefined> => (
      webhooksWithoutRules(
        await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, { name: WEBHOOK_CONFIGURATION_NAME }),
      ).length === 0 ? true : undefined
    );
    const sent = await pollUntil(isSent, POLLING.ready, new AbortController().signal);
    await client.transport.close();
    if (sent === undefined) throw new Error('no pods are sent to the webhook');
  }

  /** From now on releases are of this chart and processes of this image. */
  use(setup: Required<ChartSetup>): void {
    this.#setup = setup;
  }

  /** `helm upgrade --install` in one cluster. */
  async release(cluster: Cluster): Promise<void> {
    const isSource = cluster === this.#sandbox.clusters[0];
    const url = isSource ? [
      `webhook.url=https://127.0.0.1:${await this.#webhooks.port()}`, 'webhook.drainSeconds=3', 'target.enabled=false',
    ] : ['source.enabled=false'];
    const values = [...url, 'logLevel=debug'].flatMap((value) => ['--set', value]);
    await this.#helm(cluster, [
      'upgrade', '--install', 'isthmus', this.#setup.chart, '--namespace', NAMESPACE, '--create-namespace', ...values,
    ]);
  }

  /** `helm uninstall` in one cluster, with the check that a kubelet would run before it left out. */
  async uninstall(cluster: Cluster): Promise<void> {
    await this.#helm(cluster, ['uninstall', 'isthmus', '--namespace', NAMESPACE, '--no-hooks']);
  }

  async #helm(cluster: Cluster, args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.#tools.helm(args, { kubeconfig: cluster.kubeconfigPath });
    if (code !== 0) throw new Error(`helm ${args[0]} in ${cluster.name}: ${stderr}`);
  }

  /**
   * Starts the processes of a cluster's Deployments, as a rollout does: each beside the one before, which ends once the
   * new one is ready.
   */
  async restart(clusterName: string): Promise<void> {
    const cluster = this.#sandbox.clusters.find(({ name }) => name === clusterName);
    if (cluster === undefined) throw new Error(`no cluster ${clusterName}`);
    const opened = await open(cluster);
    try {
      const deployments = await opened.client.list(DEPLOYMENTS as ResourceType<Deployment>, { namespace: NAMESPACE });
      await Promise.all(deployments.map((deployment) => this.#start(opened, deployment)));
    } finally {
      await opened.client.transport.close();
    }
  }

  async #start({ cluster, ...opened }: Opened, { metadata, spec }: Deployment): Promise<void> {
    const name = `${cluster.name}/${metadata.name}`;
    const { serviceAccountName, containers: [{ args }] } = spec.template.spec;
    const own = join(cluster.directory, `${metadata.name}.kubeconfig`);
    await writeFile(own, await this.#kubeconfigOf({ cluster, ...opened }, serviceAccountName), { mode: 0o600 });
    const [health = 0, webhook = 0] = await freePorts(2);
    const ports = new Map([['8080', String(health)], ['9443', String(webhook)]]);
    const command = this.#setup.command([...args.map((word) => ports.get(word) ?? word), '--kubeconfig', own]);
    const before = this.processes.get(name);
    const component = await startComponent({
      name, command, cwd: cluster.directory, logPath: join(cluster.directory, `${metadata.name}.log`),
      env: this.#setup.env,
    });
    this.processes.set(name, component);
    if (args.includes('9443')) await this.#webhooks.turnTo(webhook, component);
    else await untilAnswers(`http://127.0.0.1:${health}/readyz`, component);
    await before?.stop();
  }

  async #kubeconfigOf({ cluster, client, connection }: Opened, account: string): Promise<string> {
    const request =
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: TOKEN_SECONDS } };
    const { status } = await client.post<{ readonly status: { readonly token: string } }>(
      SERVICE_ACCOUNTS, { namespace: NAMESPACE, name: account, subresource: 'token' }, request,
    );
    return tokenKubeconfig({
      server: cluster.server, certificateAuthority: connection.certificateAuthority, token: status.token,
      cluster: cluster.name, user: account,
    });
  }

  async #peer(signal: AbortSignal): Promise<void> {
    const opened = await Promise.all(this.#sandbox.clusters.map(open));
    try {
      const [source, ...targets] = opened;
      for (const target of source === undefined ? [] : targets) {
        if (this.#setup.peersByCommand) {
          await this.#peerByCommand(source!.cluster, target.cluster);
          continue;
        }
        const peering = await peerClusters(
          {
            name: target.cluster.name, namespace: undefined, installNamespace: NAMESPACE, grants: { namespaces: 'All' },
            source: source!, target,
          },
          { tell: () => undefined, signal },
        );
        const readiness = await untilTargetReady(source!.client, peering, signal, POLLING);
        if (readiness.kind !== 'ready') throw new Error(`${target.cluster.name}: ${JSON.stringify(readiness)}`);
      }
    } finally {
      await Promise.all(opened.map(({ client }) => client.transport.close()));
    }
  }

  async #peerByCommand(source: Cluster, target: Cluster): Promise<void> {
    const [program, ...args] = this.#setup.command([
      'peer', '--name', target.name, '--source-kubeconfig', source.kubeconfigPath, '--target-kubeconfig',
      target.kubeconfigPath,
    ]);
    await promisify(execFile)(program, args);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.processes.values()].map((component) => component.stop()));
    await this.#webhooks.close();
    await rm(join(this.#sandbox.dir, '..', `image-of-${process.pid}`), { recursive: true, force: true });
  }
}

async function open(cluster: Cluster): Promise<Opened> {
  const { client, connection } =
    await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
  return { cluster, client, connection, label: cluster.name };
}
