// Metrics of the kubelet API of virtual nodes: open, opened and refused streams.
import { counter, gaugeAtScrape } from '../../process/metrics.ts';

const opened = counter('isthmus_kubelet_streams_total', 'Streams to delegates that were opened.', ['operation']);
const refusals = counter(
  'isthmus_kubelet_refusals_total', 'Requests to the kubelet API of virtual nodes that were refused.',
  ['operation', 'code'],
);
let open: () => Iterable<string> = () => [];
gaugeAtScrape('isthmus_kubelet_streams', 'Streams to delegates that are open.', ['operation'], (streams) => {
  for (const operation of open()) streams.inc({ operation });
});

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
