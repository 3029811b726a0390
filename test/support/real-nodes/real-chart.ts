// Isthmus in real nodes as users get it: the image with the Dockerfile's content, the chart by helm, in a namespace
// that enforces the Pod Security Standard `restricted`.
import { DEFAULT_INSTALL_NAMESPACE } from '../../../api/objects/keys.ts';
import type { Pod } from '../../../api/objects/core.ts';
import { NAMESPACES, PODS } from '../../../api/resource-types.ts';
import { peerClusters, type PeerCluster } from '../../../cli/join/peer-clusters.ts';
import { untilTargetReady } from '../../../cli/clusters/target-readiness.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import type { IsthmusInSandbox } from '../../../sandbox/isthmus-in-sandbox.ts';
import type { Sandbox } from '../../../sandbox/sandbox.ts';
import { eventually } from '../history/eventually.ts';
import { CHART, Packaging } from '../peers/packaging.ts';
import { addIsthmusImage, ISTHMUS_IMAGE } from './real-images.ts';
import { KINDS, type AnyObject } from './real-world.ts';

const NAMESPACE = DEFAULT_INSTALL_NAMESPACE;
const POLLING = { firstStatus: { forMs: 120_000, everyMs: 250 }, ready: { forMs: 120_000, everyMs: 250 } };

type Opened = PeerCluster & { readonly cluster: Cluster };

async function open(cluster: Cluster): Promise<Opened> {
  const { client, connection } =
    await openCluster({ kubeconfigPath: cluster.kubeconfigPath, userAgent: 'isthmus-test' });
  return { cluster, client, connection, label: cluster.name };
}

/** Whether all replicas of a Deployment are of its newest template and available. */
function isRolledOut({ metadata, spec, status }: AnyObject): boolean {
  const wanted = spec?.['replicas'];
  return status?.['observedGeneration'] === metadata['generation'] && status?.['updatedReplicas'] === wanted
    && status?.['availableReplicas'] === wanted && status?.['replicas'] === wanted;
}

/** What a pod waits for, or why its containers ended. */
function stateOf({ metadata, status }: Pod): string {
  const { phase, containerStatuses = [], conditions } = status ?? {};
  return `${metadata.name} ${phase} ${JSON.stringify(containerStatuses.length === 0 ? conditions : containerStatuses)}`;
}

/** Isthmus from the chart, in pods. */
export class RealChart implements IsthmusInSandbox {
  readonly name = 'isthmus in pods';
  readonly processes = new Map<string, never>();
  /** When the first `helm install` began, by `performance.now()`; the image was there. */
  installedAt = 0;
  /** When everything was rolled out in all clusters. */
  rolledOutAt = 0;
  /** When all targets were Ready. */
  peeredAt = 0;
  readonly #sandbox: Sandbox;
  readonly #tools: Packaging;

  private constructor(sandbox: Sandbox, tools: Packaging) {
    this.#sandbox = sandbox;
    this.#tools = tools;
  }

  /** Builds the image, installs the chart into every cluster, the first as the source, and peers them. */
  static async start(sandbox: Sandbox, signal: AbortSignal): Promise<RealChart> {
    const chart = new RealChart(sandbox, await Packaging.open(signal));
    await addIsthmusImage(sandbox);
    chart.installedAt = performance.now();
    for (const cluster of sandbox.clusters) await chart.#makeNamespace(cluster);
    await Promise.all(sandbox.clusters.map((cluster) => chart.upgrade(cluster)));
    chart.rolledOutAt = performance.now();
    await chart.#peer(signal);
    chart.peeredAt = performance.now();
    return chart;
  }

  /** `helm upgrade --install` in one cluster, until all is rolled out. */
  async upgrade(cluster: Cluster, ...values: readonly string[]): Promise<void> {
    const role = cluster === this.#sandbox.clusters[0] ? 'target.enabled=false' : 'source.enabled=false';
    const all = [
      role, `image.repository=${ISTHMUS_IMAGE.repository}`, `image.tag=${ISTHMUS_IMAGE.tag}`,
      'defaults.replicas=1', 'webhook.replicas=2',
      ...values,
    ];
    await this.#helm(cluster, [
      'upgrade', '--install', 'isthmus', CHART, '--namespace', NAMESPACE, ...all.flatMap((value) => ['--set', value]),
    ]);
    await this.#untilRolledOut(cluster);
  }

  /** `helm rollback` to the revision before. */
  async rollback(cluster: Cluster): Promise<void> {
    await this.#helm(cluster, ['rollback', 'isthmus', '--namespace', NAMESPACE]);
    await this.#untilRolledOut(cluster);
  }

  restart(): Promise<void> {
    return Promise.reject(new Error('pods restart by themselves'));
  }

  stop(): Promise<void> {
    return Promise.resolve(); // they end with their nodes
  }

  async #helm(cluster: Cluster, args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.#tools.helm(args, { kubeconfig: cluster.kubeconfigPath });
    if (code !== 0) throw new Error(`helm ${args[0]} in ${cluster.name}: ${stderr}`);
  }

  async #makeNamespace(cluster: Cluster): Promise<void> {
    const { client } = await open(cluster);
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
    await client.apply(NAMESPACES, { metadata: { name: NAMESPACE, labels } }, 'isthmus-test');
    await client.transport.close();
  }

  async #untilRolledOut(cluster: Cluster): Promise<void> {
    const { client } = await open(cluster);
    try {
      await eventually(`the rollout in ${cluster.name}`, async () => {
        const deployments = await client.list(KINDS.deployments, { namespace: NAMESPACE });
        const waiting = deployments.filter((deployment) => !isRolledOut(deployment));
        if (deployments.length === 0 || waiting.length === 0) return deployments.length > 0;
        const pods = await client.list(PODS, { namespace: NAMESPACE });
        throw new Error(`${waiting.map(({ metadata }) => metadata.name).join(', ')}: ${pods.map(stateOf).join('; ')}`);
      }, 240_000);
    } finally {
      await client.transport.close();
    }
  }

  async #peer(signal: AbortSignal): Promise<void> {
    const opened = await Promise.all(this.#sandbox.clusters.map(open));
    const [source, ...targets] = opened;
    try {
      for (const target of source === undefined ? [] : targets) {
        const peering = await peerClusters({
          name: target.cluster.name, namespace: undefined, installNamespace: NAMESPACE, grants: { namespaces: 'All' },
          source: source!, target,
        }, { tell: () => undefined, signal });
        const readiness = await untilTargetReady(source!.client, peering, signal, POLLING);
        if (readiness.kind !== 'ready') throw new Error(`${target.cluster.name}: ${JSON.stringify(readiness)}`);
      }
    } finally {
      await Promise.all(opened.map(({ client }) => client.transport.close()));
    }
  }
}
