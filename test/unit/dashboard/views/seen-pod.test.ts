import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toSeenPod } from '../../../../dashboard/views/seen-pod.ts';
import { shownPod, unschedulable, type ShownPod } from '../../../support/objects/seen-pods.ts';

const waiting = (reason: string, message?: string) => ({
  containerStatuses: [{ name: 'web', state: { waiting: { reason, ...(message !== undefined && { message }) } } }],
});

describe('the workload of a pod', () => {
  for (const [what, pod, workload] of [
    ['that nobody controls', {}, 'Pod/web-1'],
    ['of a StatefulSet', { owner: { kind: 'StatefulSet', name: 'db' } }, 'StatefulSet/db'],
    ['of a Deployment', {
      owner: { kind: 'ReplicaSet', name: 'web-6d8f9c7b5d' }, labels: { 'pod-template-hash': '6d8f9c7b5d' },
    }, 'Deployment/web'],
    ['of a ReplicaSet of its own', { owner: { kind: 'ReplicaSet', name: 'web-6d8f' } }, 'ReplicaSet/web-6d8f'],
    ['whose label lies', {
      owner: { kind: 'ReplicaSet', name: 'web-6d8f9c7b5d' }, labels: { 'pod-template-hash': 'other' },
    }, 'ReplicaSet/web-6d8f9c7b5d'],
  ] satisfies readonly (readonly [string, ShownPod, string])[]) {
    it(`is told of one ${what}`, () => assert.equal(toSeenPod(shownPod(pod)).workload, workload));
  }
});

describe('why a pod waits', () => {
  for (const [what, pod, reason] of [
    ['the scheduler has not decided', {}, 'NotDecided'],
    ['no target can run it', { conditions: [unschedulable('0/1 targets')] }, 'Unschedulable'],
    ['a gate holds it', { spec: { schedulingGates: [{ name: 'wait' }] } }, 'SchedulingGated'],
    ['its image cannot be pulled', {
      target: 'ClusterTarget/eu', phase: 'Pending', status: waiting('ErrImagePull'),
    }, 'ErrImagePull'],
    ['its containers are being made', {
      target: 'ClusterTarget/eu', phase: 'Pending', status: waiting('ContainerCreating', 'soon'),
    }, 'ContainerCreating'],
    ['nothing has started', { target: 'ClusterTarget/eu', phase: 'Pending' }, 'Starting'],
    ['an init container runs', {
      target: 'ClusterTarget/eu', phase: 'Pending',
      conditions: [{ type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized', message: 'one of two' }],
    }, 'ContainersNotInitialized'],
    ['nothing: it runs', { target: 'ClusterTarget/eu' }, undefined],
    ['nothing: it has ended', { target: 'ClusterTarget/eu', phase: 'Failed' }, undefined],
  ] satisfies readonly (readonly [string, ShownPod, string | undefined])[]) {
    it(`is that ${what}`, () => {
      const { waits } = toSeenPod(shownPod(pod));
      assert.equal(waits?.reason, reason);
      if (reason !== undefined) assert.ok((waits?.message ?? '') !== '');
    });
  }
});

describe('a pod in a list', () => {
  it('names its target as kubectl users know it', () => {
    assert.equal(toSeenPod(shownPod({ target: 'ClusterTarget/eu' })).target, 'eu');
    assert.equal(toSeenPod(shownPod({ target: 'Target/shop/eu' })).target, 'shop/eu');
  });

  it('has no problem with containers that wait for good, once an init container has failed it', () => {
    const failed = shownPod({ target: 'ClusterTarget/eu', phase: 'Failed', status: waiting('PodInitializing') });
    assert.equal(toSeenPod(failed).problem, undefined);
  });

  it('counts restarts of all containers, and says which problem one has while it runs', () => {
    const status = {
      initContainerStatuses: [{ name: 'init', restartCount: 2, ready: true }],
      containerStatuses: [
        { name: 'web', restartCount: 3, ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } },
      ],
    };
    const { restarts, problem } = toSeenPod(shownPod({ target: 'ClusterTarget/eu', status }));
    assert.deepEqual([restarts, problem], [5, 'CrashLoopBackOff']);
  });
});
