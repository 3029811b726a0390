import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EventRecorder, type RecorderLimits } from '../../../../kubernetes/controller/event-recorder.ts';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import { collectGarbage } from '../../../support/processes/collect-garbage.ts';
import { ScriptedApiServer, SILENT, status } from '../../../support/doubles/scripted-api-server.ts';

const EVENT: EventRecord = {
  regarding: { apiVersion: 'v1', kind: 'Pod', namespace: 'a', name: 'p', uid: 'u' }, type: 'Warning', reason: 'NoRoom',
  action: 'Schedule', note: 'no target has room',
};

describe('EventRecorder', () => {
  let server: ScriptedApiServer;
  let stop: AbortController;
  let running: Promise<void>;
  const start = (limits: Partial<RecorderLimits> = { seriesEveryMs: 20 }) => {
    const recorder =
      new EventRecorder({ client: server.client, controller: 'isthmus.dev/test', logger: SILENT, limits });
    running = recorder.run(stop.signal);
    return recorder;
  };
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await server.stop();
  });

  it('writes an event', async () => {
    start().record(EVENT);
    const request = await server.next();
    const { metadata, eventTime, reportingInstance, ...event } = JSON.parse(request.body) as Record<string, unknown>
      & { metadata: { namespace: string; name: string } };
    assert.deepEqual(
      [request.method, request.path, metadata.namespace], ['POST', '/apis/events.k8s.io/v1/namespaces/a/events', 'a'],
    );
    assert.match(metadata.name, /^p\.[0-9a-f]+$/);
    assert.match(String(eventTime), /^\d{4}-.*\.\d{6}Z$/);
    assert(String(reportingInstance).length > 0);
    assert.deepEqual(
      event, { apiVersion: 'events.k8s.io/v1', kind: 'Event', reportingController: 'isthmus.dev/test', ...EVENT },
    );
    request.answer(201, {});
  });

  it('names an event of an object with a long name as an API server accepts it', async () => {
    const name = `${'long-name.'.repeat(25)}p`;
    start().record({ ...EVENT, regarding: { ...EVENT.regarding, name } });
    const request = await server.next();
    const { metadata, regarding } = JSON.parse(request.body) as {
      metadata: { name: string }; regarding: { name: string };
    };
    assert.ok(metadata.name.length <= 253, metadata.name);
    assert.match(metadata.name, /^long-name\.[a-z0-9.-]*[a-z0-9]\.[0-9a-f]+$/);
    assert.equal(regarding.name, name);
    request.answer(201, {});
  });

  it('makes a series of what happens again, and writes it once for many times', async () => {
    const recorder = start();
    recorder.record(EVENT);
    const created = await server.next();
    created.answer(201, {});
    for (let i = 0; i < 5; i += 1) recorder.record({ ...EVENT, note: `no target has room, look ${i}` });
    const patched = await server.next();
    assert.deepEqual(
      [patched.method, (JSON.parse(patched.body) as { series: { count: number } }).series.count], ['PATCH', 6],
    );
    patched.answer(200, {});
    assert.equal(server.requests, 2);
  });

  for (const [what, code, reason, next] of [
    ['creates with its repetition what the server has not stored', 503, 'ServiceUnavailable', 'POST'],
    ['continues what exists already, because an answer was lost', 409, 'AlreadyExists', 'PATCH'],
  ] as const) {
    it(what, async () => {
      const recorder = start();
      recorder.record(EVENT);
      (await server.next()).answer(code, status(code, reason, '-'));
      recorder.record(EVENT);
      const repeated = await server.next();
      const { series } = JSON.parse(repeated.body) as { readonly series?: { readonly count: number } };
      assert.deepEqual([repeated.method, series?.count], [next, 2]);
      repeated.answer(200, {});
    });
  }

  it('creates a series anew whose Event is gone', async () => {
    const recorder = start();
    recorder.record(EVENT);
    (await server.next()).answer(201, {});
    recorder.record(EVENT);
    (await server.next()).answer(404, status(404, 'NotFound', '-'));
    recorder.record(EVENT);
    const created = await server.next();
    assert.equal(created.method, 'POST');
    created.answer(201, {});
  });

  it('tells different events apart', async () => {
    const recorder = start();
    recorder.record(EVENT);
    recorder.record({ ...EVENT, reason: 'Other' });
    recorder.record({ ...EVENT, regarding: { ...EVENT.regarding, uid: 'other' } });
    const related = { apiVersion: 'v1', kind: 'Secret', namespace: 'a', name: 'key' };
    recorder.record({ ...EVENT, related });
    for (const other of [undefined, undefined, undefined, related]) {
      const request = await server.next();
      assert.equal(request.method, 'POST');
      assert.deepEqual((JSON.parse(request.body) as EventRecord).related, other);
      request.answer(201, {});
    }
  });

  it('makes a series for each note where the event asks for it', async () => {
    const recorder = start();
    const mount = (volume: string): EventRecord => ({ ...EVENT, note: `no volume ${volume}`, perNote: true });
    for (const volume of ['a', 'b']) {
      recorder.record(mount(volume));
      const created = await server.next();
      assert.deepEqual(
        [created.method, (JSON.parse(created.body) as { note: string }).note], ['POST', `no volume ${volume}`],
      );
      created.answer(201, {});
    }
    recorder.record(mount('a'));
    const patched = await server.next();
    assert.deepEqual(
      [patched.method, (JSON.parse(patched.body) as { series: { count: number } }).series.count], ['PATCH', 2],
    );
    patched.answer(200, {});
  });

  it('drops what is too much, and never throws or waits', async () => {
    const recorder = start({ waiting: 2 });
    for (let i = 0; i < 10; i += 1) recorder.record({ ...EVENT, reason: `Reason${i}` });
    assert.equal(recorder.dropped, 8);
    for (let i = 0; i < 2; i += 1) (await server.next()).answer(201, {});
  });

  it('forgets what can no longer be repeated', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const recorder = start({ seriesEndsMs: 1_000 });
    const record = async (note: string) => {
      const event: EventRecord = { ...EVENT, note, perNote: true };
      recorder.record(event);
      (await server.next()).answer(201, {});
      return new WeakRef(event);
    };
    const [old, recent] = [await record('old'), await record('recent')];
    t.mock.timers.tick(999);
    recorder.record(recent.deref() ?? assert.fail());
    t.mock.timers.tick(1);
    await record('new');
    await collectGarbage();
    assert.deepEqual([old.deref(), recent.deref()?.note], [undefined, 'recent']);
  });

  it('goes on after the server has refused one', async () => {
    const recorder = start();
    recorder.record(EVENT);
    (await server.next()).answer(403, status(403, 'Forbidden', 'no'));
    recorder.record({ ...EVENT, reason: 'Next' });
    (await server.next()).answer(201, {});
    assert.equal(recorder.dropped, 1);
  });

  it('cuts a note to what the API server takes, not inside a character', async () => {
    start().record({ ...EVENT, note: 'é'.repeat(1_000) });
    const request = await server.next();
    const { note } = JSON.parse(request.body) as { note: string };
    assert(Buffer.byteLength(note) <= 1_024 && /^é+$/.test(note));
    request.answer(201, {});
  });
});
