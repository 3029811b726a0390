import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { TcpRelay } from '../../support/network/tcp-relay.ts';

describe('a relay that can become a black hole', () => {
  let echo: Server;
  let relay: TcpRelay;
  before(async () => {
    echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(0, '127.0.0.1');
    await once(echo, 'listening');
    relay = await TcpRelay.start((echo.address() as AddressInfo).port);
  });
  after(async () => {
    await relay.stop();
    echo.close();
  });

  async function open(): Promise<Socket> {
    const socket = connect(relay.port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }

  async function echoed(socket: Socket, text: string): Promise<string> {
    socket.write(text);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    return chunk.toString('utf8');
  }

  it('hands bytes on in both directions', async () => {
    const socket = await open();
    assert.equal(await echoed(socket, 'one'), 'one');
    socket.destroy();
  });

  it('swallows bytes without ending a connection, and breaks what was open when it heals', async () => {
    const socket = await open();
    await echoed(socket, 'before');
    const heard: string[] = [];
    socket.on('data', (chunk: Buffer) => heard.push(chunk.toString('utf8')));
    relay.blackHole();
    socket.write('lost');
    const late = await open();
    late.write('lost, too');
    const broken = [once(socket, 'error'), once(late, 'error')];
    relay.heal();
    await Promise.all(broken);
    assert.deepEqual(heard, []);
    const fresh = await open();
    assert.equal(await echoed(fresh, 'again'), 'again');
    fresh.destroy();
  });
});
