import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { doOverlap, formatV4, parseRange } from '../../../../model/network/ip-range.ts';
import {
  allocateGlobalRanges, allPodPrefixes, podPrefixes, seenAddress, type ClusterRanges,
} from '../../../../model/network/pod-addresses.ts';

describe('global ranges', () => {
  const rows: [string, string[], string[], string[] | undefined][] = [
    ['begin with the first', ['10.1.0.0/16'], [], ['242.0.0.0/16']],
    ['have the length of the pod range', ['10.1.0.0/24'], [], ['242.0.0.0/24']],
    ['are the next free one', ['10.1.0.0/16'], ['242.0.0.0/16'], ['242.1.0.0/16']],
    ['fill a gap', ['10.1.0.0/16'], ['242.0.0.0/16', '242.2.0.0/16'], ['242.1.0.0/16']],
    ['are aligned behind a smaller one', ['10.1.0.0/16'], ['242.0.0.0/24'], ['242.1.0.0/16']],
    ['are one for each range of pods', ['10.1.0.0/16', '10.2.0.0/16'], [], ['242.0.0.0/16', '242.1.0.0/16']],
    ['are not given for IPv6', ['fd00::/64', '10.1.0.0/16'], [], ['242.0.0.0/16']],
    ['are none for a cluster without pod ranges', [], [], []],
    ['may be all that there is', ['10.0.0.0/8'], [], ['242.0.0.0/8']],
    ['run out', ['10.1.0.0/16'], ['242.0.0.0/8'], undefined],
  ];
  for (const [what, pods, taken, expected] of rows) {
    it(what, () => assert.deepEqual(allocateGlobalRanges(pods, taken), expected));
  }

  it('never overlap, whatever lengths are asked for one after the other', () => {
    fc.assert(fc.property(fc.array(fc.integer({ min: 10, max: 28 }), { maxLength: 12 }), (lengths) => {
      const given: string[] = [];
      for (const length of lengths) given.push(...(allocateGlobalRanges([`10.0.0.0/${length}`], given) ?? []));
      const ranges = given.map((text) => parseRange(text) ?? assert.fail());
      for (const [index, one] of ranges.entries()) {
        for (const other of ranges.slice(index + 1)) assert.ok(!doOverlap(one, other));
      }
    }), { numRuns: 50 });
  });
});

describe('pod ranges as the others see them', () => {
  const eu: ClusterRanges = { clusterID: 'eu', clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.0.0.0/16'] };
  const us: ClusterRanges = { clusterID: 'us', clusterCIDR: ['10.1.0.0/16'], globalCIDR: ['242.1.0.0/16'] };
  const asia: ClusterRanges =
    { clusterID: 'asia', clusterCIDR: ['10.9.0.0/16'], serviceCIDR: ['10.96.0.0/12'], globalCIDR: ['242.2.0.0/16'] };
  const seen = (cluster: ClusterRanges, ...others: ClusterRanges[]) =>
    podPrefixes(cluster, [cluster, ...others]).map((prefix) => prefix.seen);
  it('are the same when those of all are asked for', () => {
    const all = [eu, us, asia];
    assert.deepEqual([...allPodPrefixes(all)], all.map((one) => [one.clusterID, podPrefixes(one, all)]));
  });
  it('are their own while nobody else uses them', () => assert.deepEqual(seen(eu, asia), ['10.1.0.0/16']));
  it('are global where another cluster has the same', () => assert.deepEqual(
    [seen(eu, us), seen(us, eu)], [['242.0.0.0/16'], ['242.1.0.0/16']],
  ));
  it('of a third cluster stay its own', () => assert.deepEqual(seen(asia, eu, us), ['10.9.0.0/16']));
  it('are global where they overlap in part', () => assert.deepEqual(
    seen(eu, { ...us, clusterCIDR: ['10.0.0.0/8'] }), ['242.0.0.0/16'],
  ));
  it(
    'are global where another cluster has Services there: its kube-proxy would take what is meant for pods',
    () => assert.deepEqual(seen({ ...eu, clusterCIDR: ['10.96.0.0/16'] }, asia), ['242.0.0.0/16']),
  );
  it('are their own where only Services overlap with Services', () => assert.deepEqual(
    seen({ ...eu, serviceCIDR: ['10.96.0.0/12'] }, asia), ['10.1.0.0/16'],
  ));
  it('are global where pods have addresses of the global range itself', () => assert.deepEqual(
    seen({ ...eu, clusterCIDR: ['242.7.0.0/16'] }), ['242.0.0.0/16'],
  ));
  it('are none where they overlap and there is no global range', () => assert.deepEqual(
    seen({ ...eu, globalCIDR: [] }, us), [],
  ));
  it('are none where the global range has another length', () => assert.deepEqual(
    seen({ ...eu, globalCIDR: ['242.0.0.0/24'] }, us), [],
  ));
  for (const range of [
    '169.254.0.0/16', '169.254.169.254/32', '168.63.129.16/32', '192.0.0.192/32', '127.0.0.0/8', '0.0.0.0/8',
    '224.0.0.0/8',
  ]) {
    it(`are not ${range}: nodes would send what they have there, such as calls of metadata services, to a member`, () =>
      assert.deepEqual(seen({ ...eu, clusterCIDR: [range, '10.1.0.0/16'] }), ['10.1.0.0/16']));
  }
  it('C2-33: are not changed by one who announces the whole world', () => assert.deepEqual(
    seen(eu, { clusterID: 'evil', clusterCIDR: ['0.0.0.0/0', '0.0.0.0/1'] }), ['10.1.0.0/16'],
  ));
});

describe('addresses of pods', () => {
  const prefixes = [{ own: '10.1.0.0/16', seen: '242.7.0.0/16' }, { own: '10.5.0.0/24', seen: '10.5.0.0/24' }];
  const rows: [string, string | undefined][] = [
    ['10.1.2.3', '242.7.2.3'], ['10.5.0.9', '10.5.0.9'], ['10.2.0.1', undefined], ['fd00::1', undefined],
    ['nonsense', undefined],
  ];
  for (const [own, expected] of rows) {
    it(`${own} is seen as ${expected}`, () => assert.equal(seenAddress(prefixes, own), expected));
  }
  it('keep what follows the prefix', () => {
    fc.assert(fc.property(fc.nat(0xff_ff), (rest) => {
      const own = formatV4(0x0a01_0000n + BigInt(rest));
      assert.equal(seenAddress(prefixes, own), formatV4(0xf207_0000n + BigInt(rest)));
    }), { numRuns: 100 });
  });
});
