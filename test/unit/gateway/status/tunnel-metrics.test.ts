// What the gateway tells when metrics are asked for.
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { CableConnection } from '../../../../gateway/protocol/cable-driver.ts';
import { countStream, observeGateway, type ObservedGateway } from '../../../../gateway/status/tunnel-metrics.ts';
import { METRICS } from '../../../../process/metrics.ts';

const CABLE: CableConnection = {
  clusterId: 'east', status: 'connected', statusMessage: '4 sessions', usingNAT: false, rxBytes: 10, txBytes: 20,
  roundTripMs: 2.5,
};
const lines = async () => (await METRICS.metrics()).split('\n')
  .filter((line) => line.startsWith('isthmus_gateway_') && !line.includes('_total'));
const observe = (more: Partial<ObservedGateway>) =>
  observeGateway({ connections: () => [], certificateEndMs: () => undefined, ...more });

describe('metrics of the gateway', () => {
  afterEach(() => observe({}));

  const cases: Record<string, [gateway: Partial<ObservedGateway>, told: readonly string[]]> = {
    'before the cluster has joined tell nothing': [{}, []],
    'tell the end of the certificate in seconds': [{ certificateEndMs: () => 1_700_000_000_500 }, [
      'isthmus_gateway_certificate_expiry_timestamp_seconds 1700000000.5',
    ]],
    'tell of a cable that is up, with its last round trip in seconds': [{ connections: () => [CABLE] }, [
      'isthmus_gateway_connected{remote_cluster="east"} 1',
      'isthmus_gateway_round_trip_seconds{remote_cluster="east"} 0.0025',
      'isthmus_gateway_rx_bytes{remote_cluster="east"} 10', 'isthmus_gateway_tx_bytes{remote_cluster="east"} 20',
    ]],
    'tell no round trip of a cable that is down': [{ connections: () => [{ ...CABLE, status: 'error' }] }, [
      'isthmus_gateway_connected{remote_cluster="east"} 0',
      'isthmus_gateway_rx_bytes{remote_cluster="east"} 10', 'isthmus_gateway_tx_bytes{remote_cluster="east"} 20',
    ]],
  };
  for (const [what, [gateway, told]] of Object.entries(cases)) {
    it(what, async () => {
      observe(gateway);
      assert.deepEqual((await lines()).toSorted(), told);
    });
  }

  it('forget a member that has left', async () => {
    let members: readonly CableConnection[] = [CABLE, { ...CABLE, clusterId: 'west' }];
    observe({ connections: () => members });
    assert.ok((await lines()).some((line) => line.includes('west')));
    members = [CABLE];
    assert.ok(!(await lines()).some((line) => line.includes('west')));
  });

  it('count streams by who asked for them and what became of it', async () => {
    countStream({
      direction: 'in', clusterId: 'east', service: 'etcd', lane: 'bulk', from: '10.0.0.1', outcome: 'refused',
      reason: 'not on the list',
    });
    assert.ok((await METRICS.metrics()).includes(
      'isthmus_gateway_streams_total{direction="in",lane="bulk",outcome="refused"} 1',
    ));
  });
});
