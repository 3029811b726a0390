import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  planNetwork, planRemoval, vxlanMac, type Network, type ObservedNetwork,
} from '../../../../pod-plane/plan/network-plan.ts';

const NOTHING: ObservedNetwork =
  { links: [], addresses: [], routes: [], neighbours: [], forwarding: [], rules: [{ table: 'main' }] };
const EMPTY: Network = { links: [], routes: [], neighbours: [], rules: [] };
const tunnel = { kind: 'wireguard', name: 'wg', mtu: 1_420, address: '10.1.0.0' } as const;
const vxlan = { kind: 'vxlan', name: 'vx', mtu: 1_420, local: '192.0.2.2' } as const;
const wanted: Network = {
  links: [tunnel, vxlan],
  routes: [{ device: 'wg', range: '10.2.0.0/16', source: '10.1.0.0' }, {
    device: 'vx', range: '10.1.2.0/24', via: '192.0.2.3', table: 7_373,
  }],
  neighbours: [{ device: 'vx', address: '192.0.2.3' }],
  rules: [{ inInterface: 'wg', table: 7_373 }],
};
/** As `ip -j` prints what was wanted. */
const there: ObservedNetwork = {
  links: [{ ifname: 'wg', mtu: 1_420, flags: ['POINTOPOINT', 'UP'] }, {
    ifname: 'vx', mtu: 1_420, flags: ['UP'], linkinfo: { info_kind: 'vxlan', info_data: { local: '192.0.2.2' } },
  }],
  addresses: [{ ifname: 'wg', addr_info: [{ local: '10.1.0.0', prefixlen: 32 }, { local: 'fe80::1', prefixlen: 64 }] }],
  routes: [
    { dst: '10.2.0.0/16', dev: 'wg', prefsrc: '10.1.0.0' },
    { dst: '10.1.2.0/24', dev: 'vx', gateway: '192.0.2.3', table: '7373' },
    { dst: '10.1.0.0', dev: 'wg', type: 'local', table: 'local' },
    { dst: 'default', dev: 'eth0', gateway: '192.0.2.1' },
  ],
  neighbours: [{ dst: '192.0.2.3', dev: 'vx', lladdr: vxlanMac('192.0.2.3') }],
  forwarding: [{ mac: vxlanMac('192.0.2.3'), ifname: 'vx', dst: '192.0.2.3' }],
  rules: [{ table: 'local' }, { iif: 'wg', table: '7373' }],
};
const say = (of: Network, observed: ObservedNetwork) => planNetwork(of, observed).map((command) => command.join(' '));

describe('the plan of a node\'s network', () => {
  it('is nothing when all is there', () => assert.deepEqual(say(wanted, there), []));
  it('makes everything but WireGuard\'s own link, in an order that works', () => {
    assert.deepEqual(say(wanted, NOTHING), [
      'ip link set wg mtu 1420', 'ip addr add 10.1.0.0/32 dev wg', 'ip link set wg up',
      'ip link add vx address 02:69:c0:00:02:02 type vxlan id 100 local 192.0.2.2 dstport 4800 nolearning',
      'ip link set vx mtu 1420', 'ip link set vx up',
      'ip neigh replace 192.0.2.3 lladdr 02:69:c0:00:02:03 dev vx nud permanent',
      'ip route replace 10.2.0.0/16 dev wg src 10.1.0.0 proto 73 table 254',
      'ip route replace 10.1.2.0/24 via 192.0.2.3 dev vx onlink proto 73 table 7373',
      'ip rule add iif wg lookup 7373', 'bridge fdb replace 02:69:c0:00:02:03 dev vx dst 192.0.2.3',
    ]);
  });

  const repairs: [string, ObservedNetwork, string[]][] = [
    [
      'a link that was put down',
      { ...there, links: [{ ifname: 'wg', mtu: 1_420, flags: [] }, ...there.links.slice(1)] }, ['ip link set wg up'],
    ],
    ['an MTU', { ...there, links: [{ ifname: 'wg', mtu: 1_500, flags: ['UP'] }, ...there.links.slice(1)] }, [
      'ip link set wg mtu 1420',
    ]],
    ['an address', { ...there, addresses: [{ ifname: 'wg', addr_info: [{ local: '10.9.0.0' }] }] }, [
      'ip addr del 10.9.0.0/32 dev wg', 'ip addr add 10.1.0.0/32 dev wg',
    ]],
    ['a route that is gone', { ...there, routes: there.routes.slice(1) }, [
      'ip route replace 10.2.0.0/16 dev wg src 10.1.0.0 proto 73 table 254',
    ]],
    [
      'a route that leads elsewhere',
      {
        ...there,
        routes: [{ dst: '10.1.2.0/24', dev: 'vx', gateway: '192.0.2.4', table: '7373' }, ...there.routes.filter(
          ({ dev }) => dev !== 'vx',
        )],
      },
      ['ip route replace 10.1.2.0/24 via 192.0.2.3 dev vx onlink proto 73 table 7373'],
    ],
    ['a route that nobody wants', { ...there, routes: [...there.routes, { dst: '10.7.0.0/16', dev: 'wg' }] }, [
      'ip route del 10.7.0.0/16 dev wg table 254',
    ]],
    [
      'a node that is gone',
      { ...there, neighbours: [...there.neighbours, { dst: '192.0.2.9', dev: 'vx', lladdr: vxlanMac('192.0.2.9') }] },
      ['ip neigh del 192.0.2.9 dev vx', 'bridge fdb del 02:69:c0:00:02:09 dev vx dst 192.0.2.9'],
    ],
    ['a neighbour without its forwarding', { ...there, forwarding: [] }, [
      'ip neigh replace 192.0.2.3 lladdr 02:69:c0:00:02:03 dev vx nud permanent',
      'bridge fdb replace 02:69:c0:00:02:03 dev vx dst 192.0.2.3',
    ]],
    ['a rule that leads to another table', { ...there, rules: [{ iif: 'wg', table: '9' }] }, [
      'ip rule del iif wg lookup 9', 'ip rule add iif wg lookup 7373',
    ]],
  ];
  for (const [what, observed, commands] of repairs) {
    it(`repairs ${what}`, () => assert.deepEqual(say(wanted, observed), commands));
  }

  it('makes a VXLAN link anew when the node has another address', () => {
    const links = [there.links[0] ?? assert.fail(), {
      ifname: 'vx', mtu: 1_420, flags: ['UP'], linkinfo: { info_kind: 'vxlan', info_data: { local: '192.0.2.8' } },
    }];
    // what the link had goes with it
    assert.deepEqual(say(wanted, { ...there, links }), [
      'ip link del vx',
      'ip link add vx address 02:69:c0:00:02:02 type vxlan id 100 local 192.0.2.2 dstport 4800 nolearning',
      'ip link set vx mtu 1420', 'ip link set vx up',
      'ip neigh replace 192.0.2.3 lladdr 02:69:c0:00:02:03 dev vx nud permanent',
      'ip route replace 10.1.2.0/24 via 192.0.2.3 dev vx onlink proto 73 table 7373',
      'bridge fdb replace 02:69:c0:00:02:03 dev vx dst 192.0.2.3',
    ]);
  });
  it('makes a VXLAN link in place of a link of another kind', () => {
    const links = [there.links[0] ?? assert.fail(), { ifname: 'vx', mtu: 1_420, flags: ['UP'] }];
    assert.equal(say(wanted, { ...there, links })[0], 'ip link del vx');
  });
  it('leaves routes of IPv6, of the kernel and of its own tables alone', () => {
    const routes = [
      ...there.routes, { dst: 'fe80::/64', dev: 'wg' }, { dst: '10.1.0.0', dev: 'wg', table: '255' },
      { dst: '10.1.255.255', dev: 'wg', type: 'broadcast' }, { dst: '224.0.0.0/4', dev: 'wg', type: 'multicast' },
    ];
    assert.deepEqual(say(wanted, { ...there, routes }), []);
  });
  it('takes a route in another table for another route', () => {
    const routes = there.routes.map((route) => (route.dev === 'vx' ? { ...route, table: 'main' } : route));
    assert.deepEqual(say(wanted, { ...there, routes }), [
      'ip route del 10.1.2.0/24 dev vx table 254',
      'ip route replace 10.1.2.0/24 via 192.0.2.3 dev vx onlink proto 73 table 7373',
    ]);
  });
  it('gives up an address that nobody wants, and keeps those of IPv6', () => {
    const links = [{ ...tunnel, address: undefined }, vxlan];
    assert.deepEqual(say({ ...wanted, links }, there), ['ip addr del 10.1.0.0/32 dev wg']);
  });
  it('leaves everything of others alone', () => {
    const others = {
      ...NOTHING, routes: [{ dst: 'default', dev: 'eth0' }, { dst: '10.2.0.0/16', dev: 'eth0' }],
      rules: [{ iif: 'eth1', table: '100' }],
      neighbours: [{ dst: '192.0.2.1', dev: 'vx', lladdr: '00:11:22:33:44:55' }],
    };
    assert.deepEqual(say({ ...EMPTY, links: [] }, others), []);
  });
  it('compares a route to one address in either spelling', () => {
    const of = { ...EMPTY, links: [tunnel], routes: [{ device: 'wg', range: '10.9.0.1/32' }] };
    assert.deepEqual(say(of, { ...there, rules: [], neighbours: [], routes: [{ dst: '10.9.0.1', dev: 'wg' }] }), []);
  });
});

describe('the removal', () => {
  it('takes away our links and the rule that names one', () => assert.deepEqual(
    planRemoval(['wg', 'vx'], there).map((command) => command.join(' ')),
    ['ip rule del iif wg lookup 7373', 'ip link del wg', 'ip link del vx'],
  ));
  it('of nothing is nothing', () => assert.deepEqual(planRemoval(['wg', 'vx'], NOTHING), []));
});
