// When a source reads what an earlier process has announced: virtual time, and targets that know no SourceLease.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { STOPS_UNCONFIRMED_ANNOTATION, TRUE } from '../../../../api/objects/keys.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { ChangeListener } from '../../../../kubernetes/watch/informer.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { Confirmations, type ConfirmationOptions } from '../../../../scheduler/cycle/confirmation-controller.ts';
import type { TargetCluster } from '../../../../targets/target-cluster.ts';
import { aProxyRecord, onNode } from '../../../support/builders.ts';
import { SILENT } from '../../../support/scripted-api-server.ts';

const PROXY = aProxyRecord();

/** Targets `t0`, `t1`, … that are ready, and what is read in them. */
function world(t: TestContext) {
  let now = 0;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => now);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const reads: string[] = [];
  let bindSeen: ChangeListener<ProxyPod> = () => undefined;
  const targetOf = (key: string) => ({
    key, availability: { kind: 'ready' }, nodeName: `node-${key}`,
    session: {
      mode: 'PodChaperon', summary: { metadata: { annotations: { [STOPS_UNCONFIRMED_ANNOTATION]: TRUE } } },
      find: () => ({ chaperon: { confirmBefore: 60_000 } }),
      client: {
        transport: { clock: { earliest: (at: number) => at, latest: (at: number) => at } },
        urgent: () => ({ get: async () => {
          reads.push(key);
          throw new ApiError(404, 'NotFound', 'not found');
        } }),
      },
    },
  }) as unknown as TargetCluster;
  const options = {
    sourceId: 'source', logger: SILENT, ready: Promise.resolve(),
    proxies: { onChange: (listener: ChangeListener<ProxyPod>) => (bindSeen = listener) },
    targets: {
      get: targetOf, byNode: (name: string) => targetOf(name.replace('node-', '')), listen: () => undefined,
    },
  } as unknown as ConfirmationOptions;
  const confirmations = new Confirmations(options);
  confirmations.start(stop.signal);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
  return {
    reads, confirmations,
    send: (key: string) => confirmations.deadlineFor(targetOf(key), PROXY, false),
    bind: (key: string) => bindSeen('', PROXY, { ...aProxyRecord(onNode(`node-${key}`)) }),
    settled,
    pass: async (ms: number): Promise<void> => {
      now += ms;
      t.mock.timers.tick(ms);
      await settled();
    },
  };
}

describe('what an earlier process has announced', () => {
  it('is read at the first candidate of a namespace in a target, which carries no deadline; the next one does',
    async (t) => {
    const { reads, send, settled } = world(t);
    assert.equal(send('t0'), undefined);
    await settled();
    assert.deepEqual(reads, ['t0']);
    assert.notEqual(send('t0'), undefined);
    await settled();
    assert.deepEqual(reads, ['t0']);
  });

  it('is read at a pace in a burst over many targets, once in each', async (t) => {
    const { reads, send, settled, pass } = world(t);
    const burst = (): void => void Array.from({ length: 40 }, (_, index) => send(`t${index}`));
    burst();
    await settled();
    assert.equal(reads.length, 32);
    burst(); // more candidates take no more turns
    await settled();
    assert.equal(reads.length, 32);
    for (const seen of [33, 34, 35]) {
      await pass(20);
      assert.equal(reads.length, seen);
    }
    await pass(1_000);
    assert.deepEqual([reads.length, new Set(reads).size], [40, 40]);
  });

  it('is read at once where a bound candidate of that process waits for its confirmation', async (t) => {
    const { reads, send, bind, settled } = world(t);
    for (let index = 0; index < 40; index += 1) send(`t${index}`);
    bind('t39');
    await settled();
    assert.ok(reads.includes('t39'));
  });
});
