// The floor of P1 and P13: the sequence of requests that any pod of one cluster needs to run in another, with no
// decisions, checks or state in between. No webhook, no leases, no second process: no system that delegates a pod by a
// custom resource can need fewer (ADR 0038).
import type { KubernetesObject, Pod } from '../../api/objects/core.ts';
import { CONFIG_MAPS, PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { AppError } from '../../process/errors.ts';
import { createLogger } from '../../process/logger.ts';
import { atOnce } from './pod-load.ts';

/** Where the chain goes through. The namespace is in all clusters and not opted in. */
export interface BareChainOptions {
  readonly source: ClusterClient;
  /** Pods go to them in turn; single pods to the first. */
  readonly targets: readonly ClusterClient[];
  readonly namespace: string;
}

/** How the pods of a burst got Running. */
export interface BareBurst {
  /** From the first POST to the event that shows the last pod Running in the source, in ms. */
  readonly ms: number;
  readonly podsPerSecond: number;
}

/** What the chain knows of a pod. */
interface Seen {
  readonly name: string;
  readonly isBound: boolean;
  readonly isRunning: boolean;
}

/** One pod on its way. */
interface Traveller {
  readonly target: ClusterClient;
  readonly settle: (end: { readonly error?: unknown }) => void;
  bound: Promise<unknown>;
}

/** A kube-scheduler passes such pods by, and nobody else looks at them. */
const NOBODY = 'nobody';
const PREFIX = 'bare-chain';
const TIMEOUT_MS = 60_000;
const RUNNING = {
  status: {
    phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses:
      [{ name: 'main', ready: true, started: true, restartCount: 0, image: 'i', imageID: '', state: { running: {} } }],
  },
};

/** Runs pods through the chain, one alone or many at once. */
export class BareChain {
  readonly #options: BareChainOptions;
  readonly #informers: readonly { run(signal: AbortSignal): Promise<void>; readonly synced: Promise<void> }[];
  readonly #travellers = new Map<string, Traveller>();
  #count = 0;
  /**
   * No such node: pods that are bound to it stay until they are deleted. Each burst has another one, since
   * kube-controller-manager (`podgc`) deletes all pods of a node 40 s after it first finds the node missing.
   */
  #nodeName = PREFIX;

  constructor(options: BareChainOptions) {
    this.#options = options;
    const { source, targets, namespace } = options;
    const common = { logger: createLogger('warn'), selection: { namespace } };
    const proxies = new Informer({ ...common, client: source, type: PODS, project: toSeen });
    proxies.onChange((_key, before, after) => after !== undefined && this.#onProxy(before, after));
    this.#informers = [proxies, ...targets.flatMap((client) => {
      const orders = new Informer<KubernetesObject, { readonly name: string }>({
        ...common, client, type: CONFIG_MAPS,
        project: ({ metadata }) => (metadata.name?.startsWith(`${PREFIX}-`) ? { name: metadata.name } : undefined),
      });
      orders.onChange((_key, before, after) => after !== undefined && before === undefined && this.#do(
        after.name, client.create(PODS, this.#pod(after.name)),
      ));
      const delegates = new Informer({ ...common, client, type: PODS, project: toSeen });
      delegates.onChange((_key, before, after) => after !== undefined && this.#onDelegate(before, after));
      return [orders, delegates];
    })];
  }

  /** Starts the watches; resolves once they are open. */
  async open(signal: AbortSignal): Promise<void> {
    for (const informer of this.#informers) void informer.run(signal);
    await Promise.all(this.#informers.map(({ synced }) => synced));
  }

  /**
   * From the POST of one pod to the event that shows it Running in the source, in ms; the pod is gone then. Throws what
   * a call throws, and AppError when it takes too long.
   */
  async pod(): Promise<number> {
    try {
      const { ms } = await this.burst(1);
      return ms;
    } finally {
      await this.clear();
    }
  }

  /** Runs so many pods at once, created as those of a load are; they stay. Throws as for a single pod. */
  async burst(count: number): Promise<BareBurst> {
    const { source, targets } = this.#options;
    const names = Array.from({ length: count }, () => `${PREFIX}-${(this.#count += 1)}`);
    this.#nodeName = `${PREFIX}-${this.#count}`;
    const since = performance.now();
    const running = names.map((name, index) => this.#travel(name, targets[index % targets.length]!));
    await Promise.all([...running, atOnce(names, async (name) => {
      const pod = this.#pod(name);
      await source.create(PODS, { ...pod, spec: { ...pod.spec, schedulerName: NOBODY } } as Pod);
    })]);
    const ms = performance.now() - since;
    return { ms, podsPerSecond: (count * 1_000) / ms };
  }

  /** Deletes all that bursts have made. */
  async clear(): Promise<void> {
    await atOnce([...this.#travellers.keys()], (name) => this.#remove(name));
  }

  #travel(name: string, target: ClusterClient): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new AppError('Timeout', `${name} is not Running after ${TIMEOUT_MS / 1_000} s.`)), TIMEOUT_MS,
      );
      const settle = ({ error }: { readonly error?: unknown }): void => {
        clearTimeout(timer);
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#travellers.set(name, { target, settle, bound: Promise.resolve() });
    });
  }

  #onProxy(before: Seen | undefined, { name, isRunning }: Seen): void {
    const traveller = this.#travellers.get(name);
    if (traveller === undefined) return;
    if (before === undefined) {
      const order = {
        metadata: { namespace: this.#options.namespace, name }, data: { pod: JSON.stringify(this.#pod(name)) },
      } as KubernetesObject;
      this.#do(name, traveller.target.create(CONFIG_MAPS, order));
    }
    if (isRunning && !before?.isRunning) traveller.settle({});
  }

  #onDelegate(before: Seen | undefined, { name, isBound, isRunning }: Seen): void {
    const { source, namespace } = this.#options;
    const traveller = this.#travellers.get(name);
    if (traveller === undefined) return;
    if (isBound && !before?.isBound) {
      const binding = {
        apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name },
        target: { apiVersion: 'v1', kind: 'Node', name: this.#nodeName },
      };
      this.#do(name, (traveller.bound = source.post(PODS, { namespace, name, subresource: 'binding' }, binding)));
    }
    if (isRunning && !before?.isRunning) {
      this.#do(name, traveller.bound.then(
        () => source.patch(PODS, { namespace, name, subresource: 'status' }, { patchType: 'merge', patch: RUNNING }),
      ));
    }
  }

  #pod(name: string): Pod {
    const requests = { cpu: '100m', memory: '64Mi' };
    return {
      metadata: { namespace: this.#options.namespace, name, labels: { app: 'load' } },
      spec: { containers: [{ name: 'main', image: 'registry.example/load:v1', resources: { requests } }] },
    };
  }

  async #remove(name: string): Promise<void> {
    const { source, namespace } = this.#options;
    const target = this.#travellers.get(name)?.target;
    this.#travellers.delete(name);
    const at = { namespace, name };
    const now = { gracePeriodSeconds: 0 };
    const there = target === undefined ? [] : [target.delete(PODS, at, now), target.delete(CONFIG_MAPS, at, {})];
    // of a chain that broke off, not all are there
    const deletions = [source.delete(PODS, at, now), ...there];
    await Promise.all(deletions.map((deletion) => deletion.catch(unless(isNotFound))));
  }

  #do(name: string, call: Promise<unknown>): void {
    call.catch((error: unknown) => this.#travellers.get(name)?.settle({ error }));
  }
}

function toSeen({ metadata, spec, status }: Pod): Seen {
  return { name: metadata.name ?? '', isBound: spec.nodeName !== undefined, isRunning: status?.phase === 'Running' };
}
