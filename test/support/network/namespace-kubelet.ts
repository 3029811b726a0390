// What a kubelet does, for nodes whose pods are network namespaces: says that the node is Ready and how many pods it
// takes, and gives each pod that is bound to it one of the node's namespaces, where a real server answers.
import { pino } from 'pino';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { NODES, PODS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { delay } from '../../../kubernetes/flow/backoff.ts';
import { Informer } from '../../../kubernetes/watch/informer.ts';
import type { NetworkNode } from './network-world.ts';

/** The node lifecycle controller waits 40 s for a sign of life. */
const HEARTBEAT_MS = 10_000;

/** Kubelets of a cluster's nodes. */
export class NamespaceKubelets {
  readonly #client: ClusterClient;
  readonly #nodes: readonly NetworkNode[];
  /** By `namespace/name` of the pod, the namespace that it got. */
  readonly #given = new Map<string, NetworkNode['pods'][number]>();

  constructor(client: ClusterClient, nodes: readonly NetworkNode[]) {
    this.#client = client;
    this.#nodes = nodes;
  }

  /** Acts until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const pods = new Informer<Pod, Pod>(
      { client: this.#client, logger: pino({ level: 'silent' }), type: PODS, selection: {}, project: (pod) => pod },
    );
    pods.onChange((key, _before, after) => void this.#sync(key, after).catch(() => undefined));
    void pods.run(signal);
    while (!signal.aborted) {
      for (const node of this.#nodes) await this.#report(node).catch(() => undefined);
      await delay(HEARTBEAT_MS, signal);
    }
  }

  async #report({ name, address, pods }: NetworkNode): Promise<void> {
    const room = { cpu: '8', memory: '16Gi', 'ephemeral-storage': '10Gi', pods: String(pods.length) };
    const now = new Date().toISOString();
    const conditions = [{
      type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: now,
      lastTransitionTime: now,
    }];
    const status =
      { capacity: room, allocatable: room, addresses: [{ type: 'InternalIP', address }], conditions } as Node['status'];
    await this.#client.patch(NODES, { name, subresource: 'status' }, { patchType: 'merge', patch: { status } });
  }

  async #sync(key: string, pod: Pod | undefined): Promise<void> {
    const node = this.#nodes.find(({ name }) => name === pod?.spec.nodeName);
    if (pod === undefined || node === undefined) return void this.#given.delete(key);
    const { namespace = '', name = '', uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) {
      return this.#client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0 });
    }
    // What the node lifecycle controller says of a pod whose node was silent for a while is put right again.
    if (
      this.#given.has(key) && pod.status?.conditions
        ?.every(({ type, status }) => type !== 'Ready' || status === 'True') === true
    ) return;
    const taken = new Set(this.#given.values());
    const free = this.#given.get(key) ?? node.pods.find((one) => !taken.has(one));
    if (free === undefined) throw new Error(`no namespace is left on ${node.name}`);
    this.#given.set(key, free);
    await this.#client.patch(PODS, { namespace, name, subresource: 'status' }, {
      patchType: 'strategic', patch: { metadata: { uid }, status: runningIn(pod, free.address) },
    });
  }
}

function runningIn(pod: Pod, address: string): object {
  const now = new Date().toISOString();
  const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map(
    (type) => ({ type, status: 'True', lastTransitionTime: now }),
  );
  const containerStatuses = pod.spec.containers.map(({ name, image }) => (
    { name, image, imageID: '', ready: true, started: true, restartCount: 0, state: { running: { startedAt: now } } }
  ));
  return { phase: 'Running', startTime: now, podIP: address, podIPs: [{ ip: address }], conditions, containerStatuses };
}
