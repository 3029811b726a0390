// The load generator: pods created by POST with the concurrency of a busy controller, and one watch that observes them
// Running. Not part of what is measured, and the same for elected and plain pods.
import type { Pod } from '../../api/objects/core.ts';
import { PODS } from '../../api/resource-types.ts';
import { isNotFound } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { AppError } from '../../process/errors.ts';
import { createLogger } from '../../process/logger.ts';

/** Where pods are made, and with which annotations. */
export interface PodLoadOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** How a number of pods, asked for at once, got Running. */
export interface Burst {
  /** From the first POST to the watch event that shows the last pod Running, in ms. */
  readonly ms: number;
  readonly podsPerSecond: number;
  /** For each pod that got Running, from its own POST to its Running, in ms. */
  readonly podMs: readonly number[];
  /** The same period in ms since the epoch, for audit logs. */
  readonly from: number;
  readonly to: number;
}

interface PodState {
  readonly name: string;
  readonly nodeName: string;
  readonly isRunning: boolean;
}

/** When a burst has lasted long enough. */
export interface Enough {
  /** So many of its pods must be Running on such nodes. */
  readonly pods: number;
  readonly where: (nodeName: string) => boolean;
}

/** Calls in flight. */
const PARALLEL_CALLS = 32;
/** The longest that pods may take to get Running, or to be gone, in ms: beyond it something is broken. */
const TIMEOUT_MS = 180_000;

/** Makes and removes the pods of one namespace. */
export class PodLoad {
  readonly #options: PodLoadOptions;
  readonly #pods: Informer<Pod, PodState>;
  /** When each pod of the last burst was first seen Running, in ms of the monotonic clock, and on which node. */
  readonly #runningAt = new Map<string, { readonly at: number; readonly nodeName: string }>();
  /** Called at each change of a pod. */
  readonly #waiting = new Set<() => void>();
  #bursts = 0;

  constructor(options: PodLoadOptions) {
    this.#options = options;
    this.#pods = new Informer<Pod, PodState>({
      client: options.client,
      logger: createLogger('warn'),
      type: PODS,
      selection: { namespace: options.namespace },
      project: ({ metadata, spec, status }) =>
        ({ name: metadata.name ?? '', nodeName: spec.nodeName ?? '', isRunning: status?.phase === 'Running' }),
    });
    this.#pods.onChange((_key, before, after) => {
      const isOfBurst = after?.name.startsWith(`load-${this.#bursts}-`) ?? false;
      if (isOfBurst && after?.isRunning && !before?.isRunning) {
        this.#runningAt.set(after.name, { at: performance.now(), nodeName: after.nodeName });
      }
      if (after?.isRunning !== before?.isRunning) for (const check of this.#waiting) check();
    });
  }

  /** Starts the watch; resolves once it is open. */
  async open(signal: AbortSignal): Promise<void> {
    void this.#pods.run(signal);
    await this.#pods.synced;
  }

  /**
   * Makes `count` pods and waits until all, or `enough` of them, are Running. Throws what a refused POST throws, and
   * AppError when it takes too long.
   */
  async burst(
    count: number, signal: AbortSignal, { pods, where }: Enough = { pods: count, where: () => true },
  ): Promise<Burst> {
    const burst = ++this.#bursts;
    const names = Array.from({ length: count }, (_, index) => `load-${burst}-${index}`);
    const postedAt = new Map<string, number>();
    this.#runningAt.clear();
    const from = Date.now();
    const began = performance.now();
    const create = async (name: string): Promise<void> => {
      postedAt.set(name, performance.now());
      await this.#options.client.create(PODS, this.#pod(name), signal);
    };
    const counted = (): readonly number[] => [...this.#runningAt.values()].filter(({ nodeName }) => where(nodeName))
      .map(({ at }) => at);
    await Promise.all([atOnce(names, create), this.#until(() => counted().length >= pods, 'Running', signal)]);
    const ms = (counted().toSorted((one, other) => one - other)[pods - 1] ?? Number.NaN) - began;
    const podMs = names
      .map((name) => (this.#runningAt.get(name)?.at ?? Number.NaN) - (postedAt.get(name) ?? Number.NaN))
      .filter((time) => !Number.isNaN(time));
    return { ms, podsPerSecond: (pods * 1_000) / ms, podMs, from, to: Date.now() };
  }

  /** Resolves once every pod that is there is Running. */
  untilAllRunning(signal: AbortSignal): Promise<void> {
    return this.#until(() => [...this.#pods.records()].every(({ isRunning }) => isRunning), 'Running', signal);
  }

  /** Deletes all pods, as a user would, and waits until the watch has seen them go. */
  async clear(signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const names = [...this.#pods.records()].map(({ name }) => name);
    const remove = (name: string): Promise<void> =>
      client.delete(PODS, { namespace, name }, {}, signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    await Promise.all([atOnce(names, remove), this.untilEmpty(signal)]);
  }

  /** Resolves once the namespace has no pod. */
  untilEmpty(signal: AbortSignal): Promise<void> {
    return this.#until(() => this.#pods.size === 0, 'gone', signal);
  }

  #pod(name: string): Pod {
    const { namespace, annotations } = this.#options;
    const requests = { cpu: '100m', memory: '64Mi' };
    return {
      metadata: { namespace, name, labels: { app: 'load' }, annotations },
      spec: { containers: [{ name: 'main', image: 'registry.example/load:v1', resources: { requests } }] },
    };
  }

  #until(condition: () => boolean, what: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (end: () => void): void => {
        this.#waiting.delete(check);
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        end();
      };
      const check = (): void => {
        if (condition()) settle(resolve);
      };
      const stop = (): void => settle(() => reject(signal.reason));
      const timer = setTimeout(() => settle(() => reject(this.#tooLong(what))), TIMEOUT_MS).unref();
      signal.addEventListener('abort', stop, { once: true });
      this.#waiting.add(check);
      if (signal.aborted) stop();
      else check();
    });
  }

  #tooLong(what: string): AppError {
    const running = [...this.#pods.records()].filter((pod) => pod.isRunning).length;
    const seconds = TIMEOUT_MS / 1_000;
    return new AppError(
      'Timeout',
      `After ${seconds} s not all pods of ${this.#options.namespace} are ${what}: ${running} of ${this.#pods.size} ` +
        'are Running.',
    );
  }
}

/** Works on all items, as many at once as a busy controller; throws the first error once no more calls are begun. */
export async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: PARALLEL_CALLS }, worker));
}
