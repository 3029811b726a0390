// Prometheus metrics of the gateway, named after Submariner's where there is one. The label `remote_cluster` has as many values as the
// clusterset has members.
import { Counter, Gauge } from 'prom-client';
import { METRICS } from '../process/metrics.ts';
import type { CableConnection, StreamRecord } from './cable-driver.ts';
import type { FailureCause } from './failure-cause.ts';

const streams = new Counter({ name: 'isthmus_gateway_streams_total', help: 'Streams that were asked for.', labelNames: ['direction', 'lane', 'outcome'], registers: [METRICS] });
const refusals = new Counter({ name: 'isthmus_gateway_refused_connections_total', help: 'Connections of peers and strangers that were refused.', labelNames: ['cause'], registers: [METRICS] });
let connections: () => readonly CableConnection[] = () => [];

/** Says where cables are looked up at each scrape. */
export function observeConnections(look: () => readonly CableConnection[]): void {
  connections = look;
}

/** Counts a stream. */
export function countStream({ direction, lane, outcome }: StreamRecord): void {
  streams.inc({ direction, lane, outcome });
}

/** Counts a connection that was refused. */
export function countRefusal(cause: FailureCause): void {
  refusals.inc({ cause });
}

function perCluster(name: string, help: string, value: (connection: CableConnection) => number): void {
  METRICS.registerMetric(
    new Gauge({
      name, help, labelNames: ['remote_cluster'], registers: [],
      collect() {
        this.reset();
        for (const connection of connections()) this.set({ remote_cluster: connection.clusterId }, value(connection));
      },
    }),
  );
}

perCluster('isthmus_gateway_connected', 'Whether there is a cable to the cluster.', ({ status }) => (status === 'connected' ? 1 : 0));
perCluster('isthmus_gateway_rx_bytes', 'Bytes that came from the cluster.', ({ rxBytes }) => rxBytes);
perCluster('isthmus_gateway_tx_bytes', 'Bytes that went to the cluster.', ({ txBytes }) => txBytes);
