// Prometheus metrics of the gateway, named after Submariner's where these exist. The label `remote_cluster` has one
// value per member of the clusterset.
import { counter, gaugeAtScrape } from '../../process/metrics.ts';
import type { CableConnection, StreamRecord } from '../protocol/cable-driver.ts';
import type { FailureCause } from '../protocol/failure-cause.ts';

const streams = counter(
  'isthmus_gateway_streams_total', 'Streams that were requested.', ['direction', 'lane', 'outcome'],
);
const refusals = counter('isthmus_gateway_refused_connections_total', 'Connections that were refused.', ['cause']);
/** Read at each scrape. */
export interface ObservedGateway {
  readonly connections: () => readonly CableConnection[];
  /** Expiry of this cluster's certificate, in ms since the epoch; undefined before it has joined. */
  readonly certificateEndMs: () => number | undefined;
}

let observed: ObservedGateway = { connections: () => [], certificateEndMs: () => undefined };

/** Says where cables and certificate are looked up at each scrape. */
export function observeGateway(gateway: ObservedGateway): void {
  observed = gateway;
}

/** Counts a stream. */
export function countStream({ direction, lane, outcome }: StreamRecord): void {
  streams.inc({ direction, lane, outcome });
}

/** Counts a rejected connection. */
export function countRefusal(cause: FailureCause): void {
  refusals.inc({ cause });
}

function perCluster(name: string, help: string, value: (connection: CableConnection) => number | undefined): void {
  gaugeAtScrape(name, help, ['remote_cluster'], (gauge) => {
    for (const connection of observed.connections()) {
      const is = value(connection);
      if (is !== undefined) gauge.set({ remote_cluster: connection.clusterId }, is);
    }
  });
}

perCluster('isthmus_gateway_connected', 'Whether there is a gateway connection to the cluster.', ({ status }) => (
  status === 'connected' ? 1 : 0
));
// A connection that is down has no round trip: the last value would look healthy.
perCluster(
  'isthmus_gateway_round_trip_seconds', 'Last round trip to the gateway of the cluster.',
  ({ status, roundTripMs }) => (status === 'connected' && roundTripMs !== undefined ? roundTripMs / 1_000 : undefined),
);
perCluster('isthmus_gateway_rx_bytes', 'Bytes that came from the cluster.', ({ rxBytes }) => rxBytes);
perCluster('isthmus_gateway_tx_bytes', 'Bytes that went to the cluster.', ({ txBytes }) => txBytes);

gaugeAtScrape(
  'isthmus_gateway_certificate_expiry_timestamp_seconds',
  "When this cluster's certificate in the clusterset expires, in seconds since the epoch.", [], (expiry) => {
    const end = observed.certificateEndMs();
    if (end === undefined) expiry.remove();
    else expiry.set(end / 1_000);
  },
);
