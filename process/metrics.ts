// Prometheus metrics of this process, in one registry. Names and units follow Prometheus and, for queues, client-go
// `util/workqueue`. Labels have low cardinality: names of controllers and leases, never of objects.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { version } from './version.ts';

/** Where all metrics of this process are registered. */
export const METRICS = new Registry();

new Gauge({
  name: 'isthmus_build_info', help: '1; which build this is.', labelNames: ['version', 'node_version'],
  registers: [METRICS],
}).set({ version: version(), node_version: process.version }, 1);

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
const requests = new Histogram({
  name: 'isthmus_api_request_duration_seconds',
  help: 'How long a call to an API server took, by its outcome.', labelNames: ['verb', 'resource', 'code'],
  buckets: LATENCY_BUCKETS, registers: [METRICS],
});
const lists = new Counter({
  name: 'isthmus_informer_lists_total', help: 'Complete lists, including the first one of each collection.',
  labelNames: ['resource'], registers: [METRICS],
});
const breaks = new Counter({
  name: 'isthmus_informer_watch_breaks_total', help: 'Watches that ended with an error, or could not be opened.',
  labelNames: ['resource'], registers: [METRICS],
});
const informers = new Set<{ readonly resource: string; readonly size: () => number }>();
METRICS.registerMetric(
  new Gauge({
    name: 'isthmus_informer_objects', help: 'Cached objects.', labelNames: ['resource'], registers: [],
    collect() {
      this.reset();
      for (const { resource, size } of informers) this.inc({ resource }, size());
    },
  }),
);

const queues = new Map<string, Set<() => number>>();
const leases = new Map<string, () => boolean>();

const adds = new Counter({
  name: 'isthmus_workqueue_adds_total', help: 'Keys that were added.', labelNames: ['name'], registers: [METRICS],
});
const retries = new Counter({
  name: 'isthmus_workqueue_retries_total', help: 'Runs that failed and are retried.', labelNames: ['name'],
  registers: [METRICS],
});
const waits = new Histogram({
  name: 'isthmus_workqueue_queue_duration_seconds',
  help: 'How long a key waited before its run.', labelNames: ['name'], buckets: LATENCY_BUCKETS, registers: [METRICS],
});
const work = new Histogram({
  name: 'isthmus_workqueue_work_duration_seconds',
  help: 'How long a run took.', labelNames: ['name'], buckets: LATENCY_BUCKETS, registers: [METRICS],
});
METRICS.registerMetric(
  new Gauge({
    name: 'isthmus_workqueue_depth', help: 'Keys that wait or run.', labelNames: ['name'], registers: [],
    collect() {
      for (const [name, depths] of queues) this.set({ name }, [...depths].reduce((sum, depth) => sum + depth(), 0));
    },
  }),
);
METRICS.registerMetric(
  new Gauge({
    name: 'isthmus_leading', help: 'Whether this process holds the lease.', labelNames: ['lease'], registers: [],
    collect() {
      for (const [lease, holds] of leases) this.set({ lease }, holds() ? 1 : 0);
    },
  }),
);

/** Metrics of a work queue; times in ms. */
export interface QueueMetrics {
  added(): void;
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
