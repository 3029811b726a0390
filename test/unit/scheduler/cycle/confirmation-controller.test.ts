// When a source reads what an earlier process has announced: virtual time, and targets that know no SourceLease.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  POD_GROUP_LABEL, POD_GROUP_MIN_COUNT_ANNOTATION, STOPS_UNCONFIRMED_ANNOTATION, TRUE,
} from '../../../../api/objects/keys.ts';
import type { SourceLease } from '../../../../api/kinds/source-lease.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { ChangeListener } from '../../../../kubernetes/watch/informer.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { Confirmations, type ConfirmationOptions } from '../../../../scheduler/cycle/confirmation-controller.ts';
import type { TargetCluster } from '../../../../targets/target-cluster.ts';
import { aProxyRecord, annotated, labelled, onNode, withUid } from '../../../support/objects/builders.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const PROXY = aProxyRecord();

/** Targets `t0`, `t1`, … that are ready, and what is read in them; `renewTime` is what their leases say. */
function world(t: TestContext, renewTime?: string) {
  let now = 0;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(performance, 'now', () => now);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const reads: string[] = [];
  let bindSeen: ChangeListener<ProxyPod> = () => undefined;
  const writes: (readonly [name: string, renewTime: string])[] = [];
  const answers: { write?: Error; isReady: boolean; mode: string; stops: string } =
    { isReady: true, mode: 'PodChaperon', stops: TRUE };
  const clientOf = (key: string) => ({
    get: async () => {
      reads.push(key);
      if (renewTime === undefined) throw new ApiError(404, 'NotFound', 'not found');
      return { spec: { renewTime } };
    },
    metadataOnly: () => ({ apply: async (_type: unknown, lease: SourceLease) => {
      writes.push([lease.metadata.name ?? '', lease.spec.renewTime]);
      if (answers.write !== undefined) throw answers.write;
    } }),
  });
  const targetOf = (key: string) => ({
    key, availability: { kind: answers.isReady ? 'ready' : 'unavailable' }, nodeName: `node-${key}`,
    session: {
      chaperons: { records: () => [] }, mode: answers.mode,
        summary: { metadata: { annotations: { [STOPS_UNCONFIRMED_ANNOTATION]: answers.stops } } },
      find: () => ({ chaperon: { confirmBefore: 60_000 } }),
      client: {
        transport: { clock: { earliest: (at: number) => at, latest: (at: number) => at } },
        withoutRateLimit: () => clientOf(key),
      },
    },
  }) as unknown as TargetCluster;
  const options = {
    sourceId: 'source', logger: SILENT, ready: Promise.resolve(),
    proxies: { onChange: (listener: ChangeListener<ProxyPod>) => (bindSeen = listener) },
    targets: {
      get: targetOf, byNode: (name: string) => targetOf(name.replace('node-', '')),
      listen: (one: typeof listener) => (listener = one),
    },
  } as unknown as ConfirmationOptions;
  let listener: Record<'changed' | 'removed', (target: TargetCluster) => void> | undefined;
  const confirmations = new Confirmations(options);
  confirmations.start(stop.signal);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };
  return {
    reads, writes, answers, confirmations,
    send: (key: string, proxy = PROXY, mayTakeLong = false) =>
      confirmations.deadlineFor(targetOf(key), proxy, mayTakeLong),
    bind: (key: string) => bindSeen('', PROXY, { ...aProxyRecord(onNode(`node-${key}`)) }),
    back: (key: string) => listener?.changed(targetOf(key)), remove: (key: string) => listener?.removed(targetOf(key)),
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

describe('a deadline', () => {
  const member = aProxyRecord(
    withUid('m'), labelled({ [POD_GROUP_LABEL]: 'g' }), annotated({ [POD_GROUP_MIN_COUNT_ANNOTATION]: '2' }),
  );
  /** What is sent to a target of which everything is known. */
  const sentWith = async (t: TestContext, prepare: (answers: ReturnType<typeof world>['answers']) => void, ...rest:
    [proxy?: ProxyPod, mayTakeLong?: boolean]) => {
    const { answers, send, settled } = world(t);
    send('t0');
    await settled();
    prepare(answers);
    return send('t0', ...rest);
  };
  it('is given where the target stops what nobody confirms', async (t) => assert.equal(
    typeof await sentWith(t, () => undefined, aProxyRecord(withUid('other'))), 'number',
  ));
  const none: Record<string, readonly [(answers: ReturnType<typeof world>['answers']) => void, ProxyPod?, boolean?]> = {
    'where the target stops nothing by itself': [(answers) => (answers.stops = 'false')],
    'in Pod mode: no controller is there to stop it': [(answers) => (answers.mode = 'Pod')],
    'for a pod whose target may have to add a node first': [() => undefined, PROXY, true],
    'for a pod of a group, which waits for the others': [() => undefined, member],
  };
  for (const [what, [prepare, ...rest]] of Object.entries(none)) {
    it(`is not given ${what}`, async (t) => assert.equal(await sentWith(t, prepare, ...rest), undefined));
  }
  it('is given again once the target is back and has nothing of a candidate that was abandoned there', async (t) => {
    const { send, back, settled, confirmations } = world(t);
    send('t0');
    await settled();
    assert.equal(typeof send('t0'), 'number');
    confirmations.deadlines.abandon('t0 team-a', PROXY.uid); // it never arrived there, so that no watch shows it
    const later = aProxyRecord(withUid('later'));
    assert.equal(send('t0', later), undefined);
    back('t0');
    await settled();
    assert.equal(typeof send('t0', later), 'number');
  });
  it('is given in another cluster that has the name of one without SourceLeases', async (t) => {
    const { answers, send, bind, remove, settled, pass } = world(t, new Date(1_000).toISOString());
    answers.write = new ApiError(404, 'NotFound', 'no such kind');
    send('t0');
    bind('t0');
    await settled();
    await pass(1_000);
    assert.equal(send('t0'), undefined, 'it has none');
    remove('t0');
    delete answers.write;
    send('t0');
    await settled();
    assert.equal(typeof send('t0'), 'number');
  });
  it('is later than what an earlier process has announced', async (t) => {
    const { send, settled } = world(t, '2026-01-01T00:00:00.000Z');
    send('t0');
    await settled();
    assert.equal(send('t0'), Date.parse('2026-01-01T00:00:00.000Z'));
  });
  it('is a time, whatever is stored there: a lease that cannot be read announces nothing', async (t) => {
    const { send, settled } = world(t, 'the day after tomorrow');
    send('t0');
    await settled();
    const deadline = send('t0') ?? assert.fail('it got none');
    assert.doesNotThrow(() => new Date(deadline).toISOString());
  });
});

describe('a confirmation', () => {
  const UNKNOWN = new ApiError(504, 'Timeout', 'nobody knows');
  const bound = async (t: TestContext, error?: Error) => {
    const made = world(t, new Date(1_000).toISOString());
    if (error !== undefined) made.answers.write = error;
    made.bind('t0');
    await made.settled();
    return made;
  };
  it('is written a second after the first bind, for all binds until then', async (t) => {
    const { writes, bind, pass } = await bound(t);
    await pass(999);
    bind('t0');
    assert.deepEqual(writes, []);
    await pass(1);
    assert.deepEqual(writes, [['candidates-source', new Date(60_001).toISOString()]]);
    await pass(60_000);
    assert.equal(writes.length, 1);
  });
  it('waits for a target that is away, and is written when that is back', async (t) => {
    const { writes, answers, bind, pass, settled } = world(t, new Date(1_000).toISOString());
    answers.isReady = false;
    bind('t0');
    await pass(60_000);
    assert.deepEqual(writes, []);
    answers.isReady = true;
    bind('t0');
    await settled();
    await pass(1_000);
    assert.equal(writes.length, 1);
  });
  it('of which nobody knows whether it was written is written again, after what is stored was read', async (t) => {
    const { reads, writes, answers, pass } = await bound(t, UNKNOWN);
    const before = reads.length;
    await pass(1_000);
    delete answers.write;
    for (let second = 0; second < 4; second += 1) await pass(1_000);
    assert.ok(reads.length > before);
    assert.deepEqual(new Set(writes.map(([, time]) => time)), new Set([new Date(60_001).toISOString()]));
    assert.equal(writes.length, 2);
  });
  it('that a target does not accept is not tried again, and its later candidates get no deadline', async (t) => {
    const { writes, send, bind, pass } = await bound(t, new ApiError(404, 'NotFound', 'no such kind'));
    await pass(1_000);
    bind('t0');
    await pass(60_000);
    assert.deepEqual([writes.length, send('t0')], [1, undefined]);
  });
});
