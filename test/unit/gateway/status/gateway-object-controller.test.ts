import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetGateway, GatewayStatus } from '../../../../api/kinds/gateway.ts';
import { CLUSTERSET_GATEWAYS } from '../../../../api/resource-types.ts';
import { keepGatewayObject } from '../../../../gateway/status/gateway-object-controller.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const namespace = 'isthmus-system';
const NOW = Date.parse('2026-01-01T00:00:00Z');
const facts = { version: '1', clusterId: 'eu', backend: 'mtls', connections: [], nowMs: NOW };
const gateway = (name: string, status: Partial<GatewayStatus>): Stored => [CLUSTERSET_GATEWAYS, {
  metadata: { namespace, name },
  status: {
    haStatus: 'active', version: '1', clusterID: 'eu', backend: 'mtls', heartbeat: new Date(NOW).toISOString(),
    connections: [], ...status,
  },
} as ClustersetGateway];

/** What a gateway called `own` leaves behind when it has written once. */
async function writtenOnce(cluster: MemoryCluster, isActive: boolean): Promise<MemoryCluster> {
  const stopped = new AbortController();
  const known = (): ReturnType<Parameters<typeof keepGatewayObject>[0]['facts']> => ({ ...facts, isActive });
  cluster.before = ({ method }) => (stopped.signal.aborted && method === 'DELETE' ? new Error('stopped') : undefined);
  const ended =
    keepGatewayObject({ client: cluster.client, namespace, name: 'own', facts: known, logger: SILENT }, stopped.signal);
  await new Promise((resolve) => setImmediate(resolve));
  stopped.abort();
  await ended;
  return cluster;
}

describe('the ClustersetGateway object of a process', () => {
  it('keeps nothing of a process before it that had more to say', async () => {
    const before = { importAddress: '10.0.0.1', certificateExpires: '2026-01-02T00:00:00Z', statusFailure: 'no' };
    const cluster = await writtenOnce(new MemoryCluster(gateway('own', before)), true);
    assert.deepEqual(cluster.find(CLUSTERSET_GATEWAYS, 'own', namespace)?.['status'], {
      haStatus: 'active', version: '1', clusterID: 'eu', backend: 'mtls', heartbeat: new Date(NOW).toISOString(),
      connections: [],
    });
  });

  it('of the active process ends the claims of others, whatever their clocks say', async () => {
    const others = [
      gateway('killed', { heartbeat: new Date(NOW + 300_000).toISOString() }),
      gateway('standby', { haStatus: 'passive' }), gateway('pod-plane-node-1', { backend: 'wireguard' }),
    ];
    const leftOf = async (isActive: boolean) =>
      (await writtenOnce(new MemoryCluster(...others), isActive)).names(CLUSTERSET_GATEWAYS);
    const at = (names: readonly string[]) => names.map((name) => `${namespace}/${name}`);
    assert.deepEqual(await leftOf(false), at(['killed', 'own', 'pod-plane-node-1', 'standby']));
    assert.deepEqual(await leftOf(true), at(['own', 'pod-plane-node-1', 'standby']));
  });

  it('of another stays when that process says meanwhile that it stands by', async () => {
    const cluster = new MemoryCluster(gateway('other', {}));
    const looked = writtenOnce(cluster, true);
    const stop = cluster.before;
    cluster.before = (call) => {
      if (call.method === 'DELETE' && call.path.endsWith('/other')) cluster.put(...gateway('other', {
        haStatus: 'passive',
      }));
      return stop(call);
    };
    await looked;
    assert.deepEqual(cluster.names(CLUSTERSET_GATEWAYS), ['other', 'own'].map((name) => `${namespace}/${name}`));
  });
});
