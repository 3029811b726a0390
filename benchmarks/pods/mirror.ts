// P8: latency from a delegate's status change to its proxy pod, against one write and its watch event on the same API
// server. Changes are sequential, alternating with the reference's.
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { isElected, isTerminal, objectKey } from '../../model/pod/pod.ts';
import { AppError } from '../../process/errors.ts';
import { createLogger } from '../../process/logger.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { percentile, spreadOf } from '../results/statistics.ts';

const CHANGES = 300;
const TIMEOUT_MS = 30_000;

/** P8. */
export const MIRROR: Benchmark = {
  id: 'P8',
  title: 'delegate status change until its proxy shows it, p99, against one write and its echo',
  async run(context, signal) {
    const measurements: Measurement[] = [];
    for (const mode of ['PodChaperon', 'Pod'] as const) {
      measurements.push(await withIsthmusUnderLoad(
        { targets: 2, audit: false, mode }, context, (under, stop) => measureMirror(under, mode, context, stop),
        signal,
      ));
    }
    return measurements;
  },
};

async function measureMirror(
  { sandbox, elected, plain }: IsthmusUnderLoad, mode: string, { onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<Measurement> {
  await Promise.all([elected.burst(1, signal), plain.burst(1, signal)]);
  const clusters =
    await Promise.all(sandbox.clusters.map(({ kubeconfigPath }) => WatchedPods.open(kubeconfigPath, signal)));
  try {
    const { source, proxy, home, delegate, first, echoed } = findPods(clusters);
    const ours: number[] = [];
    const reference: number[] = [];
    for (let change = 1; change <= CHANGES; change += 1) {
      ours.push(await home.change(delegate, `change ${change}`, source.sees(proxy, `change ${change}`), signal));
      reference.push(await first.change(echoed, `echo ${change}`, first.sees(echoed, `echo ${change}`), signal));
      if (change % 100 === 0) onProgress(
        `P8, ${mode}: ${change} of ${CHANGES} changes, p99 ${percentile(ours, 0.99).toFixed(1)} ms, echo ` +
          `${percentile(reference, 0.99).toFixed(1)} ms`,
      );
    }
    return toMeasurement(mode, ours, reference);
  } finally {
    for (const watched of clusters) await watched.close();
  }
}

function toMeasurement(mode: string, ours: readonly number[], reference: readonly number[]): Measurement {
  return {
    variant: `p99-${mode}`,
    title: `a change of a delegate's status shown on the proxy, p99 of ${CHANGES}, ${mode} mode`,
    unit: 'ms',
    ours: spreadOf([percentile(ours, 0.99)]),
    reference: spreadOf([percentile(reference, 0.99)]),
    goal: { figure: 'ratio', atMost: 3 },
    details: { p50: { ours: percentile(ours, 0.5), reference: percentile(reference, 0.5) } },
  };
}

interface FoundPods {
  readonly source: WatchedPods;
  readonly proxy: Pod;
  /** Where its delegate is. */
  readonly home: WatchedPods;
  readonly delegate: Pod;
  readonly first: WatchedPods;
  /** A pod of the first target that is none of ours. */
  readonly echoed: Pod;
}

function findPods([source, ...targets]: readonly WatchedPods[]): FoundPods {
  const proxy = source?.find(isElected);
  const home = targets.find((target) => target.find((pod) => isDelegateOf(pod, proxy)) !== undefined);
  const delegate = home?.find((pod) => isDelegateOf(pod, proxy));
  const [first] = targets;
  const echoed =
    first?.find(({ metadata: { labels = {} } }) => labels['app'] === 'load' && labels[PARENT_UID_LABEL] === undefined);
  if (
    source === undefined || proxy === undefined || home === undefined || delegate === undefined || first === undefined
      || echoed === undefined
  ) {
    throw new AppError('NotFound', 'A pod that the benchmark made is missing.');
  }
  return { source, proxy, home, delegate, first, echoed };
}

function isDelegateOf({ metadata: { labels } }: Pod, proxy: Pod | undefined): boolean {
  return proxy?.metadata.uid !== undefined && labels?.[PARENT_UID_LABEL] === proxy.metadata.uid;
}

/** The pods of one cluster, with somebody who waits for what they say. */
class WatchedPods {
  readonly #client: ClusterClient;
  readonly #pods: Informer<Pod, Pod>;
  #waiting: (() => void) | undefined;

  private constructor(client: ClusterClient) {
    this.#client = client;
    this.#pods = new Informer<Pod, Pod>(
      { client, logger: createLogger('warn'), type: PODS, selection: {}, project: (pod) => pod },
    );
    this.#pods.onChange(() => this.#waiting?.());
  }

  static async open(kubeconfigPath: string, signal: AbortSignal): Promise<WatchedPods> {
    const { client } = await openCluster({ kubeconfigPath, userAgent: 'benchmark-mirror/1' });
    const watched = new WatchedPods(client);
    void watched.#pods.run(signal);
    await watched.#pods.synced;
    return watched;
  }

  close(): Promise<void> {
    return this.#client.transport.close();
  }

  find(holds: (pod: Pod) => boolean): Pod | undefined {
    return [...this.#pods.records()].find((pod) => holds(pod) && !isTerminal(pod.status?.phase));
  }

  /**
   * Resolves, with the time in ms of the monotonic clock, once this pod's status has the message. Throws AppError
   * `Timeout`.
   */
  sees({ metadata }: Pod, message: string): () => Promise<number> {
    return () => new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new AppError('Timeout', `${objectKey(metadata)} does not show "${message}".`)), TIMEOUT_MS,
      );
      this.#waiting = () => {
        if (this.#pods.get(objectKey(metadata))?.status?.message !== message) return;
        clearTimeout(timer);
        this.#waiting = undefined;
        resolve(performance.now());
      };
      this.#waiting();
    });
  }

  /** Writes the message into the pod's status and gives the ms from then until it is seen. */
  async change({ metadata }: Pod, message: string, sees: () => Promise<number>, signal: AbortSignal): Promise<number> {
    const seen = sees();
    const began = performance.now();
    const { namespace, name = '' } = metadata;
    const [at] = await Promise.all(
      [seen, this.#client.patch(
        PODS, { namespace, name, subresource: 'status' }, { patchType: 'merge', patch: { status: { message } } },
        signal,
      )],
    );
    return at - began;
  }
}
