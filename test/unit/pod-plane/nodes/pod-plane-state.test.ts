// What a node knows of its pod plane, from objects that come, change and go in any order.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ANNOUNCED_KEYS_ANNOTATION } from '../../../../api/kinds/gateway.ts';
import {
  BROKER_COPY_LABEL, GATEWAY_NODE_LABEL, OWN_ENDPOINT_LABEL, PROVIDER_KEY, PROVIDER_VALUE,
} from '../../../../api/objects/keys.ts';
import {
  CLUSTERSET_ENDPOINTS, CLUSTERSET_GATEWAYS, CLUSTERSET_MEMBERS, LEASES, NODES,
} from '../../../../api/resource-types.ts';
import { PodPlaneState } from '../../../../pod-plane/nodes/pod-plane-state.ts';
import { FakeCluster } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { endpoint, gateway, lease, member, NAMESPACE, node, OWN } from './plane-objects.ts';

let cluster: FakeCluster;
let stop: AbortController;

describe('what a node knows of its pod plane', () => {
  beforeEach(() => {
    [cluster, stop] = [new FakeCluster(), new AbortController()];
  });
  afterEach(async () => {
    stop.abort();
    await cluster.settled();
  });

  async function known(): Promise<PodPlaneState> {
    const state = new PodPlaneState({ client: cluster.client, namespace: NAMESPACE, logger: SILENT });
    void state.run(stop.signal);
    await cluster.settled();
    return state;
  }

  it('is its cluster by the gateway that said it last', async () => {
    cluster.put(CLUSTERSET_GATEWAYS, gateway('one', 'old', '2026-01-01T00:00:00Z'));
    cluster.put(CLUSTERSET_GATEWAYS, gateway('other', 'eu', '2026-01-01T00:00:01Z'));
    cluster.put(CLUSTERSET_ENDPOINTS, endpoint('us', {}, { [OWN_ENDPOINT_LABEL]: 'true' }));
    assert.equal((await known()).clusterId, 'eu');
  });

  it('is its cluster as announced where no gateway runs, and stays so when that is gone', async () => {
    cluster.put(CLUSTERSET_ENDPOINTS, endpoint('us'));
    cluster.put(CLUSTERSET_ENDPOINTS, OWN);
    const state = await known();
    assert.equal(state.clusterId, 'eu');
    cluster.remove(CLUSTERSET_ENDPOINTS, `${NAMESPACE}/eu-wireguard`);
    await cluster.settled();
    assert.equal(state.clusterId, 'eu');
  });

  it('is which of its keys the broker tells of; all of them where members are made by hand', async () => {
    const announced = { [OWN_ENDPOINT_LABEL]: 'true' };
    const noted = { annotations: { [ANNOUNCED_KEYS_ANNOTATION]: 'a b' }, labels: announced };
    cluster.put(CLUSTERSET_MEMBERS, member('hand'));
    const { metadata, ...copied } = member('eu');
    cluster.put(CLUSTERSET_MEMBERS, { ...copied, metadata: { ...metadata, labels: { [BROKER_COPY_LABEL]: 'true' } } });
    cluster.put(CLUSTERSET_ENDPOINTS, OWN);
    const state = await known();
    assert.deepEqual([state.isAnnounced('hand', ['a']), state.isAnnounced('eu', ['a', 'b'])], [true, false]);
    cluster.put(CLUSTERSET_ENDPOINTS, { ...OWN, metadata: { ...OWN.metadata, ...noted } });
    await cluster.settled();
    assert.deepEqual([state.isAnnounced('eu', ['a', 'b']), state.isAnnounced('eu', ['b'])], [true, false]);
  });

  it('is no cluster from the endpoints of others', async () => {
    cluster.put(CLUSTERSET_ENDPOINTS, endpoint('us', {}, { [OWN_ENDPOINT_LABEL]: 'false' }));
    assert.equal((await known()).clusterId, undefined);
  });

  it('is told when the Lease has another holder, and not when it is renewed', async () => {
    cluster.put(LEASES, lease('one/a'));
    const state = await known();
    let told = 0;
    state.onChange(() => (told += 1));
    told = 0;
    cluster.put(LEASES, lease('one/a', '2'));
    await cluster.settled();
    assert.equal(told, 0);
    cluster.put(LEASES, lease('other/b', '3'));
    await cluster.settled();
    assert.equal(told, 1);
  });

  for (const [what, holder, name] of [
    ['the holder of the Lease', 'one/instanceId', 'one'], ['none without a holder', '', undefined],
    ['none that is no node', 'gone/instanceId', undefined], ['none of another form', 'one', undefined],
  ] as const) it(`is the gateway: ${what}`, async () => {
    cluster.put(NODES, node('one', ['10.0.0.1']));
    cluster.put(LEASES, lease(holder));
    assert.equal((await known()).gateway?.name, name);
  });

  it('leaves out nodes of IPv6 alone and virtual ones', async () => {
    cluster.put(NODES, node('one', ['2001:db8::1', '10.0.0.1'], {}, ['fd00::/64', '10.1.1.0/24']));
    cluster.put(NODES, node('six', ['2001:db8::2']));
    cluster.put(NODES, node('virtual', ['10.0.0.3'], { [PROVIDER_KEY]: PROVIDER_VALUE }));
    const state = await known();
    assert.deepEqual(state.nodes().map(({ name, address, podCIDR }) => [name, address, podCIDR]), [
      ['one', '10.0.0.1', '10.1.1.0/24'],
    ]);
    assert.deepEqual(['one', 'six', 'virtual'].map((name) => state.isCandidate(name)), [true, false, false]);
  });

  it('has the labelled nodes alone as candidates, where there are any', async () => {
    cluster.put(NODES, node('a', ['10.0.0.1']));
    cluster.put(NODES, node('b', ['10.0.0.2'], { [GATEWAY_NODE_LABEL]: 'true' }));
    const state = await known();
    assert.deepEqual([state.isCandidate('a'), state.isCandidate('b')], [false, true]);
  });
});
