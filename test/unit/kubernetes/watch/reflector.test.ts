import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { PODS } from '../../../../api/resource-types.ts';
import { isExpired, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { reflect } from '../../../../kubernetes/watch/reflector.ts';
import type { ReflectorSink } from '../../../../kubernetes/watch/watch-events.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import { collectGarbage } from '../../../support/processes/collect-garbage.ts';
import {
  ScriptedApiServer, SILENT, skipBackoff, status, type Exchange,
} from '../../../support/doubles/scripted-api-server.ts';

function pod(name: string, resourceVersion: string): KubernetesObject {
  return { metadata: { namespace: 'a', name, resourceVersion } };
}

/** Writes down what it is told, as lines that can be awaited. */
class RecordingSink implements ReflectorSink<KubernetesObject> {
  readonly lines: string[] = [];
  readonly errors: unknown[] = [];
  onOpen: () => void = () => undefined;
  #wanted: { readonly line: string; readonly resolve: () => void } | undefined;

  listing(): void {
    this.#note('listing');
  }
  listed(objects: readonly KubernetesObject[]): void {
    this.#note(['listed', ...objects.map((object) => object.metadata.name)].join(' '));
  }
  listEnded(): void {
    this.#note('list ended');
  }
  changed(object: KubernetesObject, version: string): void {
    this.#note(`changed ${object.metadata.name} ${version}`);
  }
  unlisted(object: KubernetesObject): void {
    this.#note(`unlisted ${object.metadata.name}`);
  }
  deleted(object: KubernetesObject, version: string): void {
    this.#note(`deleted ${object.metadata.name} ${version}`);
  }
  bookmark(version: string): void {
    this.#note(`bookmark ${version}`);
  }
  isEmpty(): boolean {
    return false;
  }
  connection(state: Parameters<ReflectorSink<KubernetesObject>['connection']>[0]): void {
    if (state.open) this.onOpen();
    else this.errors.push(state.error);
    this.#note(state.open ? 'open' : 'broken');
  }

  /** Resolves when this is the last line. */
  until(line: string): Promise<void> {
    if (this.lines.at(-1) === line) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wanted = { line, resolve };
    });
  }

  /** The lines since the last call. */
  take(): string[] {
    return this.lines.splice(0);
  }

  #note(line: string): void {
    this.lines.push(line);
    if (this.#wanted?.line === line) this.#wanted.resolve();
  }
}

/** Sends a text as a chunk of its own memory. */
function pushed(body: Readable, text: string): object {
  const chunk = new Uint8Array(Buffer.from(text));
  body.push(chunk);
  return chunk.buffer;
}

async function times(count: number, again: () => Promise<void>): Promise<void> {
  for (let i = 0; i < count; i += 1) await again();
}

describe('reflect', () => {
  let server: ScriptedApiServer;
  let sink: RecordingSink;
  let stop: AbortController;
  let running: Promise<void>;
  const start = (selection = {}) => {
    running = reflect({ client: server.client, type: PODS, selection, logger: SILENT }, sink as never, stop.signal);
  };
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    sink = new RecordingSink();
    stop = new AbortController();
    running = Promise.resolve();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await server.stop();
  });

  it('lists, then watches from there', async () => {
    start({ namespace: 'a', labelSelector: 'l=1', fieldSelector: 'f=2' });
    const list = await server.list('10', pod('x', '5'), pod('y', '9'));
    assert.equal(list.path, '/api/v1/namespaces/a/pods');
    assert.deepEqual([...list.query], [['labelSelector', 'l=1'], ['fieldSelector', 'f=2'], ['limit', '200']]);
    const watch = await server.watch('10');
    assert.equal(watch.path, '/api/v1/namespaces/a/pods');
    const { timeoutSeconds, ...query } = Object.fromEntries(watch.query);
    assert.deepEqual(query, {
      labelSelector: 'l=1', fieldSelector: 'f=2', watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '10',
    });
    assert(Number(timeoutSeconds) >= 300 && Number(timeoutSeconds) < 600);
    watch.send('ADDED', pod('z', '11'));
    watch.send('MODIFIED', pod('x', '12'));
    watch.send('DELETED', pod('y', '13'));
    watch.send('BOOKMARK', { metadata: { resourceVersion: '20' } });
    await sink.until('bookmark 20');
    assert.deepEqual(sink.take(), [
      'listing', 'listed x y', 'bookmark 10', 'list ended', 'open', 'changed z 11', 'changed x 12', 'deleted y 13',
      'bookmark 20',
    ]);
  });

  it('asks for the next page before it reads this one, and for each once', async () => {
    const pages: Record<string, object> = { first: { continue: 'second' }, second: { continue: 'third' }, third: {} };
    const client = {
      transport: { offersStreamingLists: false, stream: () => Promise.reject(new Error('enough')) },
      listPageBytes: (_type: unknown, _selection: unknown, { continue: token = 'first' }) => {
        sink.lines.push(`ask ${token}`);
        return Promise.resolve(Buffer.from(
          JSON.stringify({ metadata: { resourceVersion: '20', ...pages[token] }, items: [pod(token, '11')] }),
        ));
      },
    };
    running =
      reflect({ client: client as never, type: PODS, selection: {}, logger: SILENT }, sink as never, stop.signal);
    await sink.until('list ended');
    assert.deepEqual(sink.take().slice(0, 9), [
      'listing', 'ask first', 'ask second', 'listed first', 'ask third', 'listed second', 'listed third', 'bookmark 20',
      'list ended',
    ]);
  });

  it('lets go of what it has read, while it waits for more', async () => {
    const body = new Readable({ read: () => undefined });
    const page = Buffer.from(JSON.stringify({ metadata: { resourceVersion: '10' }, items: [] }));
    const client = {
      transport: { offersStreamingLists: false, stream: () => Promise.resolve({ body, silenceMs: 60_000 }) },
      listPageBytes: () => Promise.resolve(page),
    };
    running =
      reflect({ client: client as never, type: PODS, selection: {}, logger: SILENT }, sink as never, stop.signal);
    await sink.until('open');
    const chunk = new WeakRef(pushed(body, `${JSON.stringify({ type: 'ADDED', object: pod('x', '11') })}\n`));
    await sink.until('changed x 11');
    await times(3, () => nextTurn());
    await collectGarbage();
    assert.equal(chunk.deref(), undefined, 'the last part of a long list would be kept until the next event');
    stop.abort();
    body.destroy();
  });

  it('reads all pages before it watches from their common version', async () => {
    start();
    (await server.next()).answerPage('10', 'token 1', pod('x', '5'));
    const second = await server.next();
    assert.equal(second.query.get('continue'), 'token 1');
    second.answerPage('10', 'token 2');
    const third = await server.next();
    assert.equal(third.query.get('continue'), 'token 2');
    third.answerPage('10', '', pod('y', '6'));
    await server.watch('10');
    await sink.until('open');
    assert.deepEqual(sink.take(), ['listing', 'listed x', 'listed', 'listed y', 'bookmark 10', 'list ended', 'open']);
  });

  it('begins anew when a list fails half way, and ends only the new one', async () => {
    start();
    (await server.next()).answerPage('10', 'token', pod('x', '5'));
    (await server.next()).answer(410, status(410, 'Expired', 'the continue token is too old'));
    const fresh = await server.list('30', pod('y', '25'));
    assert.equal(fresh.query.get('continue'), null);
    await server.watch('30');
    await sink.until('open');
    assert.deepEqual(
      sink.take(), ['listing', 'listed x', 'broken', 'listing', 'listed y', 'bookmark 30', 'list ended', 'open'],
    );
  });

  const endings: Record<string, (watch: Exchange) => void> = {
    'ended cleanly': (watch) => watch.end(),
    'cut between lines': (watch) => watch.cut(),
    'ended inside a line': (watch) => {
      watch.write('{"type":"ADDED","object":{"metadata":{"name":"lost","resourceVersion":"12"');
      watch.end();
    },
    'cut inside a line': (watch) => {
      watch.write('{"type":"ADDED","object":{"metadata":{"name":"lost","resourceVersion":"12"');
      watch.cut();
    },
    'cut inside a character': (watch) => {
      watch.write(Buffer.from('{"type":"ADDED","object":{"metadata":{"name":"ü').subarray(0, -1));
      watch.cut();
    },
    'followed by a line that is no JSON': (watch) => watch.write('<html>\n'),
    'followed by a line that is no event': (watch) => watch.write('null\n'),
    'followed by an error of another kind': (watch) => watch.send('ERROR', status(500, 'InternalError', 'etcd')),
  };
  for (const [how, ending] of Object.entries(endings)) {
    it(`resumes from the last version seen when a watch is ${how}`, async () => {
      start();
      await server.list('10');
      const watch = await server.watch('10');
      watch.send('ADDED', pod('x', '11'));
      await sink.until('changed x 11');
      ending(watch);
      const resumed = await server.watch('11');
      resumed.send('ADDED', pod('y', '12'));
      await sink.until('changed y 12');
      assert.deepEqual(sink.take().filter((line) => line !== 'broken'), [
        'listing', 'listed', 'bookmark 10', 'list ended', 'open', 'changed x 11', 'open', 'changed y 12',
      ]);
    });
  }

  it('resumes from a bookmark', async () => {
    start();
    await server.list('10');
    const watch = await server.watch('10');
    watch.send('BOOKMARK', { metadata: { resourceVersion: '500' } });
    await sink.until('bookmark 500');
    watch.cut();
    await server.watch('500');
  });

  const expirations: Record<string, () => Promise<void>> = {
    'on the stream': async () => {
      const watch = await server.watch('10');
      watch.send('ERROR', status(410, 'Expired', 'too old resource version'));
    },
    'on connect': async () => {
      (await server.next()).answer(410, status(410, 'Expired', 'too old resource version'));
    },
    'on resuming': async () => {
      (await server.watch('10')).end();
      (await server.next()).answer(410, status(410, 'Gone', 'gone'));
    },
  };
  for (const [when, expire] of Object.entries(expirations)) {
    it(`lists again when history is gone ${when}`, async () => {
      start();
      await server.list('10', pod('x', '5'));
      await expire();
      await server.list('100', pod('y', '99'));
      await server.watch('100');
      await sink.until('open');
      assert.deepEqual(sink.take().slice(-5), ['listing', 'listed y', 'bookmark 100', 'list ended', 'open']);
      assert(sink.errors.some(isExpired));
    });
  }

  it('resumes, and is not told to have broken, when a call is refused for good', async () => {
    start();
    await server.list('10');
    const watch = await server.watch('10');
    await sink.until('open');
    sink.take();
    const refused = assert.rejects(server.transport.call({ method: 'GET', path: '/version' }), { status: 401 });
    (await server.next()).answer(401, status(401, 'Unauthorized', 'unknown'));
    await refused;
    await watch.closed();
    await server.watch('10');
    await sink.until('open');
    assert.deepEqual(sink.take(), ['open']);
  });

  it('takes the version of a new list even when it is lower: the cluster was restored from a backup', async () => {
    start();
    await server.list('1000');
    (await server.watch('1000')).send('ERROR', status(410, 'Expired', 'too old'));
    await server.list('50');
    const watch = await server.watch('50');
    watch.send('ADDED', pod('x', '51'));
    await sink.until('changed x 51');
  });

  it('drops what it has seen before: events that are sent twice, and old ones that are sent again', async () => {
    start();
    await server.list('8');
    const watch = await server.watch('8');
    watch.send('ADDED', pod('x', '9'), pod('x', '9'));
    watch.send('MODIFIED', pod('x', '10'));
    watch.send('DELETED', pod('x', '11'));
    watch.send('MODIFIED', pod('x', '9'), pod('x', '10'), pod('old', '8'));
    watch.send('BOOKMARK', { metadata: { resourceVersion: '7' } });
    watch.send('ADDED', pod('y', '100'));
    await sink.until('changed y 100');
    assert.deepEqual(sink.take().slice(5), ['changed x 9', 'changed x 10', 'deleted x 11', 'changed y 100']);
    watch.cut();
    await server.watch('100');
  });

  it('never resumes from a version that an event did not have', async () => {
    start();
    await server.list('10');
    const watch = await server.watch('10');
    watch.send('MODIFIED', { metadata: { name: 'x' } });
    watch.end();
    await server.watch('10');
  });

  describe('streaming a list', () => {
    const streamed = async () => {
      const request = await server.next();
      const { sendInitialEvents, resourceVersionMatch, watch, allowWatchBookmarks, resourceVersion } =
        Object.fromEntries(request.query);
      assert.deepEqual([sendInitialEvents, resourceVersionMatch, watch, allowWatchBookmarks, resourceVersion], [
        'true', 'NotOlderThan', 'true', 'true', undefined,
      ]);
      return request;
    };
    const complete = { metadata: { resourceVersion: '10', annotations: { 'k8s.io/initial-events-end': 'true' } } };
    beforeEach(() => {
      server.transport.offersStreamingLists = true;
    });

    it('takes the first events for the list and goes on with the same stream', async () => {
      start();
      const stream = await streamed();
      stream.open();
      stream.send('ADDED', pod('x', '5'), pod('y', '9'), pod('z', '7'));
      stream.send('BOOKMARK', { metadata: { resourceVersion: '9' } });
      stream.send('DELETED', pod('z', '10'));
      stream.send('BOOKMARK', complete);
      stream.send('MODIFIED', pod('x', '11'));
      await sink.until('changed x 11');
      assert.deepEqual(sink.take(), [
        'listing', 'listed x', 'listed y', 'listed z', 'unlisted z', 'bookmark 10', 'list ended', 'open',
        'changed x 11',
      ]);
      stream.cut();
      await server.watch('11');
    });

    it('begins anew when the stream ends before the list is complete', async () => {
      start();
      const stream = await streamed();
      stream.open();
      stream.send('ADDED', pod('x', '5'));
      await sink.until('listed x');
      stream.cut();
      const again = await streamed();
      again.open();
      again.send('BOOKMARK', complete);
      await sink.until('open');
      assert.deepEqual(sink.take(), ['listing', 'listed x', 'broken', 'listing', 'bookmark 10', 'list ended', 'open']);
    });

    for (const code of [400, 422]) {
      it(`asks for pages, and never again for a stream, when the server answers ${code}`, async () => {
        start();
        (await streamed()).answer(code, status(code, 'Invalid', 'sendInitialEvents is forbidden'));
        await server.list('10');
        (await server.watch('10')).send('ERROR', status(410, 'Expired', 'too old'));
        await server.list('20');
        await server.watch('20');
        assert(!sink.lines.includes('broken') || sink.errors.every(isExpired));
      });
    }

    it('lists anew by a stream when history is gone', async () => {
      start();
      const stream = await streamed();
      stream.open();
      stream.send('BOOKMARK', complete);
      stream.send('ERROR', status(410, 'Expired', 'too old'));
      await streamed();
    });
  });

  describe('waiting', () => {
    const GROWING = [100, 200, 400, 800, 1_600, 2_500, 2_500];

    const loops: Record<string, () => Promise<void>> = {
      'ends each watch at once': async () => (await server.watch('10')).end(),
      'cuts each watch at once': async () => (await server.watch('10')).cut(),
      'ends each watch after a bookmark': async () => {
        const watch = await server.watch('10');
        watch.send('BOOKMARK', { metadata: { resourceVersion: '10' } });
        watch.end();
      },
      'answers each watch with an error': async () =>
        (await server.next()).answer(500, status(500, 'InternalError', 'etcd')),
      'sends an error on each watch': async () =>
        (await server.watch('10')).send('ERROR', status(500, 'InternalError', 'etcd')),
      'says each time that history is gone': async () => {
        (await server.watch('10')).send('ERROR', status(410, 'Expired', 'too old'));
        await server.list('10');
      },
      'sends nonsense on each watch': async () => (await server.watch('10')).write('nonsense\n'),
    };
    for (const [what, again] of Object.entries(loops)) {
      it(`waits longer and longer for a server that ${what}, but not the first time`, async (t) => {
        const waits = skipBackoff(t);
        start();
        await server.list('10');
        await times(GROWING.length + 1, again);
        await server.watch('10');
        assert.deepEqual(waits, GROWING);
      });
    }

    it('waits longer and longer for a server whose lists fail', async (t) => {
      const waits = skipBackoff(t);
      start();
      await times(
        GROWING.length + 1, async () => (await server.next()).answer(500, status(500, 'InternalError', 'no')),
      );
      await server.list('10');
      await server.watch('10');
      assert.deepEqual(waits, GROWING);
      assert.equal(sink.errors.length, GROWING.length + 1);
    });

    it('asks a server that forbids it twice a minute, once it is clear that the permissions are not on their way',
      async (t) => {
      const waits = skipBackoff(t);
      const clock = performance.now.bind(performance);
      // time that was skipped has passed
      t.mock.method(performance, 'now', () => clock() + waits.reduce((sum, ms) => sum + ms, 0));
      start();
      await times(9, async () => (await server.next()).answer(403, status(403, 'Forbidden', 'no')));
      await server.list('10');
      assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 30_000, 30_000, 30_000]);
    });

    it('asks a server soon again that was away, and that knows no roles yet as it comes back', async (t) => {
      const waits = skipBackoff(t);
      start();
      await times(9, async () => (await server.next()).answer(503, status(503, 'ServiceUnavailable', 'not yet')));
      await times(2, async () => (await server.next()).answer(403, status(403, 'Forbidden', 'no role')));
      await server.list('10');
      assert.deepEqual(waits.slice(-3), [2_500, 2_500, 2_500]);
    });

    it('has all that is forbidden asked for at once when some of it is granted, and only then', async (t) => {
      skipBackoff(t);
      const release = t.mock.method(server.transport.refused, 'release');
      start();
      await times(3, async () => (await server.next()).answer(403, status(403, 'Forbidden', 'no')));
      await server.list('10');
      const watch = await server.watch('10');
      await sink.until('open');
      assert.equal(release.mock.callCount(), 0, 'permissions that were being granted');
      watch.cut();
      await times(7, async () => (await server.next()).answer(403, status(403, 'Forbidden', 'no')));
      sink.take();
      await server.watch('10');
      await sink.until('open');
      assert.equal(release.mock.callCount(), 1);
    });

    it('waits longer and longer although each watch brings something new', async (t) => {
      const waits = skipBackoff(t);
      start();
      await server.list('10');
      for (let version = 10; version < 14; version += 1) {
        const watch = await server.watch(String(version));
        watch.send('ADDED', pod('x', String(version + 1)));
        await sink.until(`changed x ${version + 1}`);
        watch.cut();
      }
      await server.watch('14');
      assert.deepEqual(waits, [100, 200, 400]);
    });

    it('forgets failures once a watch has stood for a while', async (t) => {
      const waits = skipBackoff(t);
      let now = Math.ceil(performance.now());
      t.mock.method(performance, 'now', () => now);
      start();
      await server.list('10');
      await times(4, loops['ends each watch at once']!);
      const watch = await server.watch('10');
      watch.send('ADDED', pod('x', '11'));
      await sink.until('changed x 11');
      now += 300_000;
      watch.end();
      await times(2, async () => (await server.watch('11')).end());
      await server.watch('11');
      assert.deepEqual(waits, [100, 200, 400, 100, 200]);
    });

    it('waits as long as the server asks', async (t) => {
      const waits = skipBackoff(t);
      const clock = performance.now.bind(performance);
      // time that was skipped has passed
      t.mock.method(performance, 'now', () => clock() + waits.reduce((sum, ms) => sum + ms * 1.25, 0));
      start();
      (await server.next()).answer(429, status(429, 'TooManyRequests', 'slow down'), { 'retry-after': '7' });
      await server.list('10');
      (await server.next()).answer(429, status(429, 'TooManyRequests', 'slow down'), { 'retry-after': '30' });
      await server.watch('10');
      assert.deepEqual(waits, [7_000, 30_100]);
    });
  });

  it('reports a server that cannot be reached, and keeps trying', async (t) => {
    skipBackoff(t);
    start();
    (await server.next()).cut();
    (await server.next()).cut(); // a GET that broke is asked once more
    await server.list('10');
    (await server.next()).cut();
    await server.watch('10');
    await sink.until('open');
    assert.deepEqual(
      sink.take(), ['listing', 'broken', 'listing', 'listed', 'bookmark 10', 'list ended', 'broken', 'open'],
    );
    assert(sink.errors.every((error) => error instanceof UnreachableError));
  });

  describe('a watch without a word', () => {
    /** Follows a server whose streams may be silent for half a second, until its first watch is asked for. */
    async function untilWatched(t: TestContext): Promise<Exchange> {
      assert(TRANSPORT_TIMINGS.silenceMs <= 45_000);
      const transport = new Transport(server.connection(), 'isthmus-test', { silenceMs: 500, callTimeoutMs: 500 });
      transport.offersStreamingLists = false;
      t.after(() => transport.close());
      running = reflect(
        { client: new ClusterClient(transport), type: PODS, selection: {}, logger: SILENT }, sink as never, stop.signal,
      );
      await server.list('1000', pod('x', '1000'));
      return server.next();
    }
    async function untilSilent(t: TestContext): Promise<void> {
      const watch = await untilWatched(t);
      watch.open();
      await sink.until('open');
      sink.take();
      await watch.closed();
    }
    const versionAsked = async (resourceVersion: string) => {
      const asked = await server.list(resourceVersion, pod('y', resourceVersion));
      assert.equal(asked.query.get('limit'), '1');
    };

    it('is given up where it stalls in an error answer, and resumes', async (t) => {
      const watch = await untilWatched(t);
      watch.open(500);
      await server.watch('1000');
      await watch.closed();
      await sink.until('open');
      assert.deepEqual(sink.take().slice(-2), ['broken', 'open']);
    });
    for (const version of ['1000', '1001']) {
      it(`is given up after a while, and resumes at a server that is at version ${version}`, async (t) => {
        await untilSilent(t);
        await versionAsked(version);
        await server.watch('1000');
        await sink.until('open');
        assert.deepEqual(sink.take(), ['broken', 'open']);
      });
    }
    it('is followed by a list where the server was restored to an earlier version', async (t) => {
      await untilSilent(t);
      await versionAsked('900');
      await server.list('900', pod('y', '900'));
      await server.watch('900');
      await sink.until('open');
      assert.deepEqual(sink.take(), ['broken', 'listing', 'listed y', 'bookmark 900', 'list ended', 'open']);
    });
  });

  describe('stopping', () => {
    const moments: Record<string, () => Promise<void>> = {
      'while listing': async () => {
        await server.next();
      },
      'while the watch is opened': async () => {
        await server.list('10');
        await server.next();
      },
      'while watching': async () => {
        await server.list('10');
        await server.watch('10');
        await sink.until('open');
      },
      'while backing off': async () => {
        (await server.next()).answer(500, '');
        (await server.next()).answer(500, '');
        await sink.until('broken');
      },
    };
    for (const [when, reach] of Object.entries(moments)) {
      it(`ends ${when}, without an error`, async () => {
        start();
        await reach();
        const { length } = sink.errors;
        stop.abort();
        await running;
        assert.equal(sink.errors.length, length);
      });
    }

    it('ends when it is stopped by what hears that the watch is open', async () => {
      sink.onOpen = () => stop.abort();
      start();
      await server.list('10');
      await server.watch('10');
      await running;
      assert.deepEqual(sink.errors, []);
    });

    it('asks nothing when it was stopped before', async () => {
      stop.abort();
      start();
      await running;
      assert.equal(server.requests, 0);
    });
  });
});
