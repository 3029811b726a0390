import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { MemberState } from '../../../../scheduler/queue/pod-groups.ts';
import { PodTracker } from '../../../../scheduler/queue/pod-tracker.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { aProxyRecord, withMetadata, withUid } from '../../../support/objects/builders.ts';

const named = (name: string): ProxyPod => aProxyRecord(withUid(name), withMetadata({ name }));
const inGroup = (name: string): ProxyPod => ({ ...named(name), group: { name: 'g', minCount: 2 } });

describe('tracker of pods', () => {
  let enqueued: string[] = [];
  let tracker = new PodTracker(() => undefined);
  const taken = (): readonly string[] => enqueued.splice(0).toSorted();
  beforeEach(() => {
    enqueued = [];
    tracker = new PodTracker((key) => enqueued.push(key));
  });
  const count = (pod: ProxyPod, nodeName?: string, state: MemberState = 'unplaced') =>
    tracker.count(pod, nodeName, () => state);

  it('wake pods that wait for capacity once', () => {
    tracker.wait(named('a'), { dependsOnPods: false });
    tracker.wakeWaiting();
    tracker.wakeWaiting();
    assert.deepEqual(taken(), [named('a').key]);
  });

  it('wake pods that wait for other pods when one moves or goes', () => {
    tracker.wait(named('a'), { dependsOnPods: true });
    count(named('b'), 'node');
    assert.deepEqual(taken(), [named('a').key]);
    count(named('c'), 'node');
    assert.deepEqual(taken(), [], 'it has not said again that it waits');
    tracker.wait(named('a'), { dependsOnPods: true });
    tracker.forget(named('b'));
    assert.deepEqual(taken(), [named('a').key]);
  });

  it('leave pods alone that wait for other pods when none of these moves', () => {
    count(named('b'), 'node');
    tracker.wait(named('a'), { dependsOnPods: true });
    count({ ...named('b'), resourceVersion: '9' }, 'node');
    count(named('c'));
    assert.deepEqual(taken(), []);
    tracker.displace('b');
    assert.deepEqual(taken(), [named('a').key]);
  });

  it('wake pods that wait for other pods by priority, whoever has waited longer', () => {
    const important: ProxyPod = { ...named('important'), priority: 1_000 };
    for (const pod of [named('a'), important]) tracker.wait(pod, { dependsOnPods: true });
    count(named('b'), 'node');
    assert.deepEqual(enqueued.splice(0), [important.key, named('a').key]);
  });

  it('leave pods alone that wait for capacity only', () => {
    tracker.wait(named('a'), { dependsOnPods: false });
    count(named('b'), 'node');
    assert.deepEqual(taken(), []);
  });

  it('count a pod where it is, and nowhere once it has terminated or gone', () => {
    const before = tracker.placed.changes;
    count(named('a'), 'node');
    assert.equal(tracker.placed.changes, before + 1);
    count({ ...named('a'), phase: 'Succeeded' }, 'node');
    assert.equal(tracker.placed.changes, before + 2);
    tracker.displace('a');
    assert.equal(tracker.placed.changes, before + 2, 'it was nowhere');
  });

  it('no longer counts a pod whose labels have left its group, and wakes the others', () => {
    count(inGroup('a'));
    count(inGroup('b'));
    taken();
    count(named('b'));
    assert.deepEqual(taken(), [named('a').key]);
    assert.deepEqual([tracker.groups.stateOf('a')?.kind, tracker.groups.stateOf('b')], ['too-few', undefined]);
  });

  it('wake the other members of a group', () => {
    count(inGroup('a'));
    count(inGroup('b'));
    assert.ok(taken().includes(named('a').key), 'the group has become complete');
    assert.equal(tracker.groups.stateOf('a')?.kind, 'incomplete');
    tracker.forget(inGroup('b'));
    assert.ok(taken().includes(named('a').key));
    assert.equal(tracker.groups.stateOf('a')?.kind, 'too-few');
  });
});
