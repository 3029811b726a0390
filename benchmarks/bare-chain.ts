// The floor of P13: the sequence of requests that any pod of one cluster needs to run in another, with no decisions,
// checks or state in between. No webhook, no leases, no second process: no system that delegates a pod by a custom
// resource can need fewer (ADR 0038).
import type { KubernetesObject, Pod } from '../api/objects/core.ts';
import { CONFIG_MAPS, PODS } from '../api/resource-types.ts';
import { isNotFound, unless } from '../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import { Informer } from '../kubernetes/watch/informer.ts';
import { AppError } from '../process/errors.ts';
import { createLogger } from '../process/logger.ts';

/** Where the chain goes through. The namespace is in both clusters and not opted in. */
export interface BareChainOptions {
  readonly source: ClusterClient;
  readonly target: ClusterClient;
  readonly namespace: string;
}

/** What the chain knows of a pod. */
interface Seen {
  readonly name: string;
  readonly isBound: boolean;
  readonly isRunning: boolean;
}

/** A kube-scheduler passes such pods by, and nobody else looks at them. */
const NOBODY = 'nobody';
/** No such node: pods bound to it stay there until they are deleted, which is at once. */
const NODE_NAME = 'bare-chain';
const PATIENCE_MS = 60_000;
const RUNNING = {
  status: {
    phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses:
      [{ name: 'main', ready: true, started: true, restartCount: 0, image: 'i', imageID: '', state: { running: {} } }],
  },
};

/** Runs single pods through the chain. */
export class BareChain {
  readonly #options: BareChainOptions;
  readonly #proxies: Informer<Pod, Seen>;
  readonly #orders: Informer<KubernetesObject, { readonly name: string }>;
  readonly #delegates: Informer<Pod, Seen>;
  #count = 0;
  #settle: (end: { readonly error?: unknown }) => void = () => undefined;
  #bound: Promise<unknown> = Promise.resolve();

  constructor(options: BareChainOptions) {
    this.#options = options;
    const { source, target, namespace } = options;
    const common = { logger: createLogger('warn'), selection: { namespace } };
    const toSeen = ({ metadata, spec, status }: Pod): Seen =>
      ({ name: metadata.name ?? '', isBound: spec.nodeName !== undefined, isRunning: status?.phase === 'Running' });
    this.#proxies = new Informer({ ...common, client: source, type: PODS, project: toSeen });
    this.#orders = new Informer<KubernetesObject, { readonly name: string }>({
      ...common, client: target, type: CONFIG_MAPS,
      project: ({ metadata }) => (metadata.name?.startsWith(`${NODE_NAME}-`) ? { name: metadata.name } : undefined),
    });
    this.#delegates = new Informer({ ...common, client: target, type: PODS, project: toSeen });
    this.#proxies.onChange((_key, before, after) => after !== undefined && this.#onProxy(before, after));
    this.#orders.onChange((_key, before, after) => after !== undefined && before === undefined && this.#do(
      target.create(PODS, this.#pod(after.name)),
    ));
    this.#delegates.onChange((_key, before, after) => after !== undefined && this.#onDelegate(before, after));
  }

  /** Starts the watches; resolves once they are open. */
  async open(signal: AbortSignal): Promise<void> {
    const informers = [this.#proxies, this.#orders, this.#delegates];
    for (const informer of informers) void informer.run(signal);
    await Promise.all(informers.map(({ synced }) => synced));
  }

  /**
   * From the POST of one pod to the event that shows it Running in the source, in ms; the pod is gone then. Throws what
   * a call throws, and AppError when it takes too long.
   */
  async pod(): Promise<number> {
    const name = `${NODE_NAME}-${(this.#count += 1)}`;
    const since = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const running = new Promise<void>((resolve, reject) => {
      this.#settle = ({ error }) => (error === undefined ? resolve() : reject(error));
      timer = setTimeout(
        () => reject(new AppError('Timeout', `${name} is not Running after ${PATIENCE_MS / 1_000} s.`)), PATIENCE_MS,
      );
    });
    this.#do(this.#options.source.create(
      PODS, { ...this.#pod(name), spec: { ...this.#pod(name).spec, schedulerName: NOBODY } } as Pod,
    ));
    try {
      await running;
      return performance.now() - since;
    } finally {
      clearTimeout(timer);
      await this.#remove(name);
    }
  }

  #onProxy(before: Seen | undefined, after: Seen): void {
    const { target, namespace } = this.#options;
    if (before === undefined) {
      this.#do(target.create(
        CONFIG_MAPS,
        {
          metadata: { namespace, name: after.name }, data: { pod: JSON.stringify(this.#pod(after.name)) },
        } as KubernetesObject,
      ));
    }
    if (after.isRunning && !before?.isRunning) this.#settle({});
  }

  #onDelegate(before: Seen | undefined, { name, isBound, isRunning }: Seen): void {
    const { source, namespace } = this.#options;
    if (isBound && !before?.isBound) {
      const binding = {
        apiVersion: 'v1', kind: 'Binding', metadata: { namespace, name },
        target: { apiVersion: 'v1', kind: 'Node', name: NODE_NAME },
      };
      this.#do((this.#bound = source.post(PODS, { namespace, name, subresource: 'binding' }, binding)));
    }
    if (isRunning && !before?.isRunning) {
      this.#do(this.#bound.then(
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
    const { source, target, namespace } = this.#options;
    const at = { namespace, name };
    const now = { gracePeriodSeconds: 0 };
    const deletions = [source.delete(PODS, at, now), target.delete(PODS, at, now), target.delete(CONFIG_MAPS, at, {})];
    // of a chain that broke off, not all are there
    await Promise.all(deletions.map((deletion) => deletion.catch(unless(isNotFound))));
  }

  #do(call: Promise<unknown>): void {
    call.catch((error: unknown) => this.#settle({ error }));
  }
}
