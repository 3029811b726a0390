import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCondition } from '../../../../model/objects/conditions.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import {
  NO_DELAY, planOverdue, REPLACE_AFTER_MS, REASON_AFTER_MS, type Delay,
} from '../../../../scheduler/cycle/overdue-pod.ts';
import { aProxyRecord, withMetadata, withUid } from '../../../support/objects/builders.ts';

const NOW = '2026-01-01T00:00:00Z';
const owned = (kind: string) =>
  withMetadata({ ownerReferences: [{ apiVersion: 'v1', kind, name: 'web', uid: 'o', controller: true }] });
const plain = aProxyRecord(withUid('u'));
const replica = aProxyRecord(withUid('u'), owned('ReplicaSet'));
const lost = (outageMs: number): Delay => ({ target: 'ClusterTarget/c', outageMs, mayHaveCandidate: true });

function messageFor(proxy: ProxyPod, delay: Delay): readonly [reason: string | undefined, message: string | undefined] {
  const step = planOverdue(proxy, REASON_AFTER_MS, delay, NOW);
  const [command] = step.kind === 'write' ? step.plan : [];
  assert.ok(command?.kind === 'patch' && command.at.subresource === 'status');
  const { status } = command.patch as { readonly status: { readonly conditions: Parameters<typeof findCondition>[0] } };
  const condition = findCondition(status.conditions, 'PodScheduled');
  return [condition?.reason, condition?.message];
}

describe('planOverdue', () => {
  it('leaves a young pod alone until its time has come', () => {
    assert.deepEqual(planOverdue(plain, 5_000, NO_DELAY, NOW), { kind: 'later', ms: REASON_AFTER_MS - 5_000 });
  });

  const messages: Record<string, readonly [proxy: ProxyPod, delay: Delay, reason: string, message: RegExp]> = {
    'the scheduler is busy': [plain, NO_DELAY, 'AwaitingScheduler', /has not processed the pod yet/],
    'a target is slow': [
      plain, { target: 'ClusterTarget/c', mayHaveCandidate: true }, 'AwaitingVerdict',
      /waiting for the scheduler of ClusterTarget\/c/,
    ],
    'a target is lost': [plain, lost(1_000), 'AwaitingTarget', /waits for it, because it must not run twice/],
    'a target is lost, and another pod would be made':
      [replica, lost(1_000), 'AwaitingTarget', /deleted if that lasts 45 s/],
  };
  for (const [what, [proxy, delay, reason, message]] of Object.entries(messages)) {
    it(`says that ${what}`, () => {
      const [said, why] = messageFor(proxy, delay);
      assert.equal(said, reason);
      assert.match(why ?? '', message);
    });
  }

  const texts: Record<string, readonly [proxy: ProxyPod, delay: Delay, text: RegExp]> = {
    'when a lost target will have stopped its candidate': [
      plain, { ...lost(1_000), endsInMs: 4_001 }, /it stops an unconfirmed pod, and another target is tried in 5 s$/,
    ],
    'at least a second, also where that has passed already': [plain, { ...lost(1_000), endsInMs: -9 },
      /is tried in 1 s$/],
    'that, rather than that the pod is replaced': [replica, { ...lost(1_000), endsInMs: 9_000 }, /is tried in 9 s$/],
    'how long the scheduler of a target has': [plain, { target: 't', mayHaveCandidate: true },
      /nothing for 10 s, or .* for 30 s$/],
  };
  for (const [what, [proxy, delay, text]] of Object.entries(texts)) {
    it(`tells ${what}`, () => assert.match(messageFor(proxy, delay)[1] ?? '', text));
  }

  const nexts: Record<string, readonly [proxy: ProxyPod, ageMs: number, delay: Delay, kind: string,
    ms: number | undefined]> = {
    'looks again after fifteen seconds': [plain, REASON_AFTER_MS, NO_DELAY, 'write', REASON_AFTER_MS],
    'also at a pod that is replaced only while its target is lost':
      [replica, REASON_AFTER_MS, { target: 't', mayHaveCandidate: true }, 'write', REASON_AFTER_MS],
    'in time for the replacement, once the reason is told': [
      { ...replica, podScheduled: { type: 'PodScheduled', status: 'False', reason: 'AwaitingTarget' } }, 60_000,
      lost(40_000), 'later', 5_000,
    ],
    'tells the reason again where the pod was said to be scheduled': [
      { ...plain, podScheduled: { type: 'PodScheduled', status: 'True' } }, 60_000, NO_DELAY, 'write', REASON_AFTER_MS,
    ],
    'deletes to the millisecond': [replica, REASON_AFTER_MS, lost(REPLACE_AFTER_MS), 'write', undefined],
    'and not a millisecond before': [replica, REASON_AFTER_MS, lost(REPLACE_AFTER_MS - 1), 'write', 1],
    'never deletes a young pod, however long its target is lost': [replica, 1_000, lost(900_000), 'later', 14_000],
  };
  for (const [sentence, [proxy, ageMs, delay, kind, ms]] of Object.entries(nexts)) {
    it(sentence, () => {
      const step = planOverdue(proxy, ageMs, delay, NOW);
      assert.deepEqual([step.kind, step.kind === 'later' ? step.ms : step.kind === 'write' ? step.thenMs : 0],
        [kind, ms]);
    });
  }

  it('says nothing over what the pod says already', () => {
    const told =
      { ...plain, podScheduled: { type: 'PodScheduled', status: 'False' as const, reason: 'Unschedulable' } };
    assert.equal(planOverdue(told, REASON_AFTER_MS, NO_DELAY, NOW).kind, 'later');
  });

  it('deletes this version of a pod that is replaced, once its target has been lost for long', () => {
    const step = planOverdue(replica, 200_000, lost(REPLACE_AFTER_MS), NOW);
    const { namespace, name, resourceVersion } = replica;
    assert.deepEqual(
      step.kind === 'write'
        && step.plan.map((command) => command.kind === 'delete' && [command.at, command.preconditions]),
      [[{ namespace, name }, { uid: 'u', resourceVersion }]],
    );
  });

  it('comes back in time for that', () => {
    const step = planOverdue(replica, REASON_AFTER_MS, lost(25_000), NOW);
    assert.equal(step.kind === 'write' && step.thenMs, REPLACE_AFTER_MS - 25_000);
  });

  const never: Record<string, readonly [ProxyPod, Delay]> = {
    'a bare pod': [plain, lost(REPLACE_AFTER_MS * 9)],
    "a StatefulSet's pod": [aProxyRecord(withUid('u'), owned('StatefulSet')), lost(REPLACE_AFTER_MS * 9)],
    'a pod whose target is only slow': [replica, { target: 'ClusterTarget/c', mayHaveCandidate: true }],
    'a pod of which nothing was sent': [replica, { ...lost(REPLACE_AFTER_MS * 9), mayHaveCandidate: false }],
  };
  for (const [what, [proxy, delay]] of Object.entries(never)) {
    it(`never deletes ${what}`, () => {
      const step = planOverdue(proxy, 900_000, delay, NOW);
      assert.ok(step.kind === 'write' && step.plan.every(({ kind }) => kind === 'patch'));
    });
  }

  it('has nothing to do with pods that are bound, going, gated or at their end', () => {
    const changes: Partial<ProxyPod>[] =
      [{ nodeName: 'n' }, { terminating: true }, { schedulingGated: true }, { phase: 'Failed' }];
    for (const change of changes) {
      assert.deepEqual(planOverdue({ ...replica, ...change }, 900_000, lost(900_000), NOW), { kind: 'no-change' });
    }
  });

  it('takes pods of ReplicaSets and Jobs for replaceable', () => {
    const kinds = ['ReplicaSet', 'ReplicationController', 'Job', 'StatefulSet', 'DaemonSet'].map(
      (kind) => aProxyRecord(withUid('u'), owned(kind)).isReplaceable,
    );
    assert.deepEqual(kinds, [true, true, true, undefined, undefined]);
  });
});
