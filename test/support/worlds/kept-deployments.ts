// Keeps a process for each Deployment that the chart of Isthmus has made in a cluster, as kubelets would: with the
// Deployment's words, as its ServiceAccount, and started again when it ends. Only ports differ, for all clusters share
// one machine.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import { DEPLOYMENTS } from '../../../api/resource-types.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import type { OpenCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';
import { accountKubeconfig } from '../peers/admiralty-release.ts';
import { RunningCommand } from '../processes/command-line.ts';

type Deployment = KubernetesObject & {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly spec: {
        readonly serviceAccountName: string; readonly containers: readonly [{ readonly args: readonly string[] }]
      }
    };
  };
};

const POLL_INTERVAL_MS = 1_000;

/** Isthmus of the chart in one cluster, one process for each Deployment. */
export class KeptDeployments {
  readonly #cluster: Cluster;
  readonly #opened: OpenCluster;
  readonly #ports: ReadonlyMap<string, string>;
  readonly #running = new Map<string, RunningCommand>();
  readonly #stopped = new AbortController();
  readonly #loop: Promise<void>;

  /** `ports` has what stands in for ports that the API server is told of, by the Deployment's own. */
  constructor(cluster: Cluster, opened: OpenCluster, ports: ReadonlyMap<string, string> = new Map()) {
    this.#cluster = cluster;
    this.#opened = opened;
    this.#ports = ports;
    this.#loop = this.#keep();
  }

  /** Ends the processes. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#loop;
    await Promise.all([...this.#running.values()].map((command) => command.stop()));
  }

  async #keep(): Promise<void> {
    const { client } = this.#opened;
    while (!this.#stopped.signal.aborted) {
      const wanted = await client
        .list(DEPLOYMENTS as ResourceType<Deployment>, { namespace: DEFAULT_INSTALL_NAMESPACE })
        .catch(() => []);
      for (const deployment of wanted) {
        const { name = '' } = deployment.metadata;
        if (deployment.spec.replicas === 0 || this.#running.get(name)?.hasEnded === false) continue;
        await this.#start(name, deployment).catch(() => undefined); // its account may not be there yet
      }
      await sleep(POLL_INTERVAL_MS);
    }
  }

  async #start(name: string, { spec: { template } }: Deployment): Promise<void> {
    const { serviceAccountName, containers: [{ args }] } = template.spec;
    const path = join(this.#cluster.directory, `${name}.kubeconfig`);
    const account = { namespace: DEFAULT_INSTALL_NAMESPACE, name: serviceAccountName };
    await writeFile(path, await accountKubeconfig(this.#opened, this.#cluster, account), { mode: 0o600 });
    const [health = 0, kubelet = 0] = await freePorts(2);
    const words = args.map((word) => (word === '8080' ? String(health) : (this.#ports.get(word) ?? word)));
    const own = args.some((word) => word.includes('kubelet-api'))
      ? ['--kubelet-host', '127.0.0.1', '--kubelet-address', '127.0.0.1', '--kubelet-port', String(kubelet)]
      : [];
    this.#running.set(
      name, new RunningCommand(...words, ...own, '--target-allow-ranges', '127.0.0.0/8', '--kubeconfig', path),
    );
  }
}
