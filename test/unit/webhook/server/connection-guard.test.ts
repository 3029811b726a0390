// What the first line of a connection decides: a review for the server behind, an answer to anybody, or nothing.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:net';
import { duplexPair, type Duplex } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { AdmissionMetrics } from '../../../../webhook/server/admission-metrics.ts';
import { guardConnections, type PublicAnswer } from '../../../../webhook/server/connection-guard.ts';
import { HANDSHAKE_LIMITS } from '../../../../webhook/server/tls-server.ts';

const OURS = 'a'.repeat(48);
const REVIEW = `/${OURS}/mutate--v1-pod`;

interface Front {
  /** Sends bytes on a new connection: what is answered, or `passed` where the server behind gets them. */
  readonly say: (bytes: string | Buffer) => Promise<string>;
  readonly metrics: AdmissionMetrics;
}

function frontOf(t: TestContext, answer: (path: string) => Promise<PublicAnswer>, open = [OURS]): Front {
  const server = new EventEmitter();
  t.after(() => server.emit('close'));
  const behind: Duplex[] = [];
  server.on('secureConnection', (socket: Duplex) => {
    behind.push(socket);
    socket.end('passed');
  });
  const metrics = new AdmissionMetrics();
  const options = { limits: HANDSHAKE_LIMITS, open: () => open, answer, knowsClients: false, metrics };
  guardConnections(server as unknown as Server, options);
  return {
    metrics,
    say: async (bytes) => {
      const [near, far] = duplexPair();
      server.emit('secureConnection', far);
      let said = '';
      near.setEncoding('utf8').on('data', (part: string) => { said += part; });
      near.write(bytes);
      await Promise.race([once(near, 'end'), once(far, 'close')]);
      return said;
    },
  };
}

const answering = async (path: string): Promise<PublicAnswer> =>
  ({ status: 200, type: 'text/plain', text: `é ${path}` });
const causesOf = async ({ metrics }: Front): Promise<number> => {
  const text = await metrics.registry.metrics();
  const [, count = '0'] = /requests_rejected_total\{cause="no-path"\} (\d+)/.exec(text) ?? [];
  return Number(count);
};

describe('a connection goes to the server behind', { timeout: 20_000 }, () => {
  const lines: Readonly<Record<string, string>> = {
    'for a review, as API servers ask': `POST ${REVIEW}?timeout=5s HTTP/1.1`,
    'for a review without a query': `POST ${REVIEW} HTTP/1.1`,
    'for a review by an old proxy': `POST ${REVIEW} HTTP/1.0`,
    'for a review of targets': `POST /${OURS}/validate--targets HTTP/1.1`,
    'with whatever a query holds': `POST ${REVIEW}?/readyz HTTP/1.1`,
  };
  for (const [what, line] of Object.entries(lines)) {
    it(what, async (t) => {
      const front = frontOf(t, answering);
      assert.equal(await front.say(`${line}\r\nhost: x\r\n\r\n`), 'passed');
      assert.equal(await causesOf(front), 0);
    });
  }
  it('on a plain path while that is open, and not when it is closed', async (t) => {
    const line = 'POST /mutate--v1-pod HTTP/1.1\r\n\r\n';
    assert.equal(await frontOf(t, answering, [OURS, '']).say(line), 'passed');
    assert.match(await frontOf(t, answering).say(line), /^HTTP\/1\.1 404 /);
  });
});

describe('a connection ends with 404, and nothing more of it is read', { timeout: 20_000 }, () => {
  const lines: Readonly<Record<string, string>> = {
    'on another path': `POST /${OURS}/mutate HTTP/1.1`,
    'on a path below ours': `POST ${REVIEW}/ HTTP/1.1`,
    'on our path written otherwise': `POST /${OURS}//mutate--v1-pod HTTP/1.1`,
    'on our path in percent signs': `POST /${OURS}/mutate%2D%2Dv1-pod HTTP/1.1`,
    'on a path that leads up': `POST /x/../${OURS}/mutate--v1-pod HTTP/1.1`,
    'behind another segment': `POST /${'b'.repeat(48)}/mutate--v1-pod HTTP/1.1`,
    'behind our segment in capitals': `POST ${REVIEW.toUpperCase()} HTTP/1.1`,
    'with another method': `GET ${REVIEW} HTTP/1.1`,
    'with a method in small letters': `post ${REVIEW} HTTP/1.1`,
    'as a proxy is asked': `POST https://webhook${REVIEW} HTTP/1.1`,
    'as a tunnel': 'CONNECT webhook:443 HTTP/1.1',
    'in HTTP/2 without negotiation': 'PRI * HTTP/2.0',
    'in a version that there is not': `POST ${REVIEW} HTTP/1.2`,
    'with two spaces': `POST  ${REVIEW} HTTP/1.1`,
    'with a tab': `POST\t${REVIEW} HTTP/1.1`,
    'in HTTP/0.9': `POST ${REVIEW}`,
    'with an empty line': '',
    'to write what is public': 'POST /readyz HTTP/1.1',
    'for the head of what is public': 'HEAD /readyz HTTP/1.1',
    'for what is public, with a query': 'GET /readyz?verbose HTTP/1.1',
    'below what is public': 'GET /metrics/ HTTP/1.1',
  };
  for (const [what, line] of Object.entries(lines)) {
    it(what, async (t) => {
      const front = frontOf(t, () => assert.fail('nobody asks for what is public'));
      const said = await front.say(`${line}\r\n\r\n`);
      assert.match(said, /^HTTP\/1\.1 404 Not Found\r\n[\s\S]*connection: close\r\n/);
      assert.match(said, /\r\n\r\n\{"message":"there is nothing here"\}$/);
      assert.equal(await causesOf(front), 1);
    });
  }
  it('with bytes that are no text', async (t) => {
    const bytes = Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0xff, 0x00]), Buffer.from('\n')]);
    assert.match(await frontOf(t, answering).say(bytes), /^HTTP\/1\.1 404 /);
  });
});

describe('what is public', { timeout: 20_000 }, () => {
  for (const path of ['/readyz', '/metrics']) {
    it(`${path} is answered with its length in bytes, and is no wrong path`, async (t) => {
      const front = frontOf(t, answering);
      const body = `é ${path}`;
      assert.equal(await front.say(`GET ${path} HTTP/1.1\r\n\r\n`),
        'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
          + `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
      assert.equal(await causesOf(front), 0);
    });
  }
  it('says with its status that the webhook is not ready', async (t) => {
    const front = frontOf(t, async () => ({ status: 503, type: 'text/plain', text: 'not ready' }));
    assert.match(await front.say('GET /readyz HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  });
  it('that cannot be told ends the connection, and not the process', async (t) => {
    const front = frontOf(t, () => Promise.reject(new Error('a metric fails')));
    assert.equal(await front.say('GET /metrics HTTP/1.1\r\n\r\n'), '');
  });
});
