import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import { isRenewal, toKnownSummary } from '../../../../model/delegate/cached-summary.ts';
import { frozen } from '../../../support/objects/builders.ts';
import { haveOneHiddenClass } from '../../../support/rules/hidden-class.ts';

const ROOM = { cpu: '8', memory: '8Gi' };
/** A new copy at each call, as it is parsed from a watch event. */
const published = (change: Partial<ClusterSummary> = {}): ClusterSummary => frozen(structuredClone({
  metadata: { name: 'singleton', resourceVersion: '1', labels: { zone: 'a' } },
  capacity: ROOM, allocatable: ROOM, free: ROOM, largestFree: ROOM,
  gpus: [{ resource: 'nvidia.com/gpu', allocatable: 4, free: 2, largest: 2 }], commonLabels: { arch: 'amd64' },
  nodeGroups: [{ holes: [{ count: 3, free: ROOM }] }], reduced: { steps: 4 }, shares: [{ source: '*', limits: ROOM }],
  observed: { podsResourceVersion: '10', time: '2026-11-26T10:00:00Z' }, ...change,
}));
const RENEWED = published({
  metadata: { name: 'singleton', resourceVersion: '2', labels: { zone: 'a' } },
  observed: { podsResourceVersion: '99', time: '2026-11-26T10:01:00Z' },
});

/** Each of these is news. */
const NEWS: readonly (readonly [what: string, change: Partial<ClusterSummary>])[] = [
  ['capacity', { capacity: { cpu: '9' } }],
  ['allocatable', { allocatable: { cpu: '9' } }],
  ['free amounts', { free: { cpu: '7' } }],
  ['the largest free amount', { largestFree: { cpu: '7' } }],
  ['GPUs', { gpus: [] }],
  ['common labels', { commonLabels: { arch: 'arm64' } }],
  ['the free capacity of a node', { nodeGroups: [{ holes: [{ count: 2, free: ROOM }] }] }],
  ['what was left out', { reduced: {} }],
  ['shares', { shares: [{ source: '*', limits: ROOM, cordoned: true }] }],
  ['labels', { metadata: { name: 'singleton', labels: { zone: 'b' } } }],
  ['an annotation', { metadata: { name: 'singleton', labels: { zone: 'a' }, annotations: { a: 'b' } } }],
];

/** None of these is a summary. */
const ODD: readonly (readonly [what: string, odd: Readonly<Record<string, unknown>>])[] = [
  ['no metadata', { metadata: undefined }],
  ['metadata that is a list', { metadata: [] }],
  ['a version that is a number', { metadata: { ...published().metadata, resourceVersion: 7 } }],
  ['labels that are a text', { metadata: { ...published().metadata, labels: 'zone' } }],
  ['a time that is a number', { observed: { ...published().observed, time: 7 } }],
  ['a list where amounts are expected', { capacity: [ROOM] }],
  ['an odd group behind one that is known', { nodeGroups: [...(published().nodeGroups ?? []), { holes: 'none' }] }],
];

describe('isRenewal', () => {
  it('holds when only the time and versions differ', () => {
    const before = published();
    const after = toKnownSummary(before, RENEWED);
    assert.ok(isRenewal(before, after));
    assert.deepEqual(after, RENEWED);
  });

  for (const [what, change] of NEWS) {
    it(`does not hold when something else differs: ${what}`, () => {
      const before = published();
      const after = toKnownSummary(before, published(change));
      assert.ok(!isRenewal(before, after));
      assert.deepEqual(after, published(change));
    });
  }

  it('does not hold when a field has appeared or is missing', () => {
    const before = published();
    const { gpus: _gpus, ...without } = published();
    assert.ok(!isRenewal(before, toKnownSummary(before, without)));
    assert.ok(!isRenewal(without, toKnownSummary(without, published())));
  });

  it('does not hold of the first summary, or of one that is gone', () => {
    const first = toKnownSummary(undefined, published());
    assert.deepEqual([isRenewal(undefined, first), isRenewal(first, undefined)], [false, false]);
  });
});

describe('toKnownSummary', () => {
  it('gives renewed summaries one hidden class', () => {
    const renewed = () => toKnownSummary(published(), published());
    assert(haveOneHiddenClass(renewed));
    assert(haveOneHiddenClass(() => renewed().metadata));
  });

  it('keeps one copy of what is equal', () => {
    const before = published();
    const after = toKnownSummary(before, published({ free: { cpu: '7' } }));
    assert.equal(after.nodeGroups, before.nodeGroups);
    assert.equal(after.metadata.labels, before.metadata.labels);
    assert.notEqual(after.free, before.free);
  });

  for (const [what, odd] of ODD) {
    it(`rejects ${what}, also after a summary that was good`, () => {
      const sent = { ...published(), ...odd } as ClusterSummary;
      assert.throws(() => toKnownSummary(undefined, sent), TypeError);
      assert.throws(() => toKnownSummary(published(), sent), TypeError);
    });
  }

  it('changes no value, and finds a renewal exactly where all fields are equal', () => {
    const some = fc.constantFrom(...NEWS.map(([, change]) => change), {});
    fc.assert(fc.property(some, some, (one, other) => {
      const [before, after] = [published(one), published(other)];
      const known = toKnownSummary(before, after);
      assert.deepEqual(known, after);
      assert.equal(isRenewal(before, known), one === other);
    }));
  });
});
