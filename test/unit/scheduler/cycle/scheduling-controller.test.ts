// When a pod without a fitting target is decided again: by itself, if nothing changes that would wake it.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import type { DecisionToLog } from '../../../../scheduler/explain/decision-log.ts';
import { startScheduling, type SchedulingOptions } from '../../../../scheduler/cycle/scheduling-controller.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import {
  aChaperonRecord, aDelegateRecord, aProxyRecord, scheduled, withRequests,
} from '../../../support/objects/builders.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const TARGET = { ref: { kind: 'ClusterTarget', name: 'c' } as const, key: 'ClusterTarget/c', nodeName: 'admiralty-c' };
const FIVE_MINUTES_MS = 5 * 60_000;
/** What an API server answers to a Binding whose write to etcd took too long. */
const STORAGE_TIMEOUT =
  new ApiError(409, 'Conflict', 'Operation cannot be fulfilled on pods/binding "web": etcdserver: request timed out');
/** A target whose scheduler has placed the candidate of each pod. */
const PLACED = {
  ...TARGET, owns: () => true, availability: { kind: 'ready' }, serverHealth: { isReady: true, silentMs: 0 },
  session: {
    hasSynced: true, client: { transport: { clock: { latest: () => 0 } } },
    find: () => ({ chaperon: aChaperonRecord(), delegate: aDelegateRecord(scheduled()) }),
  },
};
/** Turns of the event loop in which everything that is not on a timer gets done. */
const TURNS = 20;

async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
}

/** A source with one pod that asks for eight CPUs, and one target that has as many as the test says. */
async function aWorld(t: TestContext, cpu: string) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const pod = aProxyRecord(withRequests({ cpu: '8' }));
  const decisions: DecisionToLog[] = [];
  let tell: (key: string, before: ProxyPod | undefined, after: ProxyPod | undefined) => void = () => undefined;
  const binds: number[] = [];
  const answers = {
    metadataOnly: () => answers, transport: { clock: { earliest: Date.now, latest: Date.now } },
    patch: () => Promise.resolve({}),
    post: () => (binds.push(binds.length) > 1 ? Promise.resolve({}) : Promise.reject(STORAGE_TIMEOUT)),
  };
  const listeners: (typeof tell)[] = [];
  const options = {
    source: answers, sourceId: 'source', logger: SILENT, events: { record: () => undefined }, ready: Promise.resolve(),
    proxies: {
      onChange: (listener: typeof tell) => listeners.push(listener), get: () => pod, records: () => [], by: () => [],
    },
    targets: {
      listen: () => undefined, all: () => [], get: () => PLACED, byNode: () => PLACED, object: () => undefined,
    },
    inputs: { listen: () => undefined, policyIndex: { isComplete: true, policies: [], namespaces: new Map() } },
    decisionLog: { write: (decision: DecisionToLog) => decisions.push(decision) },
  };
  const cache = startScheduling(options as unknown as SchedulingOptions, stop.signal);
  tell = (...change) => listeners.forEach((listener) => listener(...change));
  cache.views.update(TARGET, undefined);
  cache.views.publish(TARGET.key, { metadata: {}, allocatable: { cpu, pods: '100' }, free: { cpu, pods: '100' } });
  const later = async (ms: number): Promise<number> => {
    t.mock.timers.tick(ms);
    await settled();
    return decisions.length;
  };
  return { cache, pod, later, binds, begin: async () => (tell(pod.key, undefined, pod), later(0)) };
}

describe('a pod that fits no target', () => {
  it('is decided again after five minutes, and after five more, though nothing has changed', async (t) => {
    const { begin, later } = await aWorld(t, '4');
    assert.equal(await begin(), 1);
    assert.equal(await later(FIVE_MINUTES_MS - 1), 1, 'not before: an idle cluster costs nothing');
    assert.equal(await later(1), 2);
    assert.equal(await later(FIVE_MINUTES_MS), 3);
  });

  it('is decided as soon as its outcome changes by itself, such as when a rejection ends', async (t) => {
    const { cache, pod, begin, later } = await aWorld(t, '16');
    const until = performance.now() + 5_000;
    cache.podStateOf(pod.uid).noteRejection(TARGET.key, { reason: 'Conflict', message: 'a quota' }, until);
    assert.equal(await begin(), 1);
    assert.equal(await later(5_000), 2);
  });

  it('does not wait on once something has woken it, and then waits five minutes again', async (t) => {
    const { cache, begin, later } = await aWorld(t, '4');
    await begin();
    await later(FIVE_MINUTES_MS / 2);
    cache.podTracker.wakeWaiting();
    assert.equal(await later(0), 2);
    assert.equal(await later(FIVE_MINUTES_MS / 2), 2, 'the timer of before has gone');
    assert.equal(await later(FIVE_MINUTES_MS / 2), 3);
  });
});

describe('a bind that met a conflict', () => {
  it('is tried again, though no watch tells of anything: the API server may not have stored it', async (t) => {
    const { cache, pod, begin, later, binds } = await aWorld(t, '16');
    cache.podStateOf(pod.uid).targets.add(TARGET.key);
    await begin();
    assert.equal(binds.length, 1);
    await later(999);
    assert.equal(binds.length, 1, 'not in a tight loop');
    await later(1);
    assert.equal(binds.length, 2);
    await later(FIVE_MINUTES_MS);
    assert.equal(binds.length, 2, 'the pod has its node now');
  });
});
