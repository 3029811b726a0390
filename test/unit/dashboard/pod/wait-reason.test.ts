// Why a pod waits, as the page says it: from what the pod itself says, the most specific first.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ContainerStatus, Pod, PodPhase } from '../../../../api/objects/core.ts';
import { eventRows, isOfPod, containerRows, type PodEvent } from '../../../../dashboard/pod/pod-events.ts';
import { containersOf, waitReasonOf } from '../../../../dashboard/pod/wait-reason.ts';
import {
  aPod, inPhase, onNode, unschedulable, withCondition, withSpec, withStatus, type Change,
} from '../../../support/objects/builders.ts';

const waiting = (name: string, reason?: string, message?: string): object => ({
  name, state: { waiting: { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) } },
});
const containers = (...statuses: readonly object[]): Change<Pod> =>
  withStatus({ containerStatuses: statuses as readonly ContainerStatus[] });
const initContainers = (...statuses: readonly object[]): Change<Pod> =>
  withStatus({ initContainerStatuses: statuses as readonly ContainerStatus[] });
const gated = withSpec({ schedulingGates: [{ name: 'example.com/quota' }] });

describe('a pod waits', () => {
  const rows: Readonly<Record<string, readonly [pod: Pod, reason: string, message: RegExp]>> = {
    'that no target can run': [aPod(unschedulable('0/3 targets')), 'Unschedulable', /^0\/3 targets$/],
    'that nobody has looked at': [aPod(), 'NotDecided', /isthmus status/],
    'with scheduling gates': [aPod(gated), 'SchedulingGated', /which their owner must remove/],
    'with gates, whatever was said before': [aPod(gated, unschedulable()), 'SchedulingGated', /./],
    'whose container waits': [aPod(onNode('n'), containers(waiting('a', 'ImagePullBackOff', 'no such image'))),
      'ImagePullBackOff', /no such image/],
    'whose container waits without a word': [aPod(onNode('n'), containers(waiting('a'))), 'ContainersWaiting',
      /starting/],
    'whose init container waits, before the others': [
      aPod(onNode('n'), containers(waiting('a', 'PodInitializing')), initContainers(waiting('i', 'CrashLoopBackOff'))),
      'CrashLoopBackOff', /./,
    ],
    'whose init containers run': [
      aPod(onNode('n'), withCondition({ type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized',
        message: 'containers with incomplete status: [i]' })), 'ContainersNotInitialized', /incomplete status/,
    ],
    'of which nothing is known yet': [aPod(onNode('n')), 'Starting', /not started its containers yet/],
  };
  for (const [what, [pod, reason, message]] of Object.entries(rows)) {
    it(`${what}: ${reason}`, () => {
      const found = waitReasonOf(pod);
      assert.equal(found?.reason, reason);
      assert.match(found.message, message);
    });
  }
  it('only while it is pending', () => {
    const phases: readonly PodPhase[] = ['Running', 'Succeeded', 'Failed', 'Unknown'];
    for (const phase of phases) assert.equal(waitReasonOf(aPod(inPhase(phase), unschedulable())), undefined);
  });
});

describe('containers of a pod', () => {
  const pod = aPod(
    withSpec({ containers: [{ name: 'a' }, { name: 'b' }], initContainers: [{ name: 'i' }] }),
    initContainers({ name: 'i', ready: true, restartCount: 2,
      state: { terminated: { exitCode: 0, reason: 'Completed' } } }),
    containers(waiting('b', 'CrashLoopBackOff', 'back-off'), { name: 'a', state: { running: {} }, ready: true }),
  );
  it('are in the order of the pod, not in that of their status', () =>
    assert.deepEqual(containerRows(pod).map(({ name, state, restarts, isReady }) => [name, state, restarts, isReady]), [
      ['i', 'Terminated: Completed (0)', 2, true], ['a', 'Running', 0, true],
        ['b', 'Waiting: CrashLoopBackOff', 0, false],
    ]));
  it('that the target has not told of have not started', () => {
    assert.deepEqual(containerRows(aPod()).map(({ state }) => state), ['Not started']);
    assert.deepEqual(containersOf(aPod()), []);
  });
});

describe('Events', () => {
  const time = fc.integer({ min: 0, max: 1e10 }).map((ms) => new Date(ms).toISOString());
  const event: fc.Arbitrary<PodEvent> = fc.record({
    metadata: fc.record({ creationTimestamp: time }), lastTimestamp: fc.option(time), eventTime: fc.option(time),
    series: fc.option(fc.record({ count: fc.nat(), lastObservedTime: time }), { nil: undefined }), note: fc.string(),
  }) as unknown as fc.Arbitrary<PodEvent>;

  it('are the newest fifty, newest first', () => {
    fc.assert(fc.property(fc.array(event, { minLength: 40, maxLength: 70, size: 'max' }), (events) => {
      const times = eventRows(events).map(({ at }) => at ?? '');
      const all = events.map((one) => eventRows([one])[0]?.at ?? '').toSorted().toReversed();
      assert.deepEqual(times, all.slice(0, 50));
    }), { numRuns: 30 });
  });
  it('of both APIs say the same in a row', () => {
    const at = '2026-01-01T00:00:00Z';
    const core: PodEvent = { metadata: {}, type: 'Warning', reason: 'Failed', message: 'm', count: 3,
      lastTimestamp: at };
    const later: PodEvent = {
      metadata: {}, type: 'Warning', reason: 'Failed', note: 'm', deprecatedCount: 3, deprecatedLastTimestamp: at,
        eventTime: null,
    };
    assert.deepEqual(eventRows([core]), eventRows([later]));
  });
  it('of a series have its count and its last time', () => {
    const series = { count: 7, lastObservedTime: '2026-01-01T00:00:09Z' };
    const [row] = eventRows([{ metadata: {}, count: 1, lastTimestamp: '2026-01-01T00:00:00Z', series }]);
    assert.deepEqual([row?.count, row?.at], [7, series.lastObservedTime]);
  });
  it('are those of this pod, not of an earlier one of its name', () => {
    const pod = aPod();
    assert.equal(isOfPod({ metadata: {}, involvedObject: { uid: 'pod-uid' } }, pod), true);
    assert.equal(isOfPod({ metadata: {}, regarding: { uid: 'pod-uid' } }, pod), true);
    assert.equal(isOfPod({ metadata: {}, involvedObject: { uid: 'earlier' } }, pod), false);
    assert.equal(isOfPod({ metadata: {} }, undefined), false);
  });
});
