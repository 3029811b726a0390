// When pods go back to a target that was lost: once it is stable, one at a time, and only where a policy wants it.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PLACEMENT_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Failback, PlacementPolicySpec } from '../../../../api/kinds/placement-policy.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { toProxyPodRecord, type ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { PAUSE_MS, STABLE_MS } from '../../../../scheduler/failback/failback.ts';
import type { TargetSnapshot } from '../../../../scheduler/snapshot/snapshot.ts';
import { HOST_NAME_LABEL } from '../../../../scheduler/snapshot/virtual-node-info.ts';
import { startFailback, type FailbackOptions } from '../../../../scheduler/failback/failback-controller.ts';
import {
  annotated, aProxy, named, onNode, withMetadata, withUid, type Change,
} from '../../../support/objects/builders.ts';
import { aPolicyIndex, aClusterPolicy, aPlace, withNodeInfo } from '../../../support/objects/placement.ts';
import { FakeInformer } from '../../../support/doubles/scheduling-world.ts';

const HOME = { key: 'ClusterTarget/home', nodeName: 'admiralty-home' };
const MINUTE_MS = 60_000;
const owned = withMetadata(
  { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true }] },
);

function aWorld(t: TestContext, failback: Failback | undefined = 'WhenStable') {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const proxies = new FakeInformer<ProxyPod>();
  Object.assign(proxies, { by: () => [...proxies.records()].filter(({ lostTargets }) => lostTargets !== undefined) });
  const evicted: string[] = [];
  const answer: { error?: Error } = {};
  let isKnown = true;
  let warnings = 0;
  let policy: PlacementPolicySpec = { failback };
  let view: readonly Change<TargetSnapshot>[] = [];
  let listener: Record<'changed' | 'removed', (target: unknown) => void> | undefined;
  const options = {
    proxies, logger: { info: () => undefined, child: () => ({ warn: () => (warnings += 1) }) },
      ready: Promise.resolve(),
    source: { post: (_type: unknown, { name, subresource }: { readonly name: string; readonly subresource: string }) =>
      {
      evicted.push(`${subresource} ${name}`);
      return answer.error === undefined ? Promise.resolve({}) : Promise.reject(answer.error);
    } },
    viewOf: () => aPlace('home', {}, ...view),
    policies: () => aPolicyIndex(aClusterPolicy(policy)),
    targets: {
      listen: (one: typeof listener) => (listener = one),
      get: (key: string) => (isKnown && key === HOME.key ? HOME : undefined),
    },
  };
  startFailback(options as unknown as FailbackOptions, stop.signal);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  };
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    t.mock.timers.tick(ms);
    await settled();
  };
  const ready = (isReady: boolean): Promise<void> => {
    listener?.changed({ ...HOME, availability: { kind: isReady ? 'ready' : 'unavailable' } });
    return settled();
  };
  const away = (name: string, ...changes: Change<Pod>[]): Promise<void> => {
    const record = JSON.stringify({ target: 'ClusterTarget/b', not: { [HOME.key]: 'Unreachable' } });
    const pod = aProxy(named(name), withUid(name), annotated({ [PLACEMENT_ANNOTATION]: record }), owned,
      onNode('admiralty-b'), ...changes);
    proxies.set(`team-a/${name}`, toProxyPodRecord(pod));
    return settled();
  };
  const gone = (name: string): Promise<void> => {
    proxies.set(`team-a/${name}`, undefined);
    return settled();
  };
  const removed = (): Promise<void> => {
    isKnown = false;
    listener?.removed(HOME);
    return settled();
  };
  const back = (): void => {
    isKnown = true;
  };
  return { evicted, answer, pass, ready, away, gone, removed, back, warnings: () => warnings,
    follow: (next: PlacementPolicySpec) => (policy = next),
    see: (...changes: Change<TargetSnapshot>[]) => (view = changes) };
}

describe('pods that are away', () => {
  it('go back one by one, by name, once their target has been stable for five minutes', async (t) => {
    const { evicted, pass, ready, away, gone } = aWorld(t);
    await away('b');
    await away('a');
    await ready(true);
    await pass(STABLE_MS - 1);
    assert.deepEqual(evicted, []);
    await pass(1);
    assert.deepEqual(evicted, ['eviction a']);
    await gone('a');
    await pass(PAUSE_MS - 1);
    assert.equal(evicted.length, 1);
    await pass(1);
    assert.deepEqual(evicted, ['eviction a', 'eviction b']);
  });
  it('wait anew when the target is lost in between', async (t) => {
    const { evicted, pass, ready, away } = aWorld(t);
    await away('a');
    await ready(true);
    await pass(STABLE_MS - 1);
    await ready(false);
    await ready(true);
    await pass(STABLE_MS - 1);
    assert.deepEqual(evicted, []);
    await pass(MINUTE_MS);
    assert.deepEqual(evicted, ['eviction a']);
  });
  it('do not wait anew because the target says again that it is ready', async (t) => {
    const { evicted, pass, ready, away } = aWorld(t);
    await away('a');
    await ready(true);
    await pass(STABLE_MS / 2);
    await ready(true);
    await pass(STABLE_MS / 2);
    assert.deepEqual(evicted, ['eviction a']);
  });
  it('because a target that looks ready could not be asked wait for five minutes: it fails others, too', async (t) => {
    const { evicted, pass, ready, away, gone } = aWorld(t);
    await ready(true);
    await pass(STABLE_MS);
    for (const name of ['a', 'b']) await away(name);
    await pass(STABLE_MS - 1);
    assert.deepEqual(evicted, []);
    await pass(1);
    assert.deepEqual(evicted, ['eviction a']);
    await gone('a');
    await away('replacement');
    await pass(STABLE_MS - 1);
    assert.deepEqual(evicted, ['eviction a'], 'its replacement was not placed there either');
  });
  it('stay while the target is away, and when it was removed', async (t) => {
    const lost = aWorld(t);
    await lost.away('a');
    await lost.pass(10 * STABLE_MS);
    assert.deepEqual(lost.evicted, []);
    await lost.ready(true);
    await lost.removed();
    await lost.pass(10 * STABLE_MS);
    assert.deepEqual(lost.evicted, []);
  });
  it('wait anew for a target that was removed and comes again under the same name', async (t) => {
    const { evicted, pass, ready, away, removed, back } = aWorld(t);
    await away('a');
    await ready(true);
    await pass(STABLE_MS - 1);
    await removed();
    back();
    await ready(true);
    await pass(STABLE_MS - 1);
    assert.deepEqual(evicted, []);
    await pass(1);
    assert.deepEqual(evicted, ['eviction a']);
  });
  for (const failback of ['Manual', 'Never', undefined] as const) {
    it(`stay where a policy says ${failback ?? 'nothing'}`, async (t) => {
      const { evicted, pass, ready, away, follow } = aWorld(t, 'Manual');
      if (failback !== undefined) follow({ failback });
      await away('a');
      await ready(true);
      await pass(10 * STABLE_MS);
      assert.deepEqual(evicted, []);
    });
  }
  const REMOVING = { reason: 'Removing', message: 'it is being removed' };
  const CLOSED: Record<string, Change<TargetSnapshot>> = {
    'cordoned': withNodeInfo({ cordoned: true }),
    'without its virtual node': withNodeInfo({ node: undefined }),
    'being removed': (target) => ({ ...target, unavailable: REMOVING }),
  };
  for (const [state, change] of Object.entries(CLOSED)) {
    it(`stay while their target is ${state}: their replacements would not go there`, async (t) => {
      const { evicted, pass, ready, away, see } = aWorld(t);
      see(change);
      await away('a');
      await ready(true);
      await pass(10 * STABLE_MS);
      assert.deepEqual(evicted, []);
      see();
      await pass(MINUTE_MS);
      assert.deepEqual(evicted, ['eviction a']);
    });
  }
  it('stay while a policy keeps them away from their target', async (t) => {
    const { evicted, pass, ready, away, follow } = aWorld(t);
    follow({ failback: 'WhenStable', forbid: { matchLabels: { [HOST_NAME_LABEL]: HOME.nodeName } } });
    await away('a');
    await ready(true);
    await pass(10 * STABLE_MS);
    assert.deepEqual(evicted, []);
  });
  it('go within a minute after a policy is changed', async (t) => {
    const { evicted, pass, ready, away, follow } = aWorld(t, 'Never');
    await away('a');
    await ready(true);
    await pass(STABLE_MS);
    follow({ failback: 'WhenStable' });
    await pass(MINUTE_MS);
    assert.deepEqual(evicted, ['eviction a']);
  });
});

describe('an eviction', () => {
  it('that a PodDisruptionBudget rejects is tried again after the pause, not at once', async (t) => {
    const { evicted, answer, pass, ready, away, warnings } = aWorld(t);
    answer.error = new ApiError(429, 'TooManyRequests', 'disruption budget');
    await away('a');
    await ready(true);
    await pass(STABLE_MS);
    assert.equal(evicted.length, 1);
    await pass(PAUSE_MS - 1);
    assert.equal(evicted.length, 1);
    await pass(1);
    assert.deepEqual([evicted.length, warnings()], [2, 0]);
  });
  it('that a PodDisruptionBudget rejects again and again does not hold up those of other pods', async (t) => {
    const { evicted, answer, pass, ready, away } = aWorld(t);
    answer.error = new ApiError(429, 'TooManyRequests', 'disruption budget');
    await ready(true);
    await away('a');
    await away('b');
    await pass(STABLE_MS);
    await pass(PAUSE_MS);
    await pass(PAUSE_MS);
    assert.deepEqual(evicted, ['eviction a', 'eviction b', 'eviction a']);
  });
  for (const status of [404, 409]) {
    it(`of a pod that is not there any more (${status}) is no failure`, async (t) => {
      const { evicted, answer, pass, ready, away, gone, warnings } = aWorld(t);
      answer.error = new ApiError(status, '', 'gone');
      await away('a');
      await ready(true);
      await pass(STABLE_MS);
      await gone('a');
      await pass(STABLE_MS);
      assert.deepEqual([evicted.length, warnings()], [1, 0]);
    });
  }
  it('that fails otherwise is tried again after the pause as well: the next is never evicted sooner', async (t) => {
    const { evicted, answer, pass, ready, away, warnings } = aWorld(t);
    answer.error = new ApiError(500, 'InternalError', 'etcd');
    await away('a');
    await ready(true);
    await pass(STABLE_MS);
    await pass(1_000);
    assert.equal(evicted.length, 1);
    await pass(PAUSE_MS);
    assert.equal(evicted.length, 2);
    assert.ok(warnings() > 0);
  });
});
