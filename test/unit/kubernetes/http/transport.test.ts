import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  ApiError, isAlreadyExists, isConflict, isExpired, isNotFound, isRejection, UnreachableError,
} from '../../../../kubernetes/flow/api-error.ts';
import { readExec } from '../../../../kubernetes/credentials/exec-credential.ts';
import { ExecPlugin } from '../../../../kubernetes/credentials/exec-plugin.ts';
import { CALLS_IN_FLIGHT } from '../../../../kubernetes/http/in-flight-limiter.ts';
import { TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import { Transport, type Call } from '../../../../kubernetes/http/transport.ts';
import { runBounded } from '../../../../process/programs/bounded-run.ts';
import { CONDITIONS_AT_ONCE } from '../../../../scheduler/cycle/overdue-controller.ts';
import { ScriptedApiServer, status, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const GET: Call = { method: 'GET', path: '/api/v1/nodes' };
const AGENT = 'isthmus-test/1';

describe('Transport', () => {
  let server: ScriptedApiServer;
  const opened: Transport[] = [];
  const open = (...how: Parameters<ScriptedApiServer['connection']>) => {
    const transport = new Transport(server.connection(...how), AGENT);
    opened.push(transport);
    return transport;
  };
  const failing = async (transport: (call: Call) => Promise<unknown>, ...answer: Parameters<Exchange['answer']>) => {
    const thrown = transport(GET).then(
      () => assert.fail('the call succeeded'),
      (error: unknown) => error,
    );
    (await server.next()).answer(...answer);
    const error = await thrown;
    assert(error instanceof ApiError, String(error));
    return error;
  };

  beforeEach(async () => {
    server = await ScriptedApiServer.start();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((transport) => transport.close()));
    await server.stop();
  });

  describe('requests', () => {
    it('sends method, path, headers and JSON', async () => {
      const answer = server.transport.call(
        { method: 'PATCH', path: '/api/v1/nodes/n', body: { a: 'ü' }, contentType: 'application/merge-patch+json' },
      );
      const request = await server.next();
      assert.deepEqual([request.method, request.path, request.body], ['PATCH', '/api/v1/nodes/n', '{"a":"ü"}']);
      assert.deepEqual(
        [
          request.headers['content-type'], request.headers['user-agent'], request.headers.accept,
          request.headers.authorization,
        ],
        ['application/merge-patch+json', AGENT, 'application/json', undefined],
      );
      request.answer(200, { ok: true });
      assert.deepEqual(await answer, { ok: true });
    });

    it('sends no content type without a body', async () => {
      const answer = server.transport.call(GET);
      const request = await server.next();
      assert.equal(request.headers['content-type'], undefined);
      request.answer(200, {});
      await answer;
    });

    it('escapes query values and leaves out those that are undefined', async () => {
      const selector = 'a in (b,c),d!=e&f=ü +%/?#';
      const answer =
        server.transport.call({ ...GET, query: { labelSelector: selector, continue: undefined, limit: '' } });
      const request = await server.next();
      assert.deepEqual([...request.query], [['labelSelector', selector], ['limit', '']]);
      request.answer(200, {});
      await answer;
    });

    for (const path of ['/clusters/one', '/clusters/one/']) {
      it(`puts calls below the server's path ${path}`, async () => {
        const answer = open({ kind: 'none' }, path).call(GET);
        const request = await server.next();
        assert.equal(request.path, '/clusters/one/api/v1/nodes');
        request.answer(200, {});
        await answer;
      });
    }
  });

  describe('credentials', () => {
    it('sends a token', async () => {
      const answer = open({ kind: 'token', token: 'secret' }).call(GET);
      const request = await server.next();
      assert.equal(request.headers.authorization, 'Bearer secret');
      request.answer(200, {});
      await answer;
    });

    it('sends each call again that was rejected with credentials that have changed since', async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-transport-'));
      t.after(() => rm(folder, { recursive: true }));
      const path = join(folder, 'token');
      await writeFile(path, 'one');
      const transport = open({ kind: 'token-file', path });
      const answers = Promise.all([transport.call(GET), transport.call(GET)]);
      const rejected = [await server.next(), await server.next()];
      await writeFile(path, 'two');
      for (const request of rejected) request.answer(401, status(401, 'Unauthorized', 'the token has expired'));
      const again = async (): Promise<string | undefined> => {
        const request = await server.next();
        request.answer(200, { ok: true });
        return request.headers.authorization;
      };
      const [answered, ...sent] = await Promise.all([answers, again(), again()]);
      assert.deepEqual([answered, sent], [[{ ok: true }, { ok: true }], ['Bearer two', 'Bearer two']]);
    });

    it('reads a token file again after some seconds, and not at each call', async (t) => {
      let now = Math.ceil(performance.now()); // sums of fractions are rounded
      t.mock.method(performance, 'now', () => now);
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-transport-'));
      t.after(() => rm(folder, { recursive: true }));
      const path = join(folder, 'token');
      const transport = open({ kind: 'token-file', path });
      const sent = async () => {
        const answer = transport.call(GET);
        const request = await server.next();
        request.answer(200, {});
        await answer;
        return request.headers.authorization;
      };
      await writeFile(path, 'one\n');
      assert.equal(await sent(), 'Bearer one');
      await writeFile(path, 'two\n');
      assert.equal(await sent(), 'Bearer one');
      now += 10_000;
      assert.equal(await sent(), 'Bearer two');
    });

    it('reads a token file anew when it was missing before', async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-transport-'));
      t.after(() => rm(folder, { recursive: true }));
      const path = join(folder, 'token');
      const transport = open({ kind: 'token-file', path });
      await assert.rejects(transport.call(GET), { name: 'UnreachableError', message: /no such file/ });
      await writeFile(path, 'late');
      const answer = transport.call(GET);
      const request = await server.next();
      assert.equal(request.headers.authorization, 'Bearer late');
      request.answer(200, {});
      await answer;
    });

    it('opens a stream again with new credentials, and survives what becomes of the refusal', async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-transport-'));
      t.after(() => rm(folder, { recursive: true }));
      const path = join(folder, 'token');
      await writeFile(path, 'old');
      const transport = open({ kind: 'token-file', path });
      const opening = transport.stream(GET, new AbortController().signal);
      const refused = await server.next();
      await writeFile(path, 'new');
      refused.answer(401, status(401, 'Unauthorized', 'no longer'));
      const accepted = await server.next();
      assert.equal(accepted.headers.authorization, 'Bearer new');
      accepted.answer(200, {});
      const { body } = await opening;
      assert.equal(await text(body), '{}');
    });

    it('opens watches anew after a call that is refused for good, at most once in ten seconds', async (t) => {
      let now = Math.ceil(performance.now()); // sums of fractions are rounded
      t.mock.method(performance, 'now', () => now);
      const transport = open({ kind: 'token', token: 'revoked' });
      const refuse = () => failing((call) => transport.call(call), 401, status(401, 'Unauthorized', 'unknown'));
      const watch = async () => {
        const opening = transport.stream(GET, new AbortController().signal);
        (await server.next()).open();
        return (await opening).body;
      };
      const ended = (body: Readable) => once(body, 'close').then(
        () => 'no error', (error: unknown) => (error as Error).name,
      );
      const first = await watch();
      const end = ended(first);
      await refuse();
      assert.equal(await end, 'CredentialsChangedError');
      const second = await watch();
      await refuse();
      const between = transport.call(GET);
      (await server.next()).answer(200, {});
      await between;
      assert.equal(second.destroyed, false);
      now += 10_000;
      const secondEnd = ended(second);
      await refuse();
      assert.equal(await secondEnd, 'CredentialsChangedError');
    });

    it('does not open watches anew because a server behind the API server refuses a call', async () => {
      const transport = open({ kind: 'token', token: 'good' });
      const opening = transport.stream(GET, new AbortController().signal);
      (await server.next()).open();
      const { body } = await opening;
      const figures = transport.call({ method: 'GET', path: '/apis/metrics.k8s.io/v1beta1/pods' });
      (await server.next()).answer(401, status(401, 'Unauthorized', 'Unauthorized'));
      await assert.rejects(figures, { status: 401 });
      const call = transport.call(GET);
      (await server.next()).answer(200, {});
      await call;
      assert.equal(body.destroyed, false);
    });

    it('does not open watches anew because one of them is refused', async () => {
      const transport = open({ kind: 'token', token: 'revoked' });
      const signal = new AbortController().signal;
      const opening = transport.stream(GET, signal);
      (await server.next()).open();
      const { body } = await opening;
      const refused = assert.rejects(transport.stream(GET, signal), { status: 401 });
      (await server.next()).answer(401, status(401, 'Unauthorized', 'unknown'));
      await refused;
      const answer = transport.call(GET);
      (await server.next()).answer(200, {});
      await answer;
      assert.equal(body.destroyed, false);
    });

    it('does not stay broken when credentials could not be had at first', async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'isthmus-transport-'));
      t.after(() => rm(folder, { recursive: true }));
      const flag = join(folder, 'works');
      const script =
        `test -e '${flag}' && echo ` +
          `'{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","status":{"token":"made"}}'`;
      const exec =
        { apiVersion: 'client.authentication.k8s.io/v1beta1', command: 'sh', args: ['-c', script] };
      let now = Date.now();
      const place = { env: { PATH: '/usr/bin:/bin' }, atTerminal: false, isInteractive: false };
      const plugin = new ExecPlugin(readExec(exec, {}, undefined), place, { run: runBounded, now: () => now });
      const transport = open({ kind: 'exec', plugin });
      await assert.rejects(transport.call(GET), { name: 'UnreachableError', message: /exec plugin sh gives no/ });
      await writeFile(flag, '');
      now += 2_000;
      const answer = transport.call(GET);
      const request = await server.next();
      assert.equal(request.headers.authorization, 'Bearer made');
      request.answer(200, {});
      await answer;
    });
  });

  describe('error answers', () => {
    const calls: Record<string, (call: Call) => Promise<unknown>> = {
      call: (call) => server.transport.call(call),
      stream: (call) => server.transport.stream(call, new AbortController().signal),
    };

    for (const [how, send] of Object.entries(calls)) {
      it(`${how}: reads status, reason and message of a Status`, async () => {
        const error = await failing(send, 403, status(403, 'Forbidden', 'nodes is forbidden'));
        assert.deepEqual([error.status, error.reason, error.message, error.retryAfterMs], [
          403, 'Forbidden', 'nodes is forbidden', undefined,
        ]);
      });

      it(`${how}: takes a text that is no Status as the message, cut to a length that can be logged`, async () => {
        const error = await failing(send, 502, 'x'.repeat(100_000));
        assert.deepEqual([error.status, error.reason, error.message], [502, '', 'x'.repeat(4_096)]);
      });

      it(`C2-3: ${how}: does not follow a redirect`, async () => {
        const error = await failing(send, 302, '', { location: `${server.url.origin}/elsewhere` });
        assert.deepEqual([error.status, server.requests], [302, 1]);
      });
    }

    it('cuts the message of a Status as well', async () => {
      assert.equal(
        (await failing(calls['call']!, 500, status(500, 'InternalError', 'x'.repeat(100_000)))).message.length, 4_096,
      );
    });

    for (const body of ['', 'null', '[]', '"text"', '{"reason":1,"message":{"a":1}}', '{']) {
      it(`survives an answer of ${body === '' ? 'nothing' : body} where a Status is due`, async () => {
        const error = await failing(calls['call']!, 500, body);
        assert.deepEqual([error.status, error.reason, error.message], [500, '', body]);
      });
    }

    const waits: readonly (readonly [header: string, ms: number | undefined])[] = [
      ['3', 3_000],
      ['30', 30_000],
      ['0', undefined],
      ['-5', undefined],
      ['soon', undefined],
      ['999999999', 300_000],
    ];
    describe('of a server that asks for a second', () => {
      const wait = { 'retry-after': '0.01' };
      const busy = status(429, 'TooManyRequests', 'storage is (re)initializing');

      it('is not the last word: the call is sent again', async () => {
        const answer = server.transport.call({ method: 'POST', path: '/api/v1/nodes', body: { a: 1 } });
        (await server.next()).answer(429, busy, wait);
        const again = await server.next();
        again.answer(201, { ok: true });
        assert.deepEqual([await answer, again.body], [{ ok: true }, '{"a":1}']);
      });

      it('is the last word of a call that bypasses the rate limit', async () => {
        const error = await failing(
          (call) => server.transport.call({ ...call, bypassesRateLimit: true }), 429, busy, wait,
        );
        assert.deepEqual([error.status, server.requests], [429, 1]);
      });

      it('is told when it says so four times', async () => {
        const thrown = assert.rejects(server.transport.call(GET), { status: 429, message: /re\)initializing/ });
        for (let times = 0; times < 4; times += 1) (await server.next()).answer(429, busy, wait);
        await thrown;
        assert.equal(server.requests, 4);
      });
    });

    it('to an eviction is about its pod alone: no other call waits for it', async () => {
      const eviction: Call = { method: 'POST', path: '/api/v1/namespaces/a/pods/p/eviction', body: {} };
      const refused = assert.rejects(server.transport.call(eviction), { status: 429, retryAfterMs: 60_000 });
      const budget = status(429, 'TooManyRequests', 'it would violate the disruption budget of the pod');
      (await server.next()).answer(429, budget, { 'retry-after': '60' });
      await refused;
      const answered = server.next().then((request) => request.answer(200, { ok: true }));
      const [answer] = await Promise.all([server.transport.call(GET), answered]);
      assert.deepEqual(answer, { ok: true });
    });

    it('of a server behind the API server says nothing about that one: no other call waits', async () => {
      const metrics: Call = { method: 'GET', path: '/apis/metrics.k8s.io/v1beta1/pods' };
      for (const [code, wait] of [[429, '1'], [429, '60'], [503, '60']] as const) {
        const rejected = assert.rejects(server.transport.call(metrics), { status: code });
        (await server.next()).answer(code, status(code, '', 'metrics-server is busy'), { 'retry-after': wait });
        await rejected;
        assert.equal(server.transport.activity.isRefusing, false);
      }
      const answered = server.next().then((request) => request.answer(200, { ok: true }));
      const [answer] = await Promise.all([server.transport.call(GET), answered]);
      assert.deepEqual(answer, { ok: true });
    });

    for (const [header, ms] of waits) {
      it(`reads Retry-After: ${header} as ${ms} ms`, async () => {
        const error =
          await failing(calls['call']!, 429, status(429, 'TooManyRequests', 'slow down'), { 'retry-after': header });
        assert.equal(error.retryAfterMs, ms);
      });
    }
  });

  describe('no answer', () => {
    it('says that a server that refuses connections is unreachable, and which', async () => {
      const closed = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => closed.once('listening', resolve));
      const { port } = closed.address() as { port: number };
      await new Promise((resolve) => closed.close(resolve));
      const transport = new Transport({ ...server.connection(), server: new URL(`http://127.0.0.1:${port}`) }, AGENT);
      opened.push(transport);
      await assert.rejects(transport.call(GET), {
        name: 'UnreachableError', message: new RegExp(`^GET 127.0.0.1:${port}/api/v1/nodes: .*ECONNREFUSED`),
      });
    });

    it('says that a connection that breaks during the answer, twice, is unreachable', async () => {
      const failed = assert.rejects(server.transport.call(GET), UnreachableError);
      for (let i = 0; i < 2; i += 1) {
        const request = await server.next();
        request.open();
        request.write('{"half":');
        request.cut();
      }
      await failed;
    });

    it('does not take half an answer for one', async () => {
      const failed = assert.rejects(server.transport.call(GET), UnreachableError);
      (await server.next()).answer(200, '{"half":');
      await failed;
    });

    it('gives up after its deadline, and says so', async () => {
      const transport = new Transport(server.connection(), AGENT, { callTimeoutMs: 250 });
      opened.push(transport);
      const failed =
        assert.rejects(transport.call(GET), { name: 'UnreachableError', message: /no answer within 0\.\d+ s/ });
      const request = await server.next();
      await failed;
      await request.closed();
      assert.equal(TRANSPORT_TIMINGS.callTimeoutMs, 15_000);
    });

    it('asks once more when the connection of a GET breaks before the answer', async () => {
      const answer = server.transport.call(GET);
      (await server.next()).cut();
      (await server.next()).answer(200, { ok: true });
      assert.deepEqual(await answer, { ok: true });
    });

    it('never repeats a write on its own: it may have been done', async () => {
      const failed =
        assert.rejects(server.transport.call({ method: 'POST', path: '/api/v1/nodes', body: {} }), UnreachableError);
      (await server.next()).cut();
      await failed;
      assert.equal(server.requests, 1);
    });
  });

  describe('abort', () => {
    const reason = new Error('shutting down');

    it('throws the reason of a signal that was aborted before, and sends nothing', async () => {
      await assert.rejects(server.transport.call(GET, AbortSignal.abort(reason)), reason);
      await assert.rejects(server.transport.stream(GET, AbortSignal.abort(reason)), reason);
      assert.equal(server.requests, 0);
    });

    it('throws the reason of a signal that is aborted while waiting', async () => {
      const stop = new AbortController();
      const failed = assert.rejects(server.transport.call(GET, stop.signal), reason);
      await server.next();
      stop.abort(reason);
      await failed;
    });

    it('ends an open stream', async () => {
      const stop = new AbortController();
      const opening = server.transport.stream(GET, stop.signal);
      const request = await server.next();
      request.open();
      const { body } = await opening;
      const failed = assert.rejects(text(body));
      stop.abort(reason);
      await Promise.all([failed, request.closed()]);
    });

    it('ends streams and calls when the transport is closed', async () => {
      const transport = open();
      const opening = transport.stream(GET, new AbortController().signal);
      (await server.next()).open();
      const { body } = await opening;
      const calling = assert.rejects(transport.call(GET), UnreachableError);
      await server.next();
      const streaming = assert.rejects(text(body));
      await transport.close();
      await Promise.all([calling, streaming]);
      await assert.rejects(transport.call(GET), UnreachableError);
    });
  });

  it('keeps places for calls while many watches are open', async () => {
    const stop = new AbortController();
    for (let i = 0; i < 40; i += 1) {
      const opening = server.transport.stream(GET, AbortSignal.any([stop.signal]));
      (await server.next()).open();
      (await opening).body.on('error', () => undefined);
    }
    const answer = server.transport.call(GET);
    (await server.next()).answer(200, { ok: true });
    assert.deepEqual(await answer, { ok: true });
    stop.abort();
  });

  it('has a connection for the renewal of a lease while all places are taken and many pods are told why they wait',
    async () => {
    const renewal: Call = { ...GET, path: '/renewal', bypassesRateLimit: true };
    const calls = [
      ...Array.from({ length: CALLS_IN_FLIGHT }, () => GET),
      ...Array.from({ length: CONDITIONS_AT_ONCE }, () => ({ ...GET, bypassesRateLimit: true })), renewal,
    ];
    const answers = calls.map((call) => server.transport.call(call));
    const arrived = await Promise.all(calls.map(() => server.next()));
    assert.ok(arrived.some(({ path }) => path === '/renewal'));
    for (const exchange of arrived) exchange.answer(200, {});
    await Promise.all(answers);
  });
});

describe('kinds of errors', () => {
  const kinds = { isNotFound, isAlreadyExists, isConflict, isExpired, isRejection };
  const rows: readonly (readonly [error: unknown, is: readonly (keyof typeof kinds)[]])[] = [
    [new ApiError(404, 'NotFound', ''), ['isNotFound', 'isRejection']],
    [new ApiError(409, 'AlreadyExists', ''), ['isAlreadyExists']],
    [new ApiError(409, 'Conflict', ''), ['isConflict']],
    [new ApiError(410, 'Expired', ''), ['isExpired', 'isRejection']],
    [new ApiError(410, 'Gone', ''), ['isExpired', 'isRejection']],
    [new ApiError(400, 'Expired', ''), ['isExpired', 'isRejection']],
    [new ApiError(403, 'Forbidden', ''), ['isRejection']],
    [new ApiError(422, 'Invalid', ''), ['isRejection']],
    [new ApiError(401, 'Unauthorized', ''), []],
    [new ApiError(408, 'Timeout', ''), []],
    [new ApiError(429, 'TooManyRequests', ''), []],
    [new ApiError(500, 'InternalError', ''), []],
    [new UnreachableError('refused'), []],
    [new Error('404'), []],
    [undefined, []],
  ];
  for (const [error, is] of rows) {
    const name = error instanceof ApiError ? `${error.status} ${error.reason}` : String(error);
    it(`${name} is ${is.join(' and ') || 'none of them'}`, () => {
      assert.deepEqual(Object.entries(kinds).filter(([, test]) => test(error)).map(([kind]) => kind), is);
    });
  }
});
