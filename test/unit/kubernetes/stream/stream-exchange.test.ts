// One exchange on a connection of its own: what is sent, what is answered, and what somebody is told who gets no
// answer. The connection is the test's own.
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { text } from 'node:stream/consumers';
import { UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import type { Transport } from '../../../../kubernetes/http/transport.ts';
import { openExchange, type StreamRequest } from '../../../../kubernetes/stream/stream-exchange.ts';

/** A connection that notes what is sent and answers once a request is whole. */
class Connection extends Duplex {
  sent = '';
  readonly #answer: string | undefined;

  constructor(answer: string | undefined) {
    super();
    this.#answer = answer;
  }

  override _read(): void {
    // all is pushed
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent += chunk.toString();
    if (this.#answer !== undefined && this.sent.endsWith('\r\n\r\n')) this.push(this.#answer);
    done();
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const DENIED = 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n';
const UPGRADED = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';
const ASKED: StreamRequest = { method: 'GET', path: '/api/v1/namespaces/a/pods/b/log', query: [] };

/** Connections that answer so, in order; a text that is no answer stays silent, an Error does not connect. */
function transport(answers: readonly (string | Error | undefined)[], more: object = {}) {
  const left = [...answers];
  const connections: Connection[] = [];
  const made = {
    userAgent: 'isthmus/1', server: 'https://api.example:6443', limits: undefined,
    credentials: { renew: async () => false },
    access: async () => ({
      host: 'api.example:6443', basePath: '/k8s', identity: { authorization: `Bearer token-${connections.length + 1}` },
      dial: async () => {
        const answer = left.shift();
        if (answer instanceof Error) throw answer;
        const connection = new Connection(answer);
        connections.push(connection);
        return connection;
      },
    }),
    ...more,
  };
  return { connections, transport: made as unknown as Transport };
}

const { signal } = new AbortController();

async function failure(refusal: Error, more: object = {}): Promise<Error> {
  return openExchange(transport([refusal], more).transport, ASKED, signal).then(
    () => assert.fail('it was answered'), (error: unknown) => error as Error,
  );
}

describe('what is sent', () => {
  it('names the server, the program and its credentials, below the path of the server', async () => {
    const { connections, transport: through } = transport([OK]);
    await openExchange(through, ASKED, signal);
    const [line, ...headers] = connections[0]?.sent.trim().split('\r\n') ?? [];
    assert.equal(line, 'GET /k8s/api/v1/namespaces/a/pods/b/log HTTP/1.1');
    for (const header of ['user-agent: isthmus/1', 'authorization: Bearer token-1', 'host: api.example:6443']) {
      assert.ok(headers.includes(header), header);
    }
  });

  it('repeats parameters in their order, encoded', async () => {
    const { connections, transport: through } = transport([OK]);
    const query = [['command', 'a b'], ['command', '&c=\u00e9'], ['tty', '1']] as const;
    await openExchange(through, { ...ASKED, query }, signal);
    assert.match(connections[0]?.sent ?? '', /log\?command=a\+b&command=%26c%3D%C3%A9&tty=1 HTTP/);
  });

  it('lets a caller set headers but not forge others with them', async () => {
    const { connections, transport: through } = transport([OK]);
    await openExchange(through, { ...ASKED, headers: { 'x-stream-protocol-version': ['v2', 'v1'] } }, signal);
    assert.match(connections[0]?.sent ?? '', /x-stream-protocol-version: v2\r\nx-stream-protocol-version: v1\r\n/);
    await assert.rejects(openExchange(transport([OK]).transport, { ...ASKED, headers: { a: 'b\r\nc: d' } }, signal),
      UnreachableError);
  });

  it('has no credentials where there are none', async () => {
    const { connections, transport: through } = transport([OK], {
      access: async () => ({ host: 'h', basePath: '', identity: {}, dial: async () => {
        connections.push(new Connection(OK));
        return connections[0];
      } }),
    });
    await openExchange(through, ASKED, signal);
    assert.doesNotMatch(connections[0]?.sent ?? '', /authorization/i);
  });
});

describe('an answer', () => {
  it('has its body still to be read', async () => {
    const answer = await openExchange(transport([OK]).transport, ASKED, signal);
    assert.ok(answer.kind === 'answer');
    assert.equal(await text(answer.response), 'ok');
  });

  it('may be an error, which is one like any other', async () => {
    const { response } = await openExchange(
      transport(['HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n']).transport, ASKED, signal,
    );
    assert.equal(response.statusCode, 500);
  });

  it('hands the connection over, with the bytes that came behind the head', async () => {
    const { connections, transport: through } = transport([`${UPGRADED}first`]);
    const headers = { connection: 'Upgrade', upgrade: 'websocket' };
    const answer = await openExchange(through, { ...ASKED, headers }, signal);
    assert.ok(answer.kind === 'upgraded');
    assert.equal(answer.head.toString(), 'first');
    assert.equal(answer.socket, connections[0]);
  });

  for (const [what, renews, expected] of [['once', true, 200], ['not without new ones', false, 401]] as const) {
    it(`that refuses the credentials is asked for again ${what}`, async () => {
      const credentials = { renew: async () => renews };
      const { connections, transport: through } = transport([DENIED, OK], { credentials });
      const { response } = await openExchange(through, ASKED, signal);
      assert.equal(response.statusCode, expected);
      assert.equal(connections.length, renews ? 2 : 1);
      if (renews) assert.match(connections[1]?.sent ?? '', /authorization: Bearer token-2/);
    });
  }

  it('that refuses new credentials too is the answer', async () => {
    const { response } = await openExchange(
      transport([DENIED, DENIED, OK], { credentials: { renew: async () => true } }).transport, ASKED, signal,
    );
    assert.equal(response.statusCode, 401);
  });
});

describe('who gets no answer', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('is told what was asked, and of which server', async () => {
    const error = await failure(new Error('connect ECONNREFUSED'));
    assert.ok(error instanceof UnreachableError);
    assert.match(error.message, /GET \/api\/v1\/namespaces\/a\/pods\/b\/log: connect ECONNREFUSED/);
  });

  it('is told nothing of a network that a tenant has named', async () => {
    const error = await failure(new Error('connect ECONNREFUSED 10.0.0.7:22'), { limits: {} });
    assert.ok(error instanceof UnreachableError);
    assert.doesNotMatch(error.message, /10\.0\.0\.7|REFUSED/);
  });

  for (const [what, answer] of [
    ['is closed', ''], ['is closed within a head', 'HTTP/1.1 200 OK\r\ncontent'], ['brings no HTTP', 'SSH-2.0-x\r\n'],
  ] as const) it(`fails when the connection ${what}`, async () => {
    const { connections, transport: through } = transport([undefined]);
    const asked = openExchange(through, ASKED, signal);
    asked.catch(() => undefined);
    while (connections.length === 0) await nextTurn();
    await nextTurn();
    if (answer !== '') connections[0]?.push(answer);
    connections[0]?.push(null);
    await assert.rejects(asked, UnreachableError);
  });

  it('waits no longer for a head than it may take, and as long as it takes without a limit', async () => {
    const limited = transport([undefined]);
    const asked = openExchange(limited.transport, { ...ASKED, headersTimeoutMs: 1_000 }, signal);
    const unlimited = transport([undefined]);
    let isEnded = false;
    void openExchange(unlimited.transport, ASKED, signal).finally(() => (isEnded = true));
    await nextTurn();
    mock.timers.tick(1_000);
    await assert.rejects(asked, /no answer in time/);
    mock.timers.tick(3_600_000);
    await nextTurn();
    assert.equal(isEnded, false);
    unlimited.connections[0]?.push(OK);
    await nextTurn();
  });

  it('that gives up is told its own reason, and the connection is closed', async () => {
    const stop = new AbortController();
    const { connections, transport: through } = transport([undefined]);
    const asked = openExchange(through, ASKED, stop.signal);
    asked.catch(() => undefined);
    while (connections.length === 0) await nextTurn();
    stop.abort(new RangeError('the viewer has gone'));
    await assert.rejects(asked, RangeError);
    assert.equal(connections[0]?.destroyed, true);
  });

  it('closes what is being read when it gives up', async () => {
    const stop = new AbortController();
    const { connections, transport: through } = transport(['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n']);
    const { response } = await openExchange(through, ASKED, stop.signal);
    response.on('error', () => undefined);
    stop.abort();
    await nextTurn();
    assert.equal(connections[0]?.destroyed, true);
  });
});
