// What is cached of a target object, and when a target that answers gets no new pods.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { TargetSpec } from '../../../api/kinds/cluster-target.ts';
import { LEFT_REGISTRY_ANNOTATION } from '../../../api/objects/keys.ts';
import {
  isSameButForMeasurements, isSameConnection, toTargetObject, whyUnschedulable, type TargetLike,
} from '../../../targets/target-object.ts';

const anObject = (metadata: TargetLike['metadata'] = {}, spec: TargetSpec = {}): TargetLike =>
  ({ metadata: { name: 'c2', uid: 'u', resourceVersion: '7', ...metadata }, spec });

describe('a target object', () => {
  it('is a ClusterTarget without a namespace, and a Target with one', () => {
    assert.deepEqual(toTargetObject(anObject()).ref, { kind: 'ClusterTarget', name: 'c2' });
    assert.deepEqual(toTargetObject(anObject({ namespace: 'team-a' })).ref, {
      kind: 'Target', namespace: 'team-a', name: 'c2',
    });
  });
  it('is read without any optional field', () => {
    const { labels, finalizers, generation, status, terminating, hasLeft } = toTargetObject(anObject());
    assert.deepEqual({ labels, finalizers, generation, status, terminating, hasLeft }, {
      labels: {}, finalizers: [], generation: 0, status: {}, terminating: false, hasLeft: false,
    });
  });
  it('has left its registry by the annotation alone, whatever it says', () => {
    for (const when of ['', '2026-01-01T00:00:00Z', 'false']) {
      assert.equal(toTargetObject(anObject({ annotations: { [LEFT_REGISTRY_ANNOTATION]: when } })).hasLeft, true);
    }
  });
});

describe('a change of a target object', () => {
  const condition = { type: 'Ready', status: 'True', reason: 'Ready', message: '' } as const;
  const status = { conditions: [condition], virtualNode: 'n', rtt: '1ms', free: { cpu: '1', pods: '3' } };
  const stored = (change: object = {}, metadata: TargetLike['metadata'] = {}) =>
    toTargetObject({ ...anObject({ creationTimestamp: '2026-01-01T00:00:00Z', ...metadata }), status, ...change });
  const rows: Readonly<Record<string, readonly [change: ReturnType<typeof stored>, isSame: boolean]>> = {
    'of nothing but its version': [stored({}, { resourceVersion: '8' }), true],
    'of the round trip and what is free': [stored({ status: { ...status, rtt: '9ms', free: { cpu: '2' } } }), true],
    'of measurements that were not there': [stored({ status: { conditions: [condition], virtualNode: 'n' } }), true],
    'of a condition': [stored({ status: { ...status, conditions: [{ ...condition, status: 'False' }] } }), false],
    'of the cluster that was found': [stored({ status: { ...status, clusterID: 'c' } }), false],
    'of the spec': [stored({ spec: { removalPolicy: 'Drain' } }), false],
    'of a label': [stored({}, { labels: { tier: 'gold' } }), false],
    'by its deletion': [stored({}, { deletionTimestamp: '2026-01-02T00:00:00Z' }), false],
  };
  for (const [name, [after, isSame]] of Object.entries(rows)) {
    it(`${name} is ${isSame ? 'news to nobody' : 'told'}`, () =>
      assert.equal(isSameButForMeasurements(stored(), after), isSame));
  }
});

const EU = { kind: 'ClusterTarget', name: 'eu' } as const;

describe('a target that answers', () => {
  const rows: readonly (readonly [terminating: boolean, hasLeft: boolean, reason: string | undefined])[] = [
    [false, false, undefined], [true, false, 'Removing'], [false, true, 'LeftRegistry'], [true, true, 'Removing'],
  ];
  for (const [terminating, hasLeft, reason] of rows) {
    const [isDeleted, isListed] = [terminating ? 'is deleted' : 'stays', hasLeft ? 'left' : 'in'];
    it(`that ${isDeleted}, ${isListed} its registry: ${reason ?? 'gets pods'}`, () =>
      assert.equal(whyUnschedulable({ ref: EU, terminating, hasLeft })?.reason, reason));
  }
  for (const [length, reason] of [[63, undefined], [64, 'NameTooLong']] as const) {
    it(`whose name has ${length} characters: ${reason ?? 'gets pods'}`, () => {
      const ref = { ...EU, name: 'n'.repeat(length) };
      assert.equal(whyUnschedulable({ ref, terminating: false, hasLeft: false })?.reason, reason);
    });
  }
});

describe('the connection of a spec', () => {
  const spec = fc.record({
    self: fc.constantFrom(undefined, false, true), delegation: fc.constantFrom(undefined, 'Auto', 'Pod'),
    kubeconfigSecret: fc.constantFrom(undefined, { name: 'a' }, { name: 'b' }, { name: 'a', key: 'k' }),
    gateway: fc.constantFrom(undefined, { cluster: 'x' }, { cluster: 'y' }),
    prices: fc.constantFrom(undefined, { cpu: '1' }), removalPolicy: fc.constantFrom(undefined, 'Drain'),
  }, { noNullPrototype: true }) as unknown as fc.Arbitrary<TargetSpec>;

  it('is the same for a spec and itself, in both directions, and whatever does not address a cluster', () => {
    fc.assert(fc.property(spec, spec, (one, other) => {
      assert.equal(isSameConnection(one, structuredClone(one)), true);
      assert.equal(isSameConnection(one, other), isSameConnection(other, one));
      assert.equal(isSameConnection(one, { ...one, prices: { cpu: '9' } }), true,
        'a session lasts over a change of prices');
    }));
  });
  it('is another one with another Secret, gateway, mode, or when it becomes the cluster itself', () => {
    const before = { kubeconfigSecret: { name: 'a' }, gateway: { cluster: 'x' } } as TargetSpec;
    const changes: readonly Partial<TargetSpec>[] = [
      { kubeconfigSecret: { name: 'b' } }, { gateway: { cluster: 'y' } }, { delegation: 'Pod' }, { self: true },
    ];
    for (const change of changes) assert.equal(isSameConnection(before, { ...before, ...change }), false,
      JSON.stringify(change));
    assert.equal(isSameConnection(before, { ...before, self: false }), true, 'false is the default');
  });
});
