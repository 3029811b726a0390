// Prometheus metrics of this process, in one registry. Names and units follow Prometheus and, for queues, client-go
// `util/workqueue`. Labels have low cardinality: names of controllers and leases, never of objects.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { version } from './version.ts';

/** Where all metrics of this process are registered. */
export const METRICS = new Registry();

gauge('isthmus_build_info', '1; which build this is.', ['version', 'node_version'])
  .set({ version: version(), node_version: process.version }, 1);

/** A counter of this process. */
export function counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Counter<L> {
  return new Counter({ name, help, labelNames, registers: [METRICS] });
}

/** A gauge of this process. */
export function gauge<L extends string>(name: string, help: string, labelNames: readonly L[] = []): Gauge<L> {
  return new Gauge({ name, help, labelNames, registers: [METRICS] });
}

/** A gauge of this process whose series `collect` sets at each scrape. */
export function gaugeAtScrape<L extends string>(
  name: string, help: string, labelNames: readonly L[], collect: (gauge: Gauge<L>) => void,
): void {
  METRICS.registerMetric(new Gauge({
    name, help, labelNames, registers: [],
    collect() {
      this.reset();
      collect(this);
    },
  }));
}

/** A histogram of this process. */
export function histogram<L extends string>(
  name: string, help: string, buckets: readonly number[], labelNames: readonly L[] = [],
): Histogram<L> {
  return new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [METRICS] });
}

const others: Registry[] = [];

/** Serves another registry along with this one: that of a server with its own. */
export function serveAlso(registry: Registry): void {
  others.push(registry);
}

/** All metrics as text, for a scrape. */
export function metricsText(): Promise<string> {
  return Registry.merge([METRICS, ...others]).metrics();
}

/** Adds Node.js default metrics (memory, CPU, event loop). Call once, where metrics are served. */
export function collectProcessMetrics(): void {
  collectDefaultMetrics({ register: METRICS });
}

const LATENCY_BUCKETS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];
const requests = histogram(
  'isthmus_api_request_duration_seconds', 'How long a call to an API server took, by its outcome.', LATENCY_BUCKETS,
  ['verb', 'resource', 'code'],
);
const lists = counter(
  'isthmus_informer_lists_total', 'Complete lists, including the first one of each collection.', ['resource'],
);
const breaks = counter(
  'isthmus_informer_watch_breaks_total', 'Watches that were open and ended with an error.', ['resource'],
);
const informers = new Set<{ readonly resource: string; readonly size: () => number }>();
gaugeAtScrape('isthmus_informer_objects', 'Cached objects.', ['resource'], (objects) => {
  for (const { resource, size } of informers) objects.inc({ resource }, size());
});

const queues = new Map<string, Set<() => number>>();
const leases = new Map<string, () => boolean>();

const adds = counter('isthmus_workqueue_adds_total', 'Keys that were added.', ['name']);
const retries = counter('isthmus_workqueue_retries_total', 'Runs that failed and are retried.', ['name']);
const waits = histogram(
  'isthmus_workqueue_queue_duration_seconds', 'How long a key waited before its run.', LATENCY_BUCKETS, ['name'],
);
const work = histogram('isthmus_workqueue_work_duration_seconds', 'How long a run took.', LATENCY_BUCKETS, ['name']);
gaugeAtScrape('isthmus_workqueue_depth', 'Keys that wait or run.', ['name'], (keys) => {
  for (const [name, depths] of queues) keys.set({ name }, [...depths].reduce((sum, depth) => sum + depth(), 0));
});
gaugeAtScrape('isthmus_leading', 'Whether this process holds the lease.', ['lease'], (leading) => {
  for (const [lease, holds] of leases) leading.set({ lease }, holds() ? 1 : 0);
});

/** Metrics of a work queue; times in ms. */
export interface QueueMetrics {
  /** A key was added that was not queued before. */
  added(): void;
  /** A run started, this long after the key was added. */
  started(waitedMs: number): void;
  ended(ranMs: number, outcome: 'done' | 'failed'): void;
}

/**
 * Metrics of a queue of this name; `depth` is read at each scrape until `signal` aborts. Queues of one name, for
 * example one per target, are summed.
 */
export function queueMetrics(name: string, depth: () => number, signal: AbortSignal): QueueMetrics {
  const depths = queues.get(name) ?? new Set();
  queues.set(name, depths.add(depth));
  signal.addEventListener('abort', () => depths.delete(depth), { once: true });
  const [added, failed, waited, ran] = [adds.labels(name), retries.labels(name), waits.labels(name), work.labels(name)];
  return {
    added: () => added.inc(),
    started: (waitedMs) => waited.observe(waitedMs / 1_000),
    ended: (ranMs, outcome) => {
      ran.observe(ranMs / 1_000);
      if (outcome === 'failed') failed.inc();
    },
  };
}

/** Reports whether a Lease is held; read at each scrape. */
export function leaseMetric(lease: string, holds: () => boolean): void {
  leases.set(lease, holds);
}

/** Records an API call that took `ms`; `code` is the status of its response, or `none`. */
export function observeApiCall(
  labels: { readonly verb: string; readonly resource: string; readonly code: string }, ms: number,
): void {
  requests.observe({ ...labels }, ms / 1_000);
}

/** Metrics of an informer. */
export interface InformerMetrics {
  listed(): void;
  broke(): void;
  /** The informer has stopped. */
  ended(): void;
}

/** Metrics of an informer of a resource; those of several clusters are summed. `size` is read at each scrape. */
export function informerMetrics(resource: string, size: () => number): InformerMetrics {
  const informer = { resource, size };
  informers.add(informer);
  const [listed, broke] = [lists.labels(resource), breaks.labels(resource)];
  return { listed: () => listed.inc(), broke: () => broke.inc(), ended: () => void informers.delete(informer) };
}
