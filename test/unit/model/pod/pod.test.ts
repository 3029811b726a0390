import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectMeta, OwnerReference, Pod, PodSpec, StringMap } from '../../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PROXY_SCHEDULER } from '../../../../api/objects/keys.ts';
import {
  controllerOf, isBound, isElected, isSchedulingGated, isProxyPod, isTerminal, isTerminating, objectKey, splitKey,
} from '../../../../model/pod/pod.ts';

const elected: StringMap = { [ELECT_ANNOTATION]: '' };

function pod(metadata: ObjectMeta, spec: Partial<PodSpec> = {}): Pod {
  return { metadata, spec: { containers: [], ...spec } };
}

const answers: Record<string, readonly [actual: boolean, expected: boolean]> = {
  'a pod with an empty elect annotation is elected': [isElected(pod({ annotations: elected })), true],
  'any value of the elect annotation elects': [isElected(pod({ annotations: { [ELECT_ANNOTATION]: 'no' } })), true],
  'but false does not': [isElected(pod({ annotations: { [ELECT_ANNOTATION]: 'false' } })), false],
  'a pod without annotations is not elected': [isElected(pod({})), false],
  'a pod with other annotations is not elected': [isElected(pod({ annotations: { elect: '' } })), false],
  'an elected pod with the proxy scheduler is a proxy pod':
    [isProxyPod(pod({ annotations: elected }, { schedulerName: PROXY_SCHEDULER })), true],
  'an elected pod with another scheduler is no proxy pod':
    [isProxyPod(pod({ annotations: elected }, { schedulerName: 'default-scheduler' })), false],
  'a pod with the proxy scheduler alone is no proxy pod':
    [isProxyPod(pod({}, { schedulerName: PROXY_SCHEDULER })), false],
  'a pod with a node is bound': [isBound(pod({}, { nodeName: 'n1' })), true],
  'a pod with an empty node is not bound': [isBound(pod({}, { nodeName: '' })), false],
  'a pod without a node is not bound': [isBound(pod({})), false],
  'a deleted pod is terminating': [isTerminating(pod({ deletionTimestamp: '2026-01-01T00:00:00Z' })), true],
  'a pod that was not deleted is not terminating': [isTerminating(pod({})), false],
  'a pod that succeeded is terminal': [isTerminal('Succeeded'), true],
  'a pod that failed is terminal': [isTerminal('Failed'), true],
  'a running pod is not terminal': [isTerminal('Running'), false],
  'a pending pod is not terminal': [isTerminal('Pending'), false],
  'a pod of unknown phase is not terminal': [isTerminal('Unknown'), false],
  'a pod without a phase is not terminal': [isTerminal(undefined), false],
  'a pod with a gate is gated': [isSchedulingGated(pod({}, { schedulingGates: [{ name: 'queue' }] })), true],
  'a pod whose gates are all gone is not gated': [isSchedulingGated(pod({}, { schedulingGates: [] })), false],
  'a pod without gates is not gated': [isSchedulingGated(pod({})), false],
};

describe('questions about pods', () => {
  for (const [sentence, [actual, expected]] of Object.entries(answers)) {
    it(sentence, () => assert.equal(actual, expected));
  }
});

describe('controllerOf', () => {
  const owner: OwnerReference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: '1' };
  const controller: OwnerReference =
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: '2', controller: true };

  it('finds the controlling owner among others', () => assert.equal(
    controllerOf({ ownerReferences: [owner, controller] }), controller,
  ));
  it('takes no owner that does not control', () => assert.equal(
    controllerOf({ ownerReferences: [owner, { ...controller, controller: false }] }), undefined,
  ));
  it('finds none on a bare pod', () => assert.equal(controllerOf({}), undefined));
});

describe('splitKey', () => {
  it('is the reverse of objectKey', () => assert.deepEqual(splitKey('a/b'), { namespace: 'a', name: 'b' }));
});

describe('objectKey', () => {
  it('joins namespace and name', () => assert.equal(objectKey({ namespace: 'a', name: 'b' }), 'a/b'));
  it('is the name alone for cluster-scoped objects', () => assert.equal(objectKey({ name: 'b' }), 'b'));
  it(
    'is the name alone where the namespace is empty', () => assert.equal(objectKey({ namespace: '', name: 'b' }), 'b'),
  );
});
