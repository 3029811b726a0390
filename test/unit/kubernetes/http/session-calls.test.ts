import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import {
  constants, createSecureServer, type ClientHttp2Stream, type Http2SecureServer, type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { Pool } from 'undici';
import { DeadlineError } from '../../../../kubernetes/flow/api-error.ts';
import { ClusterAccess, TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import {
  BrokenStreamError, isBrokenConnection, sendCall, UnsentError, type CallBounds, type CallHandler, type CallRequest,
} from '../../../../kubernetes/http/pending-call.ts';
import type { ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import { SessionCalls } from '../../../../kubernetes/http/session-calls.ts';
import type { WatchSession } from '../../../../kubernetes/http/watch-session.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';

const BOUNDS: CallBounds = { maxBytes: 1_000, timeoutMs: 10_000, fence: undefined };

/** A request as the server sees it, and how it is answered. */
interface Seen {
  readonly over: 'h2' | 'http/1.1';
  readonly line: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  readonly stream: ServerHttp2Stream | undefined;
  answer(body: string): void;
}

describe('SessionCalls', () => {
  let server: Http2SecureServer;
  let relay: Server;
  let access: ClusterAccess;
  let ca = '';
  /** Connections through the relay, both ends of each. */
  let sockets: Socket[] = [];
  let seen: Seen[] = [];
  let arrived: (() => void)[] = [];
  let sessions: ServerHttp2Session[] = [];
  /** Whether new connections get through. */
  let accepts = true;

  before(async () => {
    const authority = await createAuthority('test-ca', 1, new Date());
    const own = await authority.issue({ commonName: 'api-server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    ca = authority.keyPair.certificate;
    server = createSecureServer({ cert: own.certificate, key: own.key, allowHTTP1: true });
    server.on('session', (session) => sessions.push(session));
    server.on('sessionError', () => undefined);
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.on('error', () => undefined);
      void text(stream).then((body) => note({
        over: 'h2', line: `${headers[':method']} ${headers[':path']}`, headers, body, stream,
        answer: (answer) => {
          stream.respond({ ':status': 200, 'retry-after': '7' });
          stream.end(answer);
        },
      }), () => undefined);
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      if (request.httpVersion === '2.0') return;
      void text(request).then((body) => note({
        over: 'http/1.1', line: `${request.method} ${request.url}`, headers: request.headers, body, stream: undefined,
        answer: (answer) => response.end(answer),
      }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    relay = createServer((incoming) => {
      if (!accepts) {
        incoming.destroy();
        return;
      }
      const outgoing = connect((server.address() as AddressInfo).port, '127.0.0.1');
      for (const socket of [incoming, outgoing]) {
        socket.on('error', () => undefined);
        sockets.push(socket);
      }
      incoming.pipe(outgoing).pipe(incoming);
    });
    relay.listen(0, '127.0.0.1');
    await once(relay, 'listening');
  });
  const connection = (): ClusterConnection => ({
    server: new URL(`https://127.0.0.1:${(relay.address() as AddressInfo).port}`), certificateAuthority: ca,
    insecure: false, credentials: { kind: 'none' },
  });
  beforeEach(() => {
    [sockets, seen, arrived, sessions, accepts] = [[], [], [], [], true];
    access = new ClusterAccess(connection(), {}, TRANSPORT_TIMINGS);
  });
  afterEach(async () => {
    await access.destroy();
    for (const socket of sockets) socket.destroy();
  });
  after(() => {
    server.close();
    relay.close();
  });

  function note(request: Seen): void {
    seen.push(request);
    for (const wake of arrived.splice(0)) wake();
  }
  async function requests(count: number): Promise<readonly Seen[]> {
    while (seen.length < count) await new Promise<void>((resolve) => arrived.push(resolve));
    return seen;
  }
  async function openWatch(): Promise<WatchSession> {
    const opened = await access.session();
    assert.ok(opened.kind === 'h2');
    return opened.session;
  }
  function request(over: Partial<CallRequest> = {}): CallRequest {
    const { origin } = new URL(`https://127.0.0.1:${(relay.address() as AddressInfo).port}`);
    return { origin, method: 'GET', path: '/version', reset: false, headers: { accept: 'application/json' }, ...over };
  }
  const send = (over: Partial<CallRequest> = {}, bounds: Partial<CallBounds> = {}, signal?: AbortSignal) =>
    sendCall(access.path, request(over), { ...BOUNDS, ...bounds }, signal);
  const connections = () => sockets.length / 2;

  it('sends a call over the session of the watches, without another connection', async () => {
    await openWatch();
    const answer =
      send({ method: 'PATCH', path: '/api/v1/pods/p', headers: { 'content-type': 'a/b' }, body: '{"ü":1}' });
    const [call] = await requests(1);
    assert.deepEqual(
      [call?.over, call?.line, call?.headers['content-type'], call?.body],
      ['h2', 'PATCH /api/v1/pods/p', 'a/b', '{"ü":1}'],
    );
    call?.answer('done');
    const { status, retryAfter, body } = await answer;
    assert.deepEqual([status, retryAfter, body.toString()], [200, '7', 'done']);
    assert.equal(connections(), 1);
  });

  it('waits for a session that is being opened', async () => {
    const opening = access.session();
    await setImmediate();
    const answer = send();
    (await requests(1))[0]?.answer('');
    await Promise.all([opening, answer]);
    assert.deepEqual([seen[0]?.over, connections()], ['h2', 1]);
  });

  it('takes a call that was made before the session was asked for, while credentials are read', async (t) => {
    const transport = new Transport(connection(), 'isthmus-test/1');
    t.after(() => transport.close());
    const answer = transport.call({ method: 'GET', path: '/api/v1/nodes' });
    const opened = transport.openSession();
    (await requests(1))[0]?.answer('{}');
    await Promise.all([answer, opened]);
    assert.deepEqual([seen.map(({ over }) => over), connections()], [['h2'], 1]);
  });

  it('opens no session for a call', async () => {
    const answer = send();
    (await requests(1))[0]?.answer('');
    await answer;
    assert.equal(seen[0]?.over, 'http/1.1');
  });

  it('leaves calls to the pool while more than eight are in flight, and while it has a connection', async () => {
    await openWatch();
    const answers = Array.from({ length: 10 }, () => send());
    await requests(10);
    assert.deepEqual(
      seen.map(({ over }) => over).toSorted(), [...Array.from({ length: 8 }, () => 'h2'), 'http/1.1', 'http/1.1'],
    );
    for (const call of seen) call.answer('');
    await Promise.all(answers);
    const next = send();
    (await requests(11))[10]?.answer('');
    await next;
    assert.equal(seen[10]?.over, 'http/1.1');
  });

  it('sends nothing once it was destroyed, also after its connections have ended', async () => {
    const answer = send();
    (await requests(1))[0]?.answer('');
    await answer;
    await access.destroy();
    await setImmediate();
    await assert.rejects(send(), UnsentError);
    assert.equal(seen.length, 1);
  });

  it('gives its place in the session back', async () => {
    await openWatch();
    for (let call = 1; call <= 150; call += 1) {
      const answer = send();
      (await requests(call)).at(-1)?.answer('');
      await answer;
    }
    assert.deepEqual([seen.every(({ over }) => over === 'h2'), connections()], [true, 1]);
  });

  /** A session that was opened a minute ago, by its own clock: its last sign of life is old. */
  async function openOldWatch(t: TestContext): Promise<WatchSession> {
    const session = await openWatch();
    await session.answersWithin(5_000);
    const now = performance.now.bind(performance);
    t.mock.method(performance, 'now', () => now() + 60_000);
    return session;
  }

  it('sends nothing over a connection that answers no ping, and opens another', async (t) => {
    await openOldWatch(t);
    for (const socket of sockets) socket.unpipe();
    const answer = send({ method: 'POST', body: '{}' });
    (await requests(1))[0]?.answer('done');
    assert.equal((await answer).body.toString(), 'done');
    assert.deepEqual(seen.map(({ over }) => over), ['http/1.1']);
  });

  it('leaves a call unsent when the server is dead', async (t) => {
    await openOldWatch(t);
    for (const socket of sockets) socket.unpipe();
    accepts = false;
    await assert.rejects(send({ method: 'POST', body: '{}' }), UnsentError);
    assert.deepEqual(seen, []);
  });

  it('uses the pool while the server begins to stop, and its watches go on', async () => {
    const session = await openWatch();
    const watch = session.request({ ':method': 'GET', ':path': '/watch' });
    watch.on('error', () => undefined); // the end of this test ends it
    const [watched] = await requests(1);
    watched?.stream?.respond({ ':status': 200 });
    await once(watch, 'response');
    sessions[0]?.close();
    while (!session.ended) await setImmediate();
    const answer = send({ method: 'POST', body: '{}' });
    (await requests(2))[1]?.answer('done');
    assert.equal((await answer).body.toString(), 'done');
    assert.deepEqual([seen[1]?.over, watch.destroyed], ['http/1.1', false]);
  });

  it('does not remember that a session could not be opened', async () => {
    accepts = false;
    await assert.rejects(access.session());
    await assert.rejects(send(), UnsentError);
    accepts = true;
    const answer = send();
    (await requests(1))[0]?.answer('done');
    assert.equal((await answer).body.toString(), 'done');
  });

  it('ends a call at its deadline, and tells the server', async () => {
    await openWatch();
    const answer = send({}, { timeoutMs: 200 });
    answer.catch(() => undefined);
    const [call] = await requests(1);
    await assert.rejects(answer, DeadlineError);
    assert.ok(call?.stream !== undefined);
    if (!call.stream.closed) await once(call.stream, 'close');
    assert.equal(call.stream.rstCode, constants.NGHTTP2_CANCEL);
  });

  it('sends nothing of a call that was cancelled while the session answered a ping', async () => {
    const session = await openWatch();
    const stop = new AbortController();
    const answer = send({}, {}, stop.signal);
    stop.abort(new Error('no longer wanted'));
    await assert.rejects(answer, /no longer wanted/);
    await session.answersWithin(1_000);
    assert.deepEqual(seen, []);
  });

  it('sends nothing without its lease', async () => {
    await openWatch();
    await assert.rejects(send({}, { fence: { holds: () => false, msLeft: () => 1_000 } }));
    assert.deepEqual(seen, []);
  });

  it('leaves unsent what the server has refused to process when it cannot be reached again', async () => {
    await openWatch();
    const answer = send({ method: 'POST', body: '{}' });
    answer.catch(() => undefined);
    const [call] = await requests(1);
    accepts = false;
    call?.stream?.close(constants.NGHTTP2_REFUSED_STREAM);
    await assert.rejects(answer, UnsentError);
  });

  it('repeats on another connection what the server has refused to process', async () => {
    await openWatch();
    const answer = send({ method: 'POST', body: '{}' });
    const [call] = await requests(1);
    call?.stream?.close(constants.NGHTTP2_REFUSED_STREAM);
    (await requests(2))[1]?.answer('done');
    assert.equal((await answer).body.toString(), 'done');
    assert.deepEqual(seen.map(({ over }) => over), ['h2', 'http/1.1']);
  });

  for (const [what, end] of [
    ['the connection is cut', () => sockets.forEach((socket) => socket.destroy())],
    ['the server fails', ({ stream }: Seen) => stream?.destroy(new Error('out of memory'))],
    ['the server ends the session', () => sessions.forEach((session) => session.destroy())],
  ] as const) {
    it(`never takes half an answer for a whole one: ${what}`, async () => {
      await openWatch();
      const answer = send({ method: 'POST', body: '{}' });
      answer.catch(() => undefined);
      const [call] = await requests(1);
      call?.stream?.respond({ ':status': 200 });
      call?.stream?.write('half');
      await new Promise((resolve) => call?.stream?.write(' of it', resolve));
      if (call !== undefined) end(call);
      const error: unknown = await answer.catch((thrown: unknown) => thrown);
      assert.ok(error instanceof BrokenStreamError && isBrokenConnection(error), String(error));
    });
  }

  it('ends an answer that is too long', async () => {
    await openWatch();
    const answer = send();
    answer.catch(() => undefined);
    const [call] = await requests(1);
    call?.stream?.respond({ ':status': 200 });
    call?.stream?.write('x'.repeat(1_001));
    await assert.rejects(answer, /more than 1000 bytes/);
    if (call?.stream?.closed === false) await once(call.stream, 'close');
    assert.equal(call?.stream?.rstCode, constants.NGHTTP2_CANCEL);
  });

  it('finishes its calls when the credentials were replaced, and then ends the session', async () => {
    const session = await openWatch();
    session.release();
    const answer = send();
    const [call] = await requests(1);
    access.retire();
    assert.equal(session.ended, false);
    call?.answer('done');
    assert.equal((await answer).body.toString(), 'done');
    assert.equal(session.ended, true);
  });

  it('finishes over the pool what its session cannot have after the credentials were replaced', async (t) => {
    await openOldWatch(t);
    for (const socket of sockets) socket.unpipe();
    const answer = send({ method: 'POST', body: '{}' });
    answer.catch(() => undefined);
    access.retire();
    const answered = requests(1).then(([call]) => call?.answer('done'));
    const [{ body }] = await Promise.all([answer, answered]);
    assert.deepEqual([body.toString(), seen.map(({ over }) => over)], ['done', ['http/1.1']]);
  });

  it('finishes a call that waited for its session when the credentials were replaced', async () => {
    const opening = access.session();
    opening.catch(() => undefined);
    await setImmediate();
    const answer = send();
    access.retire();
    (await requests(1))[0]?.answer('done');
    assert.equal((await answer).body.toString(), 'done');
    await assert.rejects(opening);
  });
});

class ScriptedPool extends EventEmitter {
  readonly stats = { size: 0 };
  isClosed = false;

  dispatch(): boolean {
    return true;
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

describe('a stream of a session', () => {
  /** A pool, a session and its stream, each of which does what the test says. */
  function scripted(open: (stream: EventEmitter) => ClientHttp2Stream): { path: SessionCalls; poolCalls: string[] } {
    const poolCalls: string[] = [];
    const pool = Object.assign(new EventEmitter(), {
      dispatch(_request: CallRequest, handler: CallHandler) {
        poolCalls.push('sent again');
        handler.onResponseError({ abort: () => undefined }, new Error('connect ECONNREFUSED'));
      },
    });
    const session = {
      ended: false, reserve: () => true, release: () => undefined, noteAnswer: () => undefined,
      isLive: () => Promise.resolve(true), request: () => open(new EventEmitter()),
    };
    const opened = { kind: 'h2', session: session as unknown as WatchSession } as const;
    return { path: new SessionCalls(() => pool as unknown as Pool, () => Promise.resolve(opened)), poolCalls };
  }
  const REQUEST: CallRequest = { origin: 'https://server', method: 'POST', path: '/', reset: false, headers: {} };
  const failureOf = (path: SessionCalls): Promise<unknown> =>
    sendCall(path, REQUEST, BOUNDS, undefined).then(() => 'answered', (error: unknown) => error);

  it('that takes the call leaves the pool unmade; closed, it is made so that it refuses calls', async () => {
    let made = 0;
    const pool = new Pool('http://127.0.0.1:1');
    const reserve = (): boolean => false;
    const opened = Promise.resolve({ kind: 'h2', session: { reserve } as unknown as WatchSession } as const);
    const path = new SessionCalls(() => {
      made += 1;
      return pool;
    }, () => opened);
    assert.equal(made, 0);
    await path.close();
    assert.ok(await failureOf(path) instanceof UnsentError);
    await path.destroy().catch(() => undefined);
    assert.equal(made, 1);
  });

  it('has a pool only while that has connections or calls', async () => {
    const pools: ScriptedPool[] = [];
    const path = new SessionCalls(() => {
      const pool = new ScriptedPool();
      pools.push(pool);
      return pool as unknown as Pool;
    }, () => undefined);
    const call = (): void => path.dispatch(REQUEST, {} as CallHandler);
    const states = (): boolean[] => pools.map(({ isClosed }) => isClosed);
    call();
    const [first] = pools as [ScriptedPool];
    for (const event of ['connect', 'connect', 'disconnect']) first.emit(event);
    assert.deepEqual(states(), [false], 'a connection is left');
    first.stats.size = 1;
    first.emit('disconnect');
    await setImmediate();
    assert.deepEqual(states(), [false], 'a call waits for another connection');
    first.stats.size = 0;
    for (const event of ['connect', 'disconnect']) first.emit(event);
    await setImmediate();
    call();
    assert.deepEqual(states(), [true, false]);
    pools[1]?.emit('connectionError');
    await setImmediate();
    call();
    assert.deepEqual(states(), [true, true, false], 'one that could not connect is not kept');
    for (const event of ['connect', 'disconnect']) pools[2]?.emit(event);
    await path.close();
    await setImmediate();
    call();
    assert.deepEqual(states(), [true, true, true], 'one that was closed takes no calls, and no other is made');
  });

  it('that cannot be opened leaves the call to the pool, unsent', async () => {
    const { path, poolCalls } = scripted(() => {
      throw new Error('ERR_HTTP2_GOAWAY_SESSION');
    });
    assert.ok(await failureOf(path) instanceof UnsentError);
    assert.deepEqual(poolCalls, ['sent again']);
  });

  it('that is refused after a part of its answer is not sent again, nor glued to another answer', async () => {
    const { path, poolCalls } = scripted((stream) => {
      process.nextTick(() => {
        stream.emit('response', { ':status': 200 });
        stream.emit('data', Buffer.from('HALF'));
        stream.emit('close');
      });
      return Object.assign(stream, {
        rstCode: constants.NGHTTP2_REFUSED_STREAM, readableEnded: true, close: () => undefined,
      }) as unknown as ClientHttp2Stream;
    });
    assert.ok(await failureOf(path) instanceof BrokenStreamError);
    assert.deepEqual(poolCalls, []);
  });
});
