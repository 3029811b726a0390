// Usage of delegates as their target tells it: asked for once for all callers, and believed of pods alone that the
// source sent there.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { DelegatePod } from '../../../../model/delegate/cached-delegate.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import type { TargetSession } from '../../../../targets/target-session.ts';
import { PodUsages } from '../../../../virtual-node/usage/pod-usage-cache.ts';
import { aDelegateRecord, aProxyRecord, onNode, withUid } from '../../../support/objects/builders.ts';

const FRESH_MS = 10_000;
const KEY = 'team-a/web-abc';
const metricsOf = (name: string) => ({
  metadata: { namespace: 'team-a', name }, timestamp: '2026-01-01T00:00:00Z', window: '15s',
  containers: [{ name: 'app', usage: { cpu: '250m', memory: '64Mi' } }],
});

/** A target that answers in turn, with these delegates, and a source with this proxy. */
function aWorld(t: TestContext, answers: readonly unknown[], given: {
  readonly delegates?: ReadonlyMap<string, DelegatePod>; readonly proxy?: ProxyPod
} = {}) {
  let [now, calls] = [1_000, 0];
  t.mock.method(performance, 'now', () => now);
  const { delegates = new Map([[KEY, aDelegateRecord()]]), proxy = aProxyRecord(onNode('admiralty-c')) } = given;
  const client = {
    list: async () => {
      const answer = answers[Math.min(calls, answers.length - 1)];
      calls += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const session = { client, delegates, ours: {}, signal: new AbortController().signal } as unknown as TargetSession;
  const usages = new PodUsages({ get: () => proxy } as unknown as ConstructorParameters<typeof PodUsages>[0]);
  return { session, of: () => usages.of(session), pass: (ms: number) => (now += ms), calls: () => calls };
}

describe('usage of elected pods in a target', () => {
  it('is asked for once for all callers of ten seconds, at the same time or one after the other', async (t) => {
    const { of, pass, calls } = aWorld(t, [[metricsOf('web-abc')]]);
    const [one, other] = await Promise.all([of(), of()]);
    pass(FRESH_MS - 1);
    assert.deepEqual([one, await of(), calls()], [other, one, 1]);
    pass(1);
    await of();
    assert.equal(calls(), 2);
  });
  it('is that of a pod which the source sent there', async (t) => {
    const { of } = aWorld(t, [[metricsOf('web-abc')]]);
    const { pods, failed } = await of();
    assert.deepEqual([pods.length, failed], [1, false]);
  });
  it('is not believed of other pods, whatever names a target tells', async (t) => {
    const { of } = aWorld(t, [[metricsOf('kube-proxy'), metricsOf('web')]]);
    assert.deepEqual((await of()).pods, []);
  });
  it('is not that of a pod which has replaced the one that was sent', async (t) => {
    const { of } = aWorld(t, [[metricsOf('web-abc')]], { proxy: aProxyRecord(withUid('later')) });
    assert.deepEqual((await of()).pods, []);
  });
  for (const status of [403, 404]) {
    it(`is none, and no failure, where there is no metrics server or no permission: ${status}`, async (t) => {
      const { of } = aWorld(t, [new ApiError(status, '', '-')]);
      assert.deepEqual(await of(), { pods: [], failed: false });
    });
  }
  for (const error of [new Error('timeout'), new ApiError(503, '', '-'), new ApiError(429, '', '-')]) {
    it(`is unknown, and not none, after ${error.message}`, async (t) => {
      const { of } = aWorld(t, [error]);
      assert.equal((await of()).failed, true);
    });
  }
  it('never rejects, and is asked for again after a failure as after a success', async (t) => {
    const { of, pass, calls } = aWorld(t, [new Error('away'), [metricsOf('web-abc')]]);
    assert.equal((await of()).failed, true);
    assert.equal((await of()).failed, true);
    assert.equal(calls(), 1, 'a target that does not answer is not asked more often');
    pass(FRESH_MS);
    assert.equal((await of()).failed, false);
  });
  it('of the node does not fall back while one answer fails: counters never go down', async (t) => {
    const { of, pass } = aWorld(t, [[metricsOf('web-abc')], new Error('away')]);
    const { node } = await of();
    pass(FRESH_MS);
    assert.deepEqual((await of()).node, node);
  });
});
