// How often pods of a target that is drained are evicted again when a disruption budget refuses it.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DRAIN_FINALIZER } from '../../../../api/objects/keys.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { startTargetRemoval } from '../../../../virtual-node/node/target-removal-controller.ts';
import { aProxyRecord, named, onNode, withUid } from '../../../support/objects/builders.ts';
import { FakeInformer } from '../../../support/doubles/scheduling-world.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import type { SourceControllerOptions } from '../../../../targets/proxy-pods.ts';

const RETRY_MS = 5_000;

it('evictions that a budget refuses are retried after a pause, however many pods change meanwhile', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
  const proxies = new FakeInformer<ProxyPod>();
  Object.assign(proxies, { synced: Promise.resolve(), by: () => [...proxies.records()] });
  const session = { hasSynced: true, chaperons: { records: () => [] }, delegates: { records: () => [] } };
  const ref = { kind: 'ClusterTarget', name: 'c' };
  const target = { key: 'ClusterTarget/c', nodeName: 'admiralty-c', ref, session };
  const object = { ref, uid: 'u', finalizers: [DRAIN_FINALIZER], terminating: true, spec: { removalPolicy: 'Drain' } };
  const evicted: string[] = [];
  const post = (_type: unknown, { name }: { readonly name: string }): Promise<never> => {
    evicted.push(name);
    return Promise.reject(new ApiError(429, 'TooManyRequests', 'disruption budget'));
  };
  startTargetRemoval({
    source: { post }, proxies, logger: SILENT,
    targets: {
      untilSynced: async () => undefined, get: () => target, byNode: () => target, object: () => object,
      listen: () => undefined,
    },
  } as unknown as SourceControllerOptions, stop.signal);
  await settled();
  const tell = (name: string): void =>
    proxies.set(`team-a/${name}`, aProxyRecord(named(name), withUid(name), onNode('admiralty-c')));
  tell('a');
  await settled();
  assert.deepEqual(evicted, ['a']);
  for (let times = 0; times < 5; times += 1) {
    tell('a');
    tell('b');
    await settled();
  }
  assert.deepEqual(evicted, ['a']);
  now += RETRY_MS;
  t.mock.timers.tick(RETRY_MS);
  await settled();
  assert.deepEqual(evicted, ['a', 'a', 'b']);
});
