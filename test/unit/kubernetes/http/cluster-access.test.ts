import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  constants, createSecureServer, type Http2SecureServer, type ServerHttp2Session, type ServerHttp2Stream,
} from 'node:http2';
import { connect, createServer, type AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { ClusterAccess, TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { responseOf, type WatchSession } from '../../../../kubernetes/http/watch-session.ts';

/** Resolves when the connection of a session has ended. */
function endOf(session: WatchSession): Promise<void> {
  const { onEnd } = session;
  return new Promise((resolve) => {
    session.onEnd = () => {
      onEnd();
      resolve();
    };
  });
}

/** A session with a server that is far away, and the windows of its streams that the server was told. */
interface Far {
  readonly session: WatchSession;
  readonly windows: readonly (number | undefined)[];
  readonly close: () => Promise<void>;
}

describe('ClusterAccess: the session for watches', () => {
  let server: Http2SecureServer;
  let access: ClusterAccess;
  let connections = 0;
  let url: URL;
  let ca = '';
  let [certificate, key] = ['', ''];

  before(async () => {
    const authority = await createAuthority('test-ca', 1, new Date());
    const own = await authority.issue({ commonName: 'api-server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    ca = authority.keyPair.certificate;
    [certificate, key] = [own.certificate, own.key];
    server = createSecureServer({ cert: own.certificate, key: own.key });
    server.on('connection', () => (connections += 1));
    server.on('stream', (stream) => stream.on('error', () => undefined));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  beforeEach(() => {
    connections = 0;
    access = new ClusterAccess(
      { server: url, certificateAuthority: ca, insecure: false, credentials: { kind: 'none' } }, {}, TRANSPORT_TIMINGS,
    );
  });
  after(() => server.close());

  it('is one for all watches that begin at once', async () => {
    const opened = await Promise.all([access.session(), access.session(), access.session()]);
    assert.equal(new Set(opened).size, 1);
    assert.equal(opened[0].kind, 'h2');
    await access.destroy();
    assert.equal(connections, 1);
  });

  it('is joined by another one when it is full, which ends with its last watch', async () => {
    const opened = await Promise.all(Array.from({ length: 250 }, () => access.session()));
    const sessions = new Map<WatchSession, number>();
    for (const each of opened) {
      assert.ok(each.kind === 'h2');
      sessions.set(each.session, (sessions.get(each.session) ?? 0) + 1);
    }
    assert.deepEqual([...sessions.values()], [100, 100, 50]);
    const [[first] = [], , [last] = []] = [...sessions];
    assert.ok(first !== undefined && last !== undefined);
    for (let i = 1; i < 100; i += 1) first.release();
    assert.equal(first.ended, false);
    first.release();
    assert.equal(first.ended, true);
    for (let i = 0; i < 50; i += 1) last.release();
    assert.equal(last.ended, false, 'the last one is kept for the next watch');
    await access.destroy();
    assert.deepEqual([...sessions.keys()].map(({ ended }) => ended), [true, true, true]);
    assert.equal(connections, 3);
  });

  it('keeps as few streams as its server allows, and gives a place back with its stream', async () => {
    const few = createSecureServer({ cert: certificate, key, settings: { maxConcurrentStreams: 2 } });
    few.on('sessionError', () => undefined);
    few.on('stream', (stream) => {
      stream.on('error', () => undefined);
      stream.respond();
    });
    few.listen(0, '127.0.0.1');
    await once(few, 'listening');
    const server = new URL(`https://127.0.0.1:${(few.address() as AddressInfo).port}`);
    access = new ClusterAccess(
      { server, certificateAuthority: ca, insecure: false, credentials: { kind: 'none' } }, {}, TRANSPORT_TIMINGS,
    );
    const open = async () => {
      const opened = await access.session();
      assert.ok(opened.kind === 'h2');
      const stream = opened.session.request({ ':path': '/' });
      stream.on('error', () => undefined);
      await once(stream, 'response');
      return { session: opened.session, stream };
    };
    const [first, second] = [await open(), await open()];
    first.stream.close();
    await once(first.stream, 'close');
    const third = await open();
    const fourth = await open();
    assert.deepEqual([second.session, third.session].map((session) => session === first.session), [true, true]);
    assert.notEqual(fourth.session, first.session);
    await access.destroy();
    few.close();
  });

  it('ends streams that are destroyed with CANCEL, so that nothing is sent while a frame is read', async () => {
    const codes: Promise<number | undefined>[] = [];
    const serve = (stream: ServerHttp2Stream) => {
      codes.push(new Promise((resolve) => stream.once('close', () => resolve(stream.rstCode))));
      stream.respond();
      stream.write('x');
    };
    server.on('stream', serve);
    const opened = await access.session();
    assert.ok(opened.kind === 'h2');
    const streams = ['/a', '/b', '/c'].map((path) => opened.session.request({ ':path': path }));
    for (const stream of streams) stream.on('error', () => undefined);
    await new Promise<void>((resolve) => streams[0]?.once('data', () => {
      for (const stream of streams) stream.destroy(new Error('it sends too much'));
      resolve();
    }));
    const plain = opened.session.request({ ':path': '/d' });
    plain.once('data', () => plain.destroy());
    await once(plain, 'close');
    assert.deepEqual(await Promise.all(codes), Array.from({ length: 4 }, () => constants.NGHTTP2_CANCEL));
    server.off('stream', serve);
    await access.destroy();
  });

  it('ends its connection once it is left, also where a server that drains it keeps that open', async () => {
    const accepted = once(server, 'session') as Promise<[ServerHttp2Session]>;
    const opened = await access.session();
    assert.ok(opened.kind === 'h2');
    const closed = endOf(opened.session);
    const [draining] = await accepted;
    draining.goaway(constants.NGHTTP2_NO_ERROR);
    while (!opened.session.ended) await nextTurn();
    opened.session.leave();
    opened.session.release();
    await closed;
    await access.destroy();
  });

  it('holds no more of a stream that nobody reads than its window, and reads the others', async () => {
    const serve = (stream: ServerHttp2Stream): void => {
      stream.respond();
      stream.end(Buffer.alloc(1 << 20));
    };
    server.on('stream', serve);
    const opened = await access.session();
    assert.ok(opened.kind === 'h2');
    const [unread, read] = ['/unread', '/read'].map((path) => opened.session.request({ ':path': path }));
    assert.ok(unread !== undefined && read !== undefined);
    unread.on('error', () => undefined);
    assert.equal((await buffer(read)).length, 1 << 20);
    while (unread.readableLength < 256 << 10) await nextTurn();
    assert.equal(unread.readableLength, 256 << 10);
    server.off('stream', serve);
    await access.destroy();
  });

  /** The same server 50 ms away, with more to send than any window. */
  async function openFar(): Promise<Far> {
    const slow = createServer((near) => {
      const far = connect(Number(url.port), '127.0.0.1');
      for (const [from, to] of [[near, far], [far, near]] as const) {
        from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), 25));
        from.on('error', () => undefined).on('close', () => to.destroy());
      }
    }).listen(0, '127.0.0.1');
    await once(slow, 'listening');
    const windows: (number | undefined)[] = [];
    const serve = (stream: ServerHttp2Stream): void => {
      windows.push(stream.session?.remoteSettings.initialWindowSize);
      stream.respond();
      stream.end(Buffer.alloc(2 << 20));
    };
    server.on('stream', serve);
    const there = new URL(`https://127.0.0.1:${(slow.address() as AddressInfo).port}`);
    const far = new ClusterAccess(
      { server: there, certificateAuthority: ca, insecure: false, credentials: { kind: 'none' } }, {},
      TRANSPORT_TIMINGS,
    );
    const opened = await far.session();
    assert.ok(opened.kind === 'h2');
    const close = async (): Promise<void> => {
      server.off('stream', serve);
      await far.destroy();
      slow.close();
    };
    return { session: opened.session, windows, close };
  }

  it('holds more of a stream from a server that is far away', async () => {
    const { session, close } = await openFar();
    const unread = session.request({ ':path': '/unread' });
    unread.on('error', () => undefined);
    while (unread.readableLength < 1 << 20) await sleep(5);
    assert.equal(unread.readableLength, 1 << 20);
    await close();
  });

  it('takes no server for far because it has no time to read an answer', async () => {
    const { session, windows, close } = await openFar();
    const heard: number[] = [];
    session.onRoundTrip = (ms) => heard.push(ms);
    while (heard.length === 0) await nextTurn(); // without a pause: the event loop is busy
    const stream = session.request({ ':path': '/after' });
    await responseOf(stream);
    stream.on('error', () => undefined).destroy();
    assert.deepEqual(windows, [256 << 10]);
    await close();
  });

  it('ends its connection with it, whatever the server still has to send', async () => {
    const serve = (stream: ServerHttp2Stream) => {
      stream.respond();
      const send = (): void => void (stream.destroyed || stream.write(Buffer.alloc(1 << 20), send));
      send();
    };
    server.on('stream', serve);
    const opened = await access.session();
    assert.ok(opened.kind === 'h2');
    const closed = endOf(opened.session);
    const stream = opened.session.request({ ':path': '/a' });
    stream.on('error', () => undefined);
    await new Promise<void>((resolve) => stream.once('data', () => {
      stream.destroy(new Error('it sends too much'));
      opened.session.destroy(new Error('it sends too much'));
      resolve();
    }));
    await closed;
    server.off('stream', serve);
    await access.destroy();
  });

  it('is opened once more, for all of them, when it has ended', async () => {
    const first = await access.session();
    assert.ok(first.kind === 'h2');
    first.session.destroy(new Error('cut'));
    const again = await Promise.all([access.session(), access.session()]);
    assert.equal(again[0], again[1]);
    assert.notEqual(again[0], first);
    await access.destroy();
    assert.equal(connections, 2);
  });

  for (const [who, end, refused] of [
    ['the other side', () => undefined, 1],
    ['us', (session: WatchSession) => session.destroy(new Error('a ping was not answered')), 0],
  ] as const) {
    it(`says ${refused === 1 ? 'so' : 'nothing'} when ${who} ended it`, async () => {
      let heard = 0;
      const listener = {
        roundTrip: () => undefined, answered: () => undefined, refused: () => (heard += 1),
      };
      access = new ClusterAccess(
        { server: url, certificateAuthority: ca, insecure: false, credentials: { kind: 'none' } }, {},
        TRANSPORT_TIMINGS, listener,
      );
      const opened = await access.session();
      assert.ok(opened.kind === 'h2');
      if (refused === 1) server.once('stream', ({ session }) => session?.destroy());
      const stream = opened.session.request({ ':path': '/' });
      stream.on('error', () => undefined);
      const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
      end(opened.session);
      await closed;
      await access.destroy();
      assert.equal(heard, refused);
    });
  }

  it('is not opened any more when everything was ended: no connection keeps the process alive', async () => {
    const opening = access.session();
    await access.destroy();
    await assert.rejects(access.session(), /closed/);
    const opened = await opening.catch(() => undefined);
    assert.ok(opened === undefined || (opened.kind === 'h2' && opened.session.ended));
  });
});
