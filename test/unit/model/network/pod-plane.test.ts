import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetMember, ClustersetEndpoint } from '../../../../api/kinds/gateway.ts';
import type { TargetSpec } from '../../../../api/kinds/cluster-target.ts';
import { OWN_ENDPOINT_LABEL } from '../../../../api/objects/keys.ts';
import {
  asReachedFromHere, findPlaneMember, podAddressesOf, readPodPlane, type ClustersetObjects, type FoundMember,
} from '../../../../model/network/pod-plane.ts';

const cluster = (clusterID: string, pods: string, global: string): ClustersetMember =>
  ({ metadata: { name: clusterID }, spec: { clusterID, clusterCIDR: [pods], globalCIDR: [global] } });
const endpoint = (
  clusterID: string, more: Partial<ClustersetEndpoint['spec']> = {}, labels = {},
): ClustersetEndpoint => ({
  metadata: { name: `${clusterID}-wireguard`, labels },
  spec: { clusterID, backend: 'wireguard', addresses: [], publicKeys: ['k'], ...more },
});
const own = endpoint('eu', {}, { [OWN_ENDPOINT_LABEL]: 'true' });
const EU = cluster('eu', '10.1.0.0/16', '242.0.0.0/16');
const SAME = cluster('us', '10.1.0.0/16', '242.1.0.0/16');
const OTHER = cluster('us', '10.2.0.0/16', '242.1.0.0/16');

/** The address that a proxy pod shows. */
function shown(
  podIP: string | undefined, spec: TargetSpec, clusters: readonly ClustersetMember[],
  endpoints: readonly ClustersetEndpoint[],
): string | undefined {
  return asReachedFromHere({ phase: 'Running', ...(podIP !== undefined && { podIP }) }, podAddressesOf(
    readPodPlane(clusters, endpoints), spec,
  )).podIP;
}

describe('the address that a proxy pod shows', () => {
  const us: TargetSpec = { podPlane: { cluster: 'us' } };
  const both = [own, endpoint('us')];
  const cases: Record<
    string,
    readonly [
      podIP: string | undefined, spec: TargetSpec, clusters: readonly ClustersetMember[],
      endpoints: readonly ClustersetEndpoint[],
      shown: string | undefined,
    ]
  > = {
    'is that of the delegate without a pod plane': ['10.1.0.5', us, [], [], '10.1.0.5'],
    'and where this cluster runs none, though others do':
      ['10.1.0.5', us, [EU, SAME], [endpoint('us'), endpoint('eu')], '10.1.0.5'],
    'is global where the ranges overlap': ['10.1.7.5', us, [EU, SAME], both, '242.1.7.5'],
    'is that of the delegate where they do not': ['10.2.7.5', us, [EU, OTHER], both, '10.2.7.5'],
    'is known for a target that the gateway leads to, too':
      ['10.1.7.5', { gateway: { cluster: 'us' } }, [EU, SAME], both, '242.1.7.5'],
    'is missing for a pod outside of the ranges of its cluster: one in the network of a node':
      ['172.16.0.1', us, [EU, SAME], both, undefined],
    'is missing for a member that runs no pod plane': ['10.1.7.5', us, [EU, SAME], [own], undefined],
    'is missing for a member that tells no key':
      ['10.1.7.5', us, [EU, SAME], [own, endpoint('us', { publicKeys: [] })], undefined],
    'is missing for a member that nobody knows':
      ['10.1.7.5', { podPlane: { cluster: 'asia' } }, [EU, SAME], both, undefined],
    'is that of the delegate in a target that is no member': ['10.9.0.5', {}, [EU, OTHER], both, '10.9.0.5'],
    'unless a pod here has it': ['10.1.0.5', {}, [EU, OTHER], both, undefined],
    'or a pod of a member': ['10.2.0.5', {}, [EU, OTHER], both, undefined],
    'is that of the delegate where the target is this cluster':
      ['10.1.0.5', { self: true }, [EU, SAME], both, '10.1.0.5'],
    'is missing while the delegate has none': [undefined, us, [EU, SAME], both, undefined],
  };
  for (const [sentence, [podIP, spec, clusters, endpoints, expected]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(shown(podIP, spec, clusters, endpoints), expected));
  }

  it('is that of the delegate on an existing Submariner, and missing where it would have to be mapped', () => {
    const ofSubmariner = (id: string, labels = {}): ClustersetEndpoint =>
      ({ metadata: { name: `${id}-submariner`, labels }, spec: { clusterID: id, backend: 'submariner' } });
    const endpoints = [ofSubmariner('eu', { [OWN_ENDPOINT_LABEL]: 'true' }), ofSubmariner('us')];
    assert.deepEqual([shown('10.2.7.5', us, [EU, OTHER], endpoints), shown('10.1.7.5', us, [EU, SAME], endpoints)], [
      '10.2.7.5', undefined,
    ]);
  });

  it('is the first of those that can be reached; the others stay beside it', () => {
    const addresses = podAddressesOf(readPodPlane([EU, SAME], both), us);
    assert.deepEqual(
      asReachedFromHere({ podIP: 'fd00::5', podIPs: [{ ip: 'fd00::5' }, { ip: '10.1.0.5' }] }, addresses),
      { podIP: '242.1.0.5', podIPs: [{ ip: '242.1.0.5' }] },
    );
  });

  it('leaves a status as it came where nothing is to be changed', () => {
    const status = { podIP: '10.1.0.5' };
    assert.equal(asReachedFromHere(status, podAddressesOf(undefined, us)), status);
  });
});

describe('which member of the clusterset a target is', () => {
  const asOwn = { [OWN_ENDPOINT_LABEL]: 'true' };
  const here: ClustersetObjects =
    { clusters: [EU, SAME], endpoints: [own, endpoint('us', { publicKeys: ['new', 'old'] })] };
  const there = (...endpoints: readonly ClustersetEndpoint[]) => ({ clusters: [EU, SAME], endpoints });
  const us = endpoint('us', { publicKeys: ['new'] }, asOwn);
  const submariner = (clusterID: string, address: string, labels = {}): ClustersetEndpoint => ({
    metadata: { name: `${clusterID}-submariner`, labels },
    spec: { clusterID, backend: 'submariner', addresses: [address] },
  });
  const cases: Record<string, readonly [source: ClustersetObjects, target: ClustersetObjects, found: FoundMember]> = {
    'is the one that it says it is, where the source knows its key':
      [here, there(endpoint('eu'), us), { kind: 'member', clusterId: 'us' }],
    'also while its keys change':
      [here, there(endpoint('us', { publicKeys: ['newest', 'new'] }, asOwn)), { kind: 'member', clusterId: 'us' }],
    'is not the ID alone: one of another clusterset has other keys':
      [here, there(endpoint('us', { publicKeys: ['another'] }, asOwn)), { kind: 'other-keys', clusterId: 'us' }],
    'is known on an existing Submariner by where its gateway is': [
      {
        clusters: [EU, SAME], endpoints: [submariner('eu', '10.0.0.1:4500', asOwn), submariner('us', '10.0.0.2:4500')],
      }, there(submariner('us', '10.0.0.2:4500', asOwn)), { kind: 'member', clusterId: 'us' },
    ],
    'is not that of another Submariner': [
      {
        clusters: [EU, SAME], endpoints: [submariner('eu', '10.0.0.1:4500', asOwn), submariner('us', '10.0.0.2:4500')],
      }, there(submariner('us', '10.9.0.2:4500', asOwn)), { kind: 'other-keys', clusterId: 'us' },
    ],
    'is not known where it runs no pod plane': [here, there(), { kind: 'none' }],
    'nor where it only knows those of others': [here, there(endpoint('us', { publicKeys: ['new'] })), { kind: 'none' }],
    'nor by the address of its gateway for API servers':
      [here, there(endpoint('us', { backend: 'mtls', publicKeys: ['new'] }, asOwn)), { kind: 'none' }],
    'nor where the source runs none':
      [{ ...here, endpoints: [endpoint('eu'), endpoint('us')] }, there(us), { kind: 'none' }],
    'nor where the source knows no such member': [{ clusters: [EU], endpoints: [own] }, there(us), { kind: 'none' }],
    'nor where it is the source itself': [here, here, { kind: 'none' }],
  };
  for (const [sentence, [source, target, found]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(findPlaneMember(source, target), found));
  }
});
