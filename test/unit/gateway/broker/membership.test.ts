import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import { findOverlaps, planMembership } from '../../../../gateway/broker/membership.ts';

const cluster = (clusterID: string, spec: Partial<ClustersetMember['spec']> = {}, name = clusterID): ClustersetMember =>
  ({ metadata: { name }, spec: { clusterID, ...spec } });
const endpoint = (
  clusterID: string, addresses: readonly string[] = [], name = `${clusterID}-mtls`,
): ClustersetEndpoint =>
  ({ metadata: { name }, spec: { clusterID, backend: 'mtls', addresses } });
const peers = (clusters: readonly ClustersetMember[], endpoints: readonly ClustersetEndpoint[]) =>
  planMembership('own', clusters, endpoints, 'mtls').peers;

describe('the peers of a member', () => {
  it('are the other members in the order of their names', () => {
    assert.deepEqual(
      peers(
        [cluster('own'), cluster('b'), cluster('a')], [endpoint('own', ['x:1']), endpoint('b', ['y:1']), endpoint('a')],
      ),
      [{ clusterId: 'a', addresses: [] }, { clusterId: 'b', addresses: ['y:1'] }],
    );
  });
  it(
    'need a ClustersetMember beside their Endpoint',
    () => assert.deepEqual(peers([cluster('own')], [endpoint('a')]), []),
  );
  it('are not taken from a ClustersetEndpoint under another name', () => assert.deepEqual(
    peers([cluster('a'), cluster('b')], [endpoint('a', ['evil:1'], 'b-mtls')]), [],
  ));
  it('are not taken from a ClustersetMember under another name', () => assert.deepEqual(
    peers([cluster('a', {}, 'b')], [endpoint('a')]), [],
  ));
  it('are of one driver', () => assert.deepEqual(
    peers([cluster('a')], [{ metadata: { name: 'a-wireguard' }, spec: { clusterID: 'a', backend: 'wireguard' } }]), [],
  ));
  it('lose addresses that are none', () => assert.deepEqual(
    peers([cluster('a')], [endpoint('a', ['good:1', 'bad', '-:x'])]), [{ clusterId: 'a', addresses: ['good:1'] }],
  ));
  it('bring along what was revoked, in one spelling', () => assert.deepEqual(
    [...planMembership('own', [cluster('a', { revokedSerials: ['ab', 'CD'] })], [], 'mtls').revokedSerials],
    ['AB', 'CD'],
  ));
});

describe('ranges of members that overlap', () => {
  const overlaps = (one: string, other: string) =>
    findOverlaps([cluster('a', { clusterCIDR: [one] }), cluster('b', { clusterCIDR: [other] })]).length;
  const yes: [string, string][] = [
    ['10.0.0.0/8', '10.200.0.0/16'], ['10.1.0.0/16', '10.1.0.0/16'], ['0.0.0.0/0', '192.168.1.0/24'],
    ['fd00::/8', 'fd12::/64'], ['::/0', 'fd12:1:2:3::/64'], ['10.0.0.0/31', '10.0.0.1/32'],
  ];
  for (const [one, other] of yes) it(`${one} and ${other} do`, () => assert.equal(overlaps(one, other), 1));
  const no: [string, string][] = [
    ['10.0.0.0/16', '10.1.0.0/16'], ['10.0.0.0/8', 'fd00::/8'], ['10.0.0.0/32', '10.0.0.1/32'],
    ['fd00::/64', 'fd00:0:0:1::/64'], ['nonsense', '10.0.0.0/8'], ['10.0.0.0/33', '10.0.0.0/8'],
    ['256.0.0.0/8', '0.0.0.0/0'], ['1::2::3/64', '::/0'],
  ];
  for (const [one, other] of no) it(`${one} and ${other} do not`, () => assert.equal(overlaps(one, other), 0));
  it('name both', () => assert.match(
    findOverlaps([cluster('a', { clusterCIDR: ['10.0.0.0/8'] }), cluster('b', { serviceCIDR: ['10.96.0.0/12'] })])[0]
      ?? '',
    /^a \(10\.0\.0\.0\/8\) and b use the same addresses/,
  ));
  it('of one member are its own affair', () => assert.deepEqual(
    findOverlaps([cluster('a', { clusterCIDR: ['10.0.0.0/8'], serviceCIDR: ['10.96.0.0/12'] })]), [],
  ));
  it('do no harm where both have a global range', () => assert.deepEqual(
    findOverlaps([
      cluster('a', { clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.0.0.0/16'] }),
      cluster('b', { clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.1.0.0/16'] }),
    ]),
    [],
  ));
  it('are still there where only one has', () => assert.equal(
    findOverlaps([
      cluster('a', { clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.0.0.0/16'] }),
      cluster('b', { clusterCIDR: ['10.1.0.0/16'] }),
    ]).length,
    1,
  ));
  it('between Services only do no harm: they are not reached by their own addresses', () => assert.deepEqual(
    findOverlaps([cluster('a', { serviceCIDR: ['10.96.0.0/12'] }), cluster('b', { serviceCIDR: ['10.96.0.0/12'] })]),
    [],
  ));
});
