import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import { planPlaneMembers } from '../../../../pod-plane/plan/plane-members.ts';

const cluster = (clusterID: string, clusterCIDR: string, globalCIDR: string): ClustersetMember =>
  ({ metadata: { name: clusterID }, spec: { clusterID, clusterCIDR: [clusterCIDR], globalCIDR: [globalCIDR] } });
const endpoint = (clusterID: string, more: Partial<ClustersetEndpoint['spec']> = {}): ClustersetEndpoint => ({
  metadata: { name: `${clusterID}-wireguard` },
  spec: { clusterID, backend: 'wireguard', addresses: ['192.0.2.1:51820'], publicKeys: ['k'], ...more },
});
const EU = cluster('eu', '10.1.0.0/16', '242.0.0.0/16');
const US = cluster('us', '10.2.0.0/16', '242.1.0.0/16');

describe('the pod plane as one member sees it', () => {
  it('has the ranges that are its own, and those of the others, as they are', () => {
    assert.deepEqual(planPlaneMembers('eu', [EU, US], [endpoint('us'), endpoint('eu')]), {
      prefixes: [{ own: '10.1.0.0/16', seen: '10.1.0.0/16' }], remoteRanges: ['10.2.0.0/16'],
      peers: [{ clusterId: 'us', addresses: ['192.0.2.1:51820'], publicKeys: ['k'], ranges: ['10.2.0.0/16'] }],
    });
  });
  it('has global ranges for both of two that have the same', () => {
    const found = planPlaneMembers('eu', [EU, cluster('us', '10.1.0.0/16', '242.1.0.0/16')], [endpoint('us')]);
    assert.deepEqual(
      [found?.prefixes, found?.remoteRanges], [[{ own: '10.1.0.0/16', seen: '242.0.0.0/16' }], ['242.1.0.0/16']],
    );
  });
  it('routes no range of a member to it in which a node of this cluster has its address', () => {
    const lan = { ...US, spec: { ...US.spec, clusterCIDR: ['192.168.1.0/24', '10.2.0.0/16'] } };
    const found = planPlaneMembers('eu', [EU, lan], [endpoint('us')], ['192.168.2.7', '192.168.1.7']);
    assert.deepEqual([found?.remoteRanges, found?.peers[0]?.ranges], [['10.2.0.0/16'], ['10.2.0.0/16']]);
  });
  it('has no peer that runs no pod plane, though its gateway carries calls', () => {
    assert.deepEqual(
      planPlaneMembers(
        'eu', [EU, US], [{ metadata: { name: 'us-mtls' }, spec: { clusterID: 'us', backend: 'mtls', addresses: [] } }],
      )?.peers,
      [],
    );
  });
  it('has a peer without a key as one without a key: the driver says so', () => assert.deepEqual(
    planPlaneMembers('eu', [EU, US], [endpoint('us', { publicKeys: [] })])?.peers[0]?.publicKeys, [],
  ));
  it('is not known before the member itself is', () => assert.equal(
    planPlaneMembers('eu', [US], [endpoint('us')]), undefined,
  ));
});
