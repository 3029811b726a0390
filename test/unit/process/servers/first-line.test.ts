import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { describe, it, type TestContext } from 'node:test';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { readFirstLines } from '../../../../process/servers/first-line.ts';

const REQUEST = 'POST /good HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody';

/** A server that answers with the body, and lets in what asks for `/good`. */
async function serverOf(t: TestContext) {
  const authority = await createAuthority('ca', 1, new Date());
  const { certificate, key } =
    await authority.issue({ commonName: 's', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  const server = createServer({ cert: certificate, key }, (message, reply) => void message.pipe(reply));
  const lines: string[] = [];
  readFirstLines(server, (line, socket) => {
    lines.push(line);
    if (line.includes('/good')) return true;
    socket.end('no', () => socket.destroy());
    return false;
  });
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => { server.closeAllConnections(); server.close(); });
  const open = async (): Promise<TLSSocket> => {
    const socket =
      connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    t.after(() => socket.destroy());
    return socket;
  };
  return { open, lines };
}

/** What comes until `until` is in it, or the connection ends. */
async function heard(socket: TLSSocket, until: string): Promise<string> {
  let text = '';
  for await (const chunk of socket.setEncoding('latin1')) {
    text += String(chunk);
    if (text.includes(until)) break;
  }
  return text;
}

describe('the first line of a connection', { timeout: 20_000 }, () => {
  it('is shown without its end, and the server reads the connection from its beginning', async (t) => {
    const { open, lines } = await serverOf(t);
    const socket = await open();
    socket.write(REQUEST);
    assert.match(await heard(socket, 'body'), /^HTTP\/1\.1 200 [\s\S]*body/);
    assert.deepEqual(lines, ['POST /good HTTP/1.1']);
  });

  it('may come in pieces, and its end before anything else', async (t) => {
    const { open, lines } = await serverOf(t);
    const socket = await open();
    for (const piece of ['PO', 'ST /good HTTP/1.1\r', '\n', 'host: x\r\ncontent-length: 4\r\n\r\n', 'body']) {
      await new Promise<void>((resolve) => { socket.write(piece, () => setImmediate(resolve)); });
    }
    assert.match(await heard(socket, 'body'), /200 [\s\S]*body/);
    assert.deepEqual(lines, ['POST /good HTTP/1.1']);
  });

  it('is looked at once: what comes later on the connection is the server\'s', async (t) => {
    const { open, lines } = await serverOf(t);
    const socket = await open();
    for (const turn of [1, 2, 3]) {
      socket.write(turn === 1 ? REQUEST : REQUEST.replace('/good', '/other'));
      let answer = '';
      while (!answer.includes('body')) answer += String(((await once(socket, 'data')) as [Buffer])[0]);
      assert.match(answer, / 200 /);
    }
    assert.equal(lines.length, 1);
  });

  it('ends the connection where the server is not to read it', async (t) => {
    const { open, lines } = await serverOf(t);
    const socket = await open();
    socket.write('GET /bad HTTP/1.1\r\n\r\n'.repeat(1_000));
    assert.equal(await heard(socket, 'never'), 'no');
    assert.deepEqual(lines, ['GET /bad HTTP/1.1']);
  });

  it('ends the connection where it does not end', async (t) => {
    const { open, lines } = await serverOf(t);
    const socket = await open();
    socket.write(`GET /good${'x'.repeat(20_000)}`);
    socket.resume();
    await once(socket, 'close');
    assert.deepEqual(lines, []);
  });
});
