import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { takeOneAtATime } from '../../../../process/servers/one-request.ts';

const REQUEST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

async function serverOf(t: TestContext, answer: (reply: ServerResponse) => void) {
  let asked = 0;
  const server = createServer((_message, reply) => {
    asked += 1;
    answer(reply);
  });
  takeOneAtATime(server);
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return { socket, asked: () => asked };
}

describe('a server that takes one request at a time', () => {
  it('looks at one of a thousand that come in a row, and ends the connection', { timeout: 10_000 }, async (t) => {
    const { socket, asked } = await serverOf(t, (reply) => void setImmediate(() => reply.end('here')));
    socket.write(REQUEST.repeat(1_000));
    socket.resume();
    await once(socket, 'close');
    assert.equal(asked(), 1);
  });

  it('also where the first of them was answered at once', { timeout: 10_000 }, async (t) => {
    const { socket, asked } = await serverOf(t, (reply) => void reply.writeHead(404, { connection: 'close' }).end());
    socket.write(REQUEST.repeat(1_000));
    socket.resume();
    await once(socket, 'close');
    assert.equal(asked(), 1);
  });

  it('answers all of a client that waits', { timeout: 10_000 }, async (t) => {
    const { socket, asked } = await serverOf(t, (reply) => void reply.end('here'));
    for (let count = 1; count <= 20; count += 1) {
      socket.write(REQUEST);
      await once(socket, 'data');
      assert.equal(asked(), count);
    }
    socket.destroy();
  });
});
