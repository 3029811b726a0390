// When a pod without a node is told why, and when it is replaced, while the scheduling loop may be blocked.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pod } from '../../../../api/objects/core.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import { toProxyPodRecord, type ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { startOverdue, type OverdueOptions } from '../../../../scheduler/cycle/overdue-controller.ts';
import {
  NO_DELAY, REASON_AFTER_MS, REPLACE_AFTER_MS, type Delay,
} from '../../../../scheduler/cycle/overdue-pod.ts';
import {
  aProxy, onNode, terminating, withCondition, withMetadata, withSpec, withUid, type Change,
} from '../../../support/objects/builders.ts';
import { FakeInformer } from '../../../support/doubles/scheduling-world.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const LOST: Delay = { target: 'ClusterTarget/c', mayHaveCandidate: true, outageMs: 0 };
const replica = withMetadata(
  { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }] },
);

/** One source whose pods are told, with a clock that only the test moves. */
function aWorld(t: TestContext, delay: Delay | (() => Delay) = NO_DELAY, isReady = true) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 5_000;
  t.mock.method(performance, 'now', () => now);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const proxies = new FakeInformer<ProxyPod>();
  const writes: string[] = [];
  const events: EventRecord[] = [];
  const asked: number[] = [];
  const failure: { next?: Error } = {};
  const done = (what: string): Promise<unknown> => {
    const { next } = failure;
    delete failure.next;
    if (next !== undefined) return Promise.reject(next);
    writes.push(what);
    return Promise.resolve({});
  };
  const source = {
    withoutRateLimit: () => source, metadataOnly: () => source,
    patch: (_type: unknown, { subresource }: { readonly subresource: string }, { patch }: { readonly patch: Pod }) =>
      done(`${subresource}: ${patch.status?.conditions?.[0]?.reason}`),
    delete: (_type: unknown, _at: unknown, { preconditions }: { readonly preconditions: { readonly uid: string } }) =>
      done(`delete ${preconditions.uid}`),
  };
  const options = {
    source, proxies, logger: SILENT, events: { record: (event: EventRecord) => events.push(event) },
    ready: isReady ? Promise.resolve() : new Promise(() => undefined),
    cache: { delayOf: (_proxy: ProxyPod, at: number) => {
      asked.push(at);
      return typeof delay === 'function' ? delay() : delay;
    } },
  };
  startOverdue(options as unknown as OverdueOptions, stop.signal);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  };
  const tell = (...changes: Change<Pod>[]): Promise<void> => {
    proxies.set('team-a/web', toProxyPodRecord(aProxy(...changes)));
    return settled();
  };
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    t.mock.timers.tick(ms);
    await settled();
  };
  return { proxies, writes, events, asked, failure, tell, pass, settled };
}

describe('a pod without a node', () => {
  it('is told why after fifteen seconds, not before, and without asking what delays it', async (t) => {
    const { writes, asked, tell, pass } = aWorld(t);
    await tell();
    await pass(REASON_AFTER_MS - 1);
    assert.deepEqual([writes, asked], [[], []]);
    await pass(1);
    assert.deepEqual(writes, ['status: AwaitingScheduler']);
  });
  it('counts from when it was seen first, however often it changes', async (t) => {
    const { writes, tell, pass } = aWorld(t);
    await tell();
    await pass(10_000);
    await tell(withMetadata({ resourceVersion: '2' }));
    await pass(5_000);
    assert.equal(writes.length, 1);
  });
  it('of which the loop has said something gets nothing else', async (t) => {
    const { writes, events, tell, pass } = aWorld(t, LOST);
    await tell(withCondition({ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }));
    await pass(60_000);
    assert.deepEqual([writes, events], [[], []]);
  });
  for (const [what, change] of Object.entries(
    { 'has a gate': withSpec({ schedulingGates: [{ name: 'g' }] }), 'goes': terminating() },
  )) {
    it(`and ${what} is left alone`, async (t) => {
      const { writes, tell, pass } = aWorld(t, LOST);
      await tell(change, replica);
      await pass(600_000);
      assert.deepEqual(writes, []);
    });
  }
  it('that gets its node in time is left alone', async (t) => {
    const { writes, tell, pass } = aWorld(t, LOST);
    await tell();
    await pass(14_000);
    await tell(onNode('admiralty-c'));
    await pass(600_000);
    assert.deepEqual(writes, []);
  });
  it('that was deleted in time is left alone', async (t) => {
    const { proxies, writes, tell, pass } = aWorld(t);
    await tell();
    proxies.set('team-a/web', undefined);
    await pass(600_000);
    assert.deepEqual(writes, []);
  });
  it('that comes again under the same name has its own fifteen seconds', async (t) => {
    const { writes, tell, pass } = aWorld(t);
    await tell(withUid('first'));
    await pass(10_000);
    await tell(withUid('second'));
    await pass(REASON_AFTER_MS - 1);
    assert.deepEqual(writes, []);
    await pass(1);
    assert.equal(writes.length, 1);
  });
  it('is not looked at before the caches have synced', async (t) => {
    const { writes, tell, pass } = aWorld(t, LOST, false);
    await tell();
    await pass(600_000);
    assert.deepEqual(writes, []);
  });
});

describe('an Event about the delay', () => {
  const rows: Record<string, readonly [delay: Delay, reasons: readonly string[]]> = {
    'tells of a target that is lost': [LOST, ['AwaitingTarget']],
    'tells of a target that does not decide':
      [{ target: 'ClusterTarget/c', mayHaveCandidate: true }, ['AwaitingVerdict']],
    'does not tell of our own scheduler': [NO_DELAY, []],
  };
  for (const [sentence, [delay, reasons]] of Object.entries(rows)) {
    it(sentence, async (t) => {
      const { events, tell, pass } = aWorld(t, delay);
      await tell();
      await pass(REASON_AFTER_MS);
      assert.deepEqual(events.map(({ reason }) => reason), reasons);
    });
  }
  it('is not sent for a write that failed', async (t) => {
    const { events, writes, failure, tell, pass } = aWorld(t, LOST);
    failure.next = new ApiError(500, 'InternalError', 'etcd');
    await tell();
    await pass(REASON_AFTER_MS);
    assert.deepEqual([events, writes], [[], []]);
    await pass(1_000);
    assert.deepEqual([events.length, writes], [1, ['status: AwaitingTarget']], 'it is tried again');
  });
});

describe('a pod of a lost target whose controller makes another one', () => {
  it('is deleted once the target has been lost for long, and in time', async (t) => {
    let outageMs = 0;
    const { writes, tell, pass } = aWorld(t, () => ({ ...LOST, outageMs }));
    await tell(replica);
    outageMs = REASON_AFTER_MS;
    await pass(REASON_AFTER_MS);
    assert.deepEqual(writes, ['status: AwaitingTarget']);
    outageMs = REPLACE_AFTER_MS;
    await pass(REPLACE_AFTER_MS - REASON_AFTER_MS - 1);
    assert.equal(writes.length, 1);
    await pass(1);
    assert.deepEqual(writes.slice(1), ['delete proxy-uid']);
  });
  it('is not deleted when the target is back before', async (t) => {
    let delay: Delay = { ...LOST, outageMs: REASON_AFTER_MS };
    const { writes, tell, pass } = aWorld(t, () => delay);
    await tell(replica);
    await pass(REASON_AFTER_MS);
    delay = { target: 'ClusterTarget/c', mayHaveCandidate: true };
    await pass(600_000);
    assert.ok(writes.every((write) => !write.startsWith('delete')));
  });
  it('that has got its node meanwhile stays: the delete is of the version that was seen', async (t) => {
    const { writes, failure, tell, pass } = aWorld(t, { ...LOST, outageMs: REPLACE_AFTER_MS });
    failure.next = new ApiError(409, 'Conflict', 'it has changed');
    await tell(replica);
    await pass(REASON_AFTER_MS);
    await pass(1_000);
    assert.deepEqual(writes, [], 'nothing is forced: the watch shows what has changed');
  });
});
