// Metrics of the kubelet API of virtual nodes: open, opened and refused streams.
import { Counter, Gauge } from 'prom-client';
import { METRICS } from '../../process/metrics.ts';

const opened = new Counter({
  name: 'isthmus_kubelet_streams_total', help: 'Streams to delegates that were opened.', labelNames: ['operation'],
  registers: [METRICS],
});
const refusals = new Counter({
  name: 'isthmus_kubelet_refusals_total', help: 'Requests to the kubelet API of virtual nodes that were refused.',
  labelNames: ['operation', 'code'], registers: [METRICS],
});
let open: () => Iterable<string> = () => [];
METRICS.registerMetric(
  new Gauge({
    name: 'isthmus_kubelet_streams',
    help: 'Streams to delegates that are open.', labelNames: ['operation'], registers: [],
    collect() {
      this.reset();
      for (const operation of open()) this.inc({ operation });
    },
  }),
);

/** Metrics of the process's one server; `streams` returns the operations of open streams at each scrape. */
export class KubeletMetrics {
  constructor(streams: () => Iterable<string>) {
    open = streams;
  }

  /** Counts a stream. */
  began(operation: string): void {
    opened.labels(operation).inc();
  }

  /** Counts a refused request. */
  refused(operation: string, code: number): void {
    refusals.labels(operation, String(code)).inc();
  }
}
