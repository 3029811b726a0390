import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  connect, performServerHandshake, type ClientHttp2Session, type ServerHttp2Session, type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { SessionEnd } from '../../../../gateway/tunnel/session-end.ts';

interface Pair {
  readonly client: ClientHttp2Session;
  readonly server: ServerHttp2Session;
  readonly end: SessionEnd;
}

/** Two ends of a connection; the server's end is watched. */
async function pair(): Promise<Pair> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const socket = connectTcp((listener.address() as AddressInfo).port, '127.0.0.1');
  const [accepted] = (await once(listener, 'connection')) as [Socket];
  listener.close();
  const server = performServerHandshake(accepted);
  const client = connect('http://peer', { createConnection: () => socket });
  for (const session of [client, server]) session.on('error', () => undefined);
  return { client, server, end: new SessionEnd(server) };
}

/** A stream of the client, open at both ends. */
async function openStream({ client, server, end }: Pair) {
  const taken = once(server, 'stream') as Promise<[ServerHttp2Stream]>;
  const near = client.request({ ':method': 'CONNECT', ':authority': 'api:443' });
  near.on('error', () => undefined);
  const [far] = await taken;
  end.count(far.on('error', () => undefined));
  far.respond({ ':status': 200 });
  await once(near, 'response');
  return { near, far };
}

describe('SessionEnd', () => {
  it('destroys nothing while the GOAWAY of a peer is read that tells of an error', async () => {
    const both = await pair();
    const { far } = await openStream(both);
    const ended = new Promise((resolve) => both.server.once('close', resolve));
    // Node destroys the session after these listeners, in the same frame: what is due next finds it unharmed.
    const found = new Promise((resolve) => both.server.once('goaway', () => process.nextTick(
      () => resolve([both.server.destroyed, far.destroyed]),
    )));
    both.client.goaway(2);
    assert.deepEqual(await found, [false, false]);
    await ended;
    assert.deepEqual([both.server.destroyed, far.destroyed], [true, true]);
    both.client.destroy();
  });

  it('never closes a session with open streams: Node would reset new ones while their frame is read', async () => {
    const both = await pair();
    const { near, far } = await openStream(both);
    both.end.finish();
    await once(both.client, 'goaway');
    assert.deepEqual([both.end.isFinishing, both.server.closed, both.server.destroyed], [true, false, false]);
    const ended = once(both.server, 'close');
    far.end('the last words');
    near.end();
    let words = '';
    for await (const chunk of near) words += String(chunk);
    assert.equal(words, 'the last words');
    await ended;
    assert.equal(both.server.closed, true);
  });

  it('goes on with open streams after the peer said that it ends, and ends with the last', async () => {
    const both = await pair();
    const { near, far } = await openStream(both);
    far.resume().on('end', () => far.end());
    const ended = Promise.all([once(both.server, 'close'), once(both.client, 'close')]);
    both.client.close();
    await once(both.server, 'goaway');
    near.end('the last words');
    near.resume();
    await ended;
    assert.equal(near.rstCode, 0);
  });
});
