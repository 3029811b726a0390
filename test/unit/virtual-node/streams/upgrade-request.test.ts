// Upgrades of streams: what a target gets of a caller's request, and what a caller sees of an answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage } from 'node:http';
import { connect, Socket, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import {
  createResponse, responseHeaderText, upgradeHeaders,
} from '../../../../virtual-node/streams/upgrade-request.ts';

/** A parsed message with these headers, as Node has them. */
function aMessage(headers: readonly (readonly [name: string, value: string])[], status: object = {}): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.rawHeaders = headers.flat();
  const lower = headers.map(([name, value]) => [name.toLowerCase(), value] as const);
  const distinct = Object.fromEntries(lower.map(([name]) =>
    [name, lower.filter(([one]) => one === name).map(([, value]) => value)]));
  Object.defineProperty(message, 'headersDistinct', { value: distinct });
  return Object.assign(message, status);
}

describe('the headers of an upgrade that a target gets', () => {
  it('are those that both ends negotiate, with every value', () => {
    const request = aMessage([
      ['Connection', 'Upgrade'], ['Upgrade', 'SPDY/3.1'], ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
      ['X-Stream-Protocol-Version', 'v5.channel.k8s.io'], ['Sec-WebSocket-Key', 'abc'],
    ]);
    assert.deepEqual(upgradeHeaders(request), {
      connection: ['Upgrade'], upgrade: ['SPDY/3.1'], 'sec-websocket-key': ['abc'],
      'x-stream-protocol-version': ['v4.channel.k8s.io', 'v5.channel.k8s.io'],
    });
  });
  it('never are credentials or identities of the source, or what a proxy would act on', () => {
    const kept = upgradeHeaders(aMessage([
      ['Authorization', 'Bearer source-token'], ['Cookie', 'a=b'], ['Impersonate-User', 'admin'],
        ['Impersonate-Group', 'x'],
      ['X-Remote-User', 'admin'], ['X-Forwarded-For', '10.0.0.1'], ['Host', 'kubelet'], ['Content-Length', '5'],
      ['Transfer-Encoding', 'chunked'], ['Expect', '100-continue'], ['Upgrade', 'websocket'],
    ]));
    assert.deepEqual(Object.keys(kept), ['upgrade']);
  });
});

describe('the header of a response to an upgrade', () => {
  it('is that of the target, with every header as it was written, also when it repeats', () => {
    const text = responseHeaderText(aMessage(
      [['Upgrade', 'SPDY/3.1'], ['connection', 'Upgrade'], ['X-A', '1'], ['X-A', '2']],
      { statusCode: 101, statusMessage: 'Switching Protocols' },
    ));
    assert.equal(text,
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nconnection: Upgrade\r\nX-A: 1\r\nX-A: 2\r\n\r\n');
  });
});

describe('the refusal of an upgrade', () => {
  it('is an ordinary response, read whole by a caller that has sent data already, and ends the connection',
    async (t) => {
    const server = createServer();
    t.after(() => server.close());
    server.on('upgrade', (request, socket: Socket) =>
      void createResponse(request, socket).writeHead(403, { 'content-type': 'text/plain' }).end('no permission'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write('GET /exec HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    client.write(Buffer.alloc(256 << 10));
    const answer = await text(client);
    assert.match(answer, /^HTTP\/1\.1 403 Forbidden\r\n/);
    assert.match(answer, /connection: close/i);
    assert.match(answer, /no permission/);
  });
});
