// Endpoints of exports as a cluster reaches them: a member directs no traffic to addresses that are not its own.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ExportedService, ExportedSlice } from '../../../../api/kinds/service-discovery.ts';
import { isWithin, parseRange } from '../../../../model/network/ip-range.ts';
import { podPrefixes } from '../../../../model/network/pod-addresses.ts';
import { preferenceOf } from '../../../../service-discovery/imports/preference.ts';
import { reachableSlices, type ClustersetView } from '../../../../service-discovery/imports/reachable-slices.ts';

const RANGES: Readonly<Record<string, string>> = { a: '10.1.0.0/16', b: '10.2.0.0/16' };
const members = Object.entries(RANGES).map(([clusterID, range]) => ({ clusterID, clusterCIDR: [range] }));
const prefixes = new Map(members.map((spec) => [spec.clusterID, podPrefixes(spec, members)]));

const view = (more: Partial<ClustersetView> = {}): ClustersetView => ({
  clusterId: 'own', prefixes, podPlane: new Set(['a', 'b']), unreachable: new Set(), importAddress: '10.0.0.9', ...more,
});
const PORT = { name: 'http', protocol: 'TCP', port: 80 };
const exported = (clusterID: string, slices: readonly ExportedSlice[], more: object = {},
  status?: object): ExportedService => ({
  metadata: {}, spec: { clusterID, namespace: 'n', name: 's', type: 'ClusterSetIP', ports: [PORT], slices, ...more },
  ...(status !== undefined && { status }),
} as unknown as ExportedService);
const slice = (addressType: 'IPv4' | 'IPv6', ...addresses: readonly string[]): ExportedSlice => ({
  addressType, ports: [{ name: 'http', port: 8080 }], endpoints: addresses.map((address) => ({ address, ready: true })),
});
const LISTENERS = { listeners: [{ port: 80, listenerPort: 20_001 }] };
const addressesOf = (slices: ReturnType<typeof reachableSlices>) =>
  slices.flatMap(({ endpoints }) => endpoints.map(({ address, ready }) => [address, ready]));

const byte = fc.nat({ max: 255 });
const v4 = fc.tuple(fc.constantFrom(10, 127, 169, 192), fc.constantFrom(1, 2, 0, 254), byte, byte).map((all) =>
  all.join('.'));
const cluster = fc.constantFrom('a', 'b', 'unknown', 'own');

describe('endpoints of another cluster on the pod plane', () => {
  it('are those within the ranges that it announced, and no other: it cannot name addresses of others', () => {
    fc.assert(fc.property(cluster, fc.array(v4, { maxLength: 6 }), (clusterID, addresses) => {
      if (clusterID === 'own') return;
      const podPlane = new Set([clusterID]);
      const reached = addressesOf(reachableSlices(exported(clusterID, [slice('IPv4', ...addresses)]),
        view({ podPlane })));
      const range = parseRange(RANGES[clusterID] ?? '');
      const own = addresses.filter((address) => range !== undefined && isWithin(range, address));
      assert.deepEqual(reached.map(([address]) => address), own);
    }), { numRuns: 300 });
  });
  it('are none of IPv6 beside those of IPv4: the plane carries IPv4 alone', () => assert.deepEqual(
    addressesOf(reachableSlices(exported('a', [slice('IPv6', 'fd00::1'), slice('IPv4', '10.1.0.1')]), view())),
      [['10.1.0.1', true]],
  ));
  it('are never ready while the cluster cannot be reached', () => {
    const unreachable = new Set(['a']);
    assert.deepEqual(addressesOf(reachableSlices(exported('a', [slice('IPv4', '10.1.0.1')]), view({ unreachable }))), [
      ['10.1.0.1', false],
    ]);
  });
  it('leave out a slice without any, and keys tell the others apart', () => {
    const reached = reachableSlices(exported('a', [slice('IPv4', '10.2.0.1'), slice('IPv4', '10.1.0.1'),
      slice('IPv4', '10.1.0.2')]), view());
    assert.deepEqual(reached.map(({ key }) => key), ['1', '2']);
  });
});

describe('slices of another cluster', () => {
  const keys = (...names: readonly (string | undefined)[]) => {
    const slices = names.map((name) => ({ ...slice('IPv4', '10.1.0.1'), ...(name !== undefined && { name }) }));
    return reachableSlices(exported('a', slices), view()).map(({ key }) => key);
  };
  it('keep their names when others come before them: none is overwritten while it is still used', () => {
    assert.deepEqual([keys('web-b'), keys('web-a', 'web-b')], [['web-b'], ['web-a', 'web-b']]);
  });
  it('have distinct names, whatever that cluster calls them', () => assert.deepEqual(
    keys('web', 'web', 'A/b', '', undefined, 'x'), ['0', '1', '2', '3', '4', 'x'],
  ));
});

describe('endpoints of any cluster', () => {
  it('are found once while nothing changes: each DNS question asks for them', () => {
    const [one, seen] = [exported('a', [slice('IPv4', '10.1.0.1')]), view()];
    const found = reachableSlices(one, seen);
    assert.equal(reachableSlices(one, { ...seen }), found);
    const changes = [{ prefixes: new Map() }, { unreachable: new Set(['a']) }, { podPlane: new Set<string>() }, {
      clusterId: 'a',
    }];
    for (const change of changes) assert.notEqual(reachableSlices(one, { ...seen, ...change }), found);
    assert.deepEqual(reachableSlices(one, seen), found);
  });
});

describe('endpoints of this cluster', () => {
  it('are as they are, of both families, on the plane or not', () => {
    const slices = [slice('IPv4', '192.168.0.1'), slice('IPv6', 'fd00::1')];
    for (const podPlane of [new Set<string>(), new Set(['own'])]) {
      assert.deepEqual(addressesOf(reachableSlices(exported('own', slices),
        view({ podPlane, unreachable: new Set(['own']) }))), [
        ['192.168.0.1', true], ['fd00::1', true],
      ]);
    }
  });
});

describe('endpoints of a cluster without the pod plane', () => {
  const off = (more: Partial<ClustersetView> = {}) => view({ podPlane: new Set(), ...more });
  const pods = [slice('IPv4', '10.1.0.1', '10.1.0.2')];

  it('are the listener of this cluster, once, with its port', () => {
    const [only, ...others] = reachableSlices(exported('a', pods, {}, LISTENERS), off());
    assert.deepEqual(others, []);
    assert.deepEqual([only?.key, only?.addressType, only?.ports.map(({ port }) => port)],
      ['gateway', 'IPv4', [20_001]]);
    assert.deepEqual(only?.endpoints, [{ address: '10.0.0.9', ready: true }]);
  });
  it('are of the family of the listener', () => assert.equal(
    reachableSlices(exported('a', pods, {}, LISTENERS), off({ importAddress: 'fd00::9' }))[0]?.addressType, 'IPv6',
  ));
  const none: Readonly<Record<string, ExportedService>> = {
    'for a headless Service, whose pods would share one address': exported('a', pods, { type: 'Headless' }, LISTENERS),
    'before the listener has a port': exported('a', pods),
    'for UDP': exported('a', pods, { ports: [{ ...PORT, protocol: 'UDP' }] }, LISTENERS),
    'without any pod': exported('a', [slice('IPv4')], {}, LISTENERS),
  };
  for (const [what, service] of Object.entries(none)) {
    it(`are none ${what}`, () => assert.deepEqual(reachableSlices(service, off()), []));
  }
  it('are not ready without a ready pod, or while the cluster cannot be reached', () => {
    const asleep = [{ ...slice('IPv4'), endpoints: [{ address: '10.1.0.1',
      ready: false }] }] as readonly ExportedSlice[];
    assert.deepEqual(addressesOf(reachableSlices(exported('a', asleep, {}, LISTENERS), off())), [['10.0.0.9', false]]);
    assert.deepEqual(
      addressesOf(reachableSlices(exported('a', pods, {}, LISTENERS), off({ unreachable: new Set(['a']) }))),
        [['10.0.0.9', false]],
    );
  });
  it('of IPv6 alone are reached through the listener on the plane as well', () => assert.deepEqual(
    addressesOf(reachableSlices(exported('a', [slice('IPv6', 'fd00::1')], {}, LISTENERS), view())),
    [['10.0.0.9', true]],
  ));
});

describe('the preference of an import', () => {
  const said = (value?: string) => preferenceOf({
    metadata: { ...(value !== undefined && { annotations: { 'service.cilium.io/affinity': value } }) },
  });
  it('is the local cluster unless the annotation of Cilium says otherwise', () => {
    assert.deepEqual([undefined, '', 'local', 'Remote', 'remote', 'none'].map(said), [
      'local', 'local', 'local', 'local', 'remote', 'none',
    ]);
    assert.equal(preferenceOf(undefined), 'local');
  });
});
