// The way of one pod, stage by stage: which stage it is at, since when, and what is said of it, from statuses as
// kubelets and schedulers write them, whole or in part.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { TARGET_ANNOTATION } from '../../../../api/objects/keys.ts';
import { stagesOf, type TargetSide } from '../../../../dashboard/pod/stages.ts';
import type { Stage } from '../../../../dashboard/wire/screens.ts';
import {
  aDelegate, annotated, aProxy, inPhase, onNode, terminating, unschedulable, withCondition, withMetadata, withSpec,
  withStatus, type Change,
} from '../../../support/objects/builders.ts';

const NODE = 'admiralty-eu';
const AT = '2026-01-01T00:00:07Z';
const bound = onNode(NODE);
const gated = withSpec({ schedulingGates: [{ name: 'example.com/quota' }] });
const scheduledAt = withCondition({ type: 'PodScheduled', status: 'True', lastTransitionTime: AT });
const readyAt = withCondition({ type: 'Ready', status: 'True', lastTransitionTime: AT });
const NONE: TargetSide = { kind: 'none' };
const UNKNOWN: TargetSide = {
  kind: 'unknown', unreadable: { what: 'the delegate pod', why: 'forbidden', advice: 'Ask an administrator.' },
};
const found = (delegate?: Pod, sentAt?: number): TargetSide =>
  ({ kind: 'found', target: 'ClusterTarget/eu', delegate, sentAt });
/** Statuses of containers, and of init containers, as a kubelet writes them. */
const containers = (...statuses: readonly object[]) => withStatus({ containerStatuses: statuses as never });
const initContainers = (...statuses: readonly object[]) => withStatus({ initContainerStatuses: statuses as never });
const waiting = (name: string, reason?: string, message?: string) =>
  ({ name, state: { waiting: { reason, message } } });
const running = (name: string, startedAt?: string) => ({ name, state: { running: { startedAt } } });
const ended = (name: string) => ({ name, state: { terminated: { exitCode: 0, reason: 'Completed' } } });

/** Its stages in a line: a letter each, the first of `done`, `now`, `failed`, `later` and `unknown`. */
const line = (pod: Pod, targetSide: TargetSide): string =>
  stagesOf(pod, targetSide).map(({ state }) => state[0]).join('');

/** A stage by its title, of a pod, and what is said of it. */
type Rows = Readonly<
  Record<string, readonly [title: string, pod: Pod, targetSide: TargetSide, said: string | undefined]>
>;

function stage(title: string, pod: Pod, targetSide: TargetSide): Stage {
  const one = stagesOf(pod, targetSide).find((each) => each.title === title);
  assert.ok(one !== undefined, title);
  return one;
}

describe('the stages of a pod', () => {
  it('stand in the order in which it passes them, each with its cluster', () => {
    assert.deepEqual(stagesOf(aProxy(), NONE).map(({ title, where }) => `${title} ${where}`), [
      'Elected source', 'Target chosen source', 'Delegate pod created target', 'Scheduled to a node target',
      'Bound to the virtual node source', 'Containers started target', 'Ready target',
    ]);
  });

  // elected, chosen, created, scheduled, bound, started, ready, and how it ended
  const lines: Readonly<Record<string, readonly [pod: Pod, targetSide: TargetSide, line: string]>> = {
    'that nobody has looked at': [aProxy(), NONE, 'dnlllll'],
    'that no target takes': [aProxy(unschedulable()), NONE, 'dflllll'],
    'that waits for its gates has not failed': [aProxy(gated, unschedulable()), NONE, 'dnlllll'],
    'whose chaperon has no delegate yet': [aProxy(), found(), 'ddnllll'],
    'whose delegate waits for a node': [aProxy(), found(aDelegate()), 'dddnlll'],
    'whose delegate finds no node': [aProxy(), found(aDelegate(unschedulable())), 'dddflll'],
    'whose delegate was kept from nodes for another reason': [
      aProxy(), found(aDelegate(withCondition({ type: 'PodScheduled', status: 'False', reason: 'SchedulerError' }))),
      'dddnlll',
    ],
    'that is to be bound': [aProxy(), found(aDelegate(scheduledAt)), 'ddddnll'],
    'whose containers have not begun': [aProxy(bound), found(aDelegate(scheduledAt)), 'dddddnl'],
    'that runs and is not ready':
      [aProxy(bound), found(aDelegate(scheduledAt, inPhase('Running'))), 'ddddddn'],
    'that is ready': [aProxy(bound), found(aDelegate(scheduledAt, inPhase('Running'), readyAt)), 'ddddddd'],
    'that was bound before its candidate was cached': [aProxy(bound), NONE, 'dddddnl'],
    'whose target cannot be read, before it is bound': [aProxy(), UNKNOWN, 'dnuulll'],
    'whose target cannot be read, while it runs':
      [aProxy(bound, inPhase('Running'), readyAt), UNKNOWN, 'ddddddd'],
    'whose delegate was deleted under it': [aProxy(bound, inPhase('Running')), found(), 'ddddddn'],
    'that has ended well': [aProxy(bound, inPhase('Succeeded')), NONE, 'dddddddd'],
    'that has failed': [aProxy(bound, inPhase('Failed')), NONE, 'dddddddf'],
    'whose init container has failed it, while the others waited': [
      aProxy(bound, inPhase('Failed'), containers(waiting('a', 'PodInitializing'))), NONE, 'dddddddf',
    ],
    'that is being deleted': [aProxy(bound, inPhase('Running'), readyAt, terminating()), NONE, 'dddddddn'],
    'that is deleted before it was placed': [aProxy(terminating()), NONE, 'dnllllll'],
    'that has ended and is being deleted': [aProxy(bound, inPhase('Succeeded'), terminating()), NONE, 'ddddddddn'],
  };
  for (const [what, [pod, targetSide, expected]] of Object.entries(lines)) {
    it(`of one ${what}: ${expected}`, () => assert.equal(line(pod, targetSide), expected));
  }
});

describe('what is said of a stage', () => {
  const noted: Rows = {
    'the target by the name that it has in the source': ['Target chosen', aProxy(), found(), 'eu'],
    'a Target by its namespace and name': [
      'Target chosen', aProxy(), { kind: 'found', target: 'Target/team-a/eu' }, 'team-a/eu',
    ],
    'the target that a bound pod names, where that has nothing of it any more': [
      'Target chosen', aProxy(bound, annotated({ [TARGET_ANNOTATION]: 'ClusterTarget/us' })), NONE, 'us',
    ],
    'no target of a bound pod that names none': ['Target chosen', aProxy(bound), NONE, undefined],
    'why no target takes it': ['Target chosen', aProxy(unschedulable('0/3 targets are available')), NONE,
      '0/3 targets are available'],
    'the delegate': ['Delegate pod created', aProxy(), found(aDelegate()), 'web-abc'],
    'the node in the target': ['Scheduled to a node', aProxy(), found(aDelegate(scheduledAt, onNode('n-1'))), 'n-1'],
    'why no node takes the delegate':
      ['Scheduled to a node', aProxy(), found(aDelegate(unschedulable('0/9 nodes'))), '0/9 nodes'],
    'the virtual node': ['Bound to the virtual node', aProxy(bound), NONE, NODE],
    'nothing of a stage that is still to come, whatever is known of it': [
      'Ready', aProxy(withCondition({ type: 'Ready', status: 'False', message: 'containers with unready status' })),
      NONE, undefined,
    ],
    'why it is not ready': [
      'Ready', aProxy(bound, inPhase('Running'), withCondition({ type: 'Ready', status: 'False', message: 'unready' })),
      NONE, 'unready',
    ],
    'how it failed': [
      'Failed', aProxy(bound, withStatus({ phase: 'Failed', reason: 'Evicted', message: 'low memory' })), NONE,
      'Evicted: low memory',
    ],
    'how it failed, where only a reason is given':
      ['Failed', aProxy(bound, withStatus({ phase: 'Failed', reason: 'DeadlineExceeded', message: '' })), NONE,
        'DeadlineExceeded'],
    'nothing of an end without a word': ['Succeeded', aProxy(bound, inPhase('Succeeded')), NONE, undefined],
  };
  for (const [what, [title, pod, targetSide, note]] of Object.entries(noted)) {
    it(`is ${what}`, () => assert.equal(stage(title, pod, targetSide).note, note));
  }
});

describe('the containers of a pod', () => {
  const started = (...changes: Change<Pod>[]) =>
    stage('Containers started', aProxy(bound), found(aDelegate(scheduledAt, ...changes)));
  const rows: Readonly<Record<string, readonly [status: Change<Pod>[], state: Stage['state'], note?: string]>> = {
    'that nobody has told of': [[], 'now'],
    'that wait for an init container': [
      [initContainers(running('i', AT)), containers(waiting('a', 'PodInitializing'))], 'now', 'PodInitializing',
    ],
    'that wait without a reason': [[containers(waiting('a'))], 'now', ''],
    'of which one waits for its image': [
      [containers(running('a', AT), waiting('b', 'ContainerCreating'))], 'now', 'ContainerCreating',
    ],
    'of which one has no image': [
      [containers(running('a', AT), waiting('b', 'ImagePullBackOff', 'no such image'))], 'failed',
      'ImagePullBackOff: no such image',
    ],
    'whose init container crashes, though the others only wait for it': [
      [initContainers(waiting('i', 'CrashLoopBackOff')), containers(waiting('a', 'PodInitializing'))], 'failed',
      'CrashLoopBackOff',
    ],
    'whose sidecar crashes while they run':
      [[initContainers(waiting('s', 'CrashLoopBackOff')), containers(running('a', AT))], 'failed', 'CrashLoopBackOff'],
    'that restart after they ran': [
      [inPhase('Running'), containers({ ...waiting('a', 'CrashLoopBackOff', 'back-off 10s'),
        lastState: { terminated: { exitCode: 1 } } })], 'failed', 'CrashLoopBackOff: back-off 10s',
    ],
    'of a Job that has ended': [[inPhase('Succeeded'), containers(ended('a'))], 'done'],
    'of which only one has ended': [[inPhase('Running'), containers(ended('a'), running('b', AT))], 'done'],
    'of a phase whose statuses are missing': [[inPhase('Running')], 'done'],
  };
  for (const [what, [status, state, note]] of Object.entries(rows)) it(`${what}: ${state}`, () => {
    const seen = started(...status);
    assert.deepEqual([seen.state, seen.note], [state, note]);
  });

  it('have started when the last of them did', () => {
    const later = '2026-01-01T00:00:09Z';
    assert.equal(started(containers(running('a', later), running('b', AT))).at, later);
  });
  it('have started with the pod, where no time of theirs is known', () => {
    assert.equal(started(withStatus({ phase: 'Succeeded', startTime: AT }), containers(ended('a'))).at, AT);
  });
  it('are those of the proxy where the delegate is not known', () => {
    const pod = aProxy(bound, containers(waiting('a', 'ErrImagePull')));
    assert.equal(stage('Containers started', pod, UNKNOWN).state, 'failed');
  });
});

describe('the time of a stage', () => {
  const rows: Rows = {
    'the creation of the pod': ['Elected', aProxy(), NONE, '2026-01-01T00:00:00Z'],
    'that of its chaperon, in whole ms': ['Target chosen', aProxy(), found(aDelegate(), 1_767_225_601_250),
      '2026-01-01T00:00:01.250Z'],
    'the creation of its delegate, in Pod mode': [
      'Target chosen', aProxy(), found(aDelegate(withMetadata({ creationTimestamp: AT }))), AT,
    ],
    'when the target has scheduled the delegate': ['Scheduled to a node', aProxy(), found(aDelegate(scheduledAt)), AT],
    'when it was bound': ['Bound to the virtual node', aProxy(bound, scheduledAt), NONE, AT],
    'none of a bind that is still to come': ['Bound to the virtual node', aProxy(scheduledAt), NONE, undefined],
    'when it became ready': ['Ready', aProxy(bound, inPhase('Running'), readyAt), NONE, AT],
    'none of a readiness that it has lost': [
      'Ready', aProxy(bound, withCondition({ type: 'Ready', status: 'False', lastTransitionTime: AT })), NONE,
      undefined,
    ],
    'when it was no longer ready, for its end': [
      'Succeeded',
      aProxy(bound, inPhase('Succeeded'), withCondition({ type: 'Ready', status: 'False', lastTransitionTime: AT })),
      NONE, AT,
    ],
    'when it is to be gone': ['Terminating', aProxy(terminating()), NONE, '2026-01-01T01:00:00Z'],
  };
  for (const [what, [title, pod, targetSide, at]] of Object.entries(rows)) {
    it(`is ${what}`, () => assert.equal(stage(title, pod, targetSide).at, at));
  }
});
