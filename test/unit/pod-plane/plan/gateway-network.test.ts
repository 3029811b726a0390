import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gatewayNetwork, type GatewayNetworkFacts } from '../../../../pod-plane/plan/gateway-network.ts';

const FACTS: GatewayNetworkFacts = {
  names: { tunnel: 'wg', vxlan: 'vx' }, pathMtu: 1_500, nodeAddress: '10.0.0.1',
  source: '10.1.0.0', routes: ['10.2.0.0/16'], workers: [{ name: 'w', address: '10.0.0.2', podCIDR: '10.1.2.0/24' }],
};

describe('the network of a gateway node', () => {
  it('has room in the tunnel for what WireGuard adds, and never more on VXLAN than in the tunnel', () => {
    assert.deepEqual(gatewayNetwork(FACTS).links.map(({ name, mtu }) => [name, mtu]), [['wg', 1_420], ['vx', 1_420]]);
    assert.deepEqual(gatewayNetwork({ ...FACTS, pathMtu: 9_000 }).links.map(({ mtu }) => mtu), [8_920, 8_920]);
  });
  it('leads to the others through the tunnel, and to its own nodes over VXLAN, for what comes out of the tunnel',
    () => {
    const { routes, neighbours, rules } = gatewayNetwork(FACTS);
    assert.deepEqual(routes, [
      { device: 'wg', range: '10.2.0.0/16', source: '10.1.0.0' },
      { device: 'vx', range: '10.1.2.0/24', via: '10.0.0.2', table: 7_373 },
    ]);
    assert.deepEqual(
      [neighbours, rules], [[{ device: 'vx', address: '10.0.0.2' }], [{ inInterface: 'wg', table: 7_373 }]],
    );
  });
  it('has no VXLAN where there is no other node, or no address for them', () => {
    for (const given of [{ ...FACTS, workers: [] }, { ...FACTS, nodeAddress: undefined }]) {
      const { links, neighbours } = gatewayNetwork(given);
      assert.deepEqual([links.map(({ name }) => name), neighbours], [['wg'], []]);
    }
  });
});
