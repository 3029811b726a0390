// Whatever a stream carries or fails to carry, it holds a bounded part of it.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { request } from 'node:http';
import { spliceConnections, relayAnswer, type IdleLimits } from '../../../../virtual-node/streams/stream-relay.ts';

const LONG: IdleLimits = { idleMs: 60_000, lingerMs: 60_000 };
const NOTHING = Buffer.alloc(0);

/** Both ends of a connection. */
async function pair(allowHalfOpen = true): Promise<readonly [Socket, Socket]> {
  const server = createTcpServer({ allowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const one = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen });
  const [other] = (await once(server, 'connection')) as [Socket];
  server.close();
  for (const socket of [one, other]) socket.on('error', () => undefined);
  return [one, other];
}

async function joined(limits: IdleLimits = LONG, farMayBeHalfOpen = true) {
  const [[caller, near], [far, target]] = [await pair(), await pair(farMayBeHalfOpen)];
  const ended = spliceConnections({ socket: near, head: NOTHING }, { socket: far, head: NOTHING }, limits);
  return { caller, target, near, far, ended };
}

/** The other side has gone. */
const left = (socket: Socket): Promise<unknown> => once(socket.resume(), 'end');

describe('joined connections', () => {
  it('hold no more than their buffers while the reader stands still, and lose nothing when it goes on', async () => {
    const { caller, target, near, far, ended } = await joined();
    const size = 8 << 20;
    target.end(Buffer.alloc(size, 'x'));
    await once(far, 'pause'); // the buffers of the kernel are full
    assert.ok(near.writableLength <= 256 << 10, `${near.writableLength} bytes wait`);
    assert.ok(far.readableLength <= 256 << 10);
    let read = 0;
    caller.on('data', (data: Buffer) => (read += data.length));
    await once(caller, 'end');
    assert.equal(read, size);
    caller.end();
    await ended;
  });

  it('end both when one breaks', async () => {
    const { caller, target, ended } = await joined();
    const gone = left(target);
    caller.resetAndDestroy();
    await Promise.all([gone, ended]);
  });

  it('deliver what was said before an end', async () => {
    const { caller, target, ended } = await joined();
    target.end('the exit code');
    let said = '';
    caller.on('data', (data: Buffer) => (said += data.toString()));
    await once(caller, 'end');
    assert.equal(said, 'the exit code');
    caller.end();
    await ended;
  });

  it('are ended when nothing moves for too long', async () => {
    const { caller, target, ended } = await joined({ idleMs: 40, lingerMs: 60_000 });
    await Promise.all([left(caller), left(target), ended]);
  });

  it('wait for a reader who has not taken all that was said before an end, as long as for any other', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const now = t.mock.method(performance, 'now', () => 1_000);
    let take: () => void = () => undefined;
    const near = new Duplex(
      { read: () => undefined, write: (_chunk, _encoding, taken) => void (take = taken), autoDestroy: true },
    );
    const far = new Duplex({ read: () => undefined, write: (_chunk, _encoding, taken) => taken() });
    const ended = spliceConnections(
      { socket: near, head: NOTHING }, { socket: far, head: NOTHING }, { idleMs: 60_000, lingerMs: 40 },
    );
    take(); // the head
    far.push('the exit code');
    far.push(null);
    await once(far, 'end');
    now.mock.mockImplementation(() => 31_000);
    t.mock.timers.tick(30_000);
    assert.equal(near.destroyed, false);
    take();
    near.push(null);
    await ended;
    assert.equal(near.writableFinished, true);
  });

  for (const [who, gone] of [['the caller', 0], ['the target', 1]] as const) {
    it(`are over at once when ${who} had gone before they were joined`, async () => {
      const [[caller, near], [far, target]] = [await pair(), await pair()];
      const left = [near, far][gone]!;
      left.destroy();
      await once(left, 'close');
      await spliceConnections({ socket: near, head: NOTHING }, { socket: far, head: NOTHING }, LONG);
      for (const socket of [caller, target]) socket.destroy();
    });
  }

  it('are over when the caller leaves too, whatever it said after the target had gone', async () => {
    const { caller, target, far, ended } = await joined(LONG, false); // as connections to API servers are
    target.end();
    await once(far, 'close');
    caller.end('are you there?');
    await ended;
  });

  it('are over some time after the caller has left, whatever the target goes on to say', async () => {
    const { caller, target, near, ended } = await joined({ idleMs: 60_000, lingerMs: 40 });
    caller.end();
    await once(near, 'end');
    caller.destroy();
    const saying = setInterval(() => target.write('still here'), 5);
    await ended.finally(() => clearInterval(saying));
  });

  it('are ended when one side has said that it is done, and the other one never does', async () => {
    const { caller, target, ended } = await joined({ idleMs: 60_000, lingerMs: 40 });
    target.end();
    await Promise.all([left(caller), ended]);
  });
});

describe('a log', () => {
  /** A server that relays what `source` answers. */
  async function relaying(source: Server, limits: IdleLimits): Promise<Server> {
    await once(source.listen(0, '127.0.0.1'), 'listening');
    const relay = createServer((_request, reply) => {
      request(
        { port: (source.address() as AddressInfo).port, host: '127.0.0.1', agent: false },
        (answer) => void relayAnswer(answer, reply, limits),
      ).end();
    });
    await once(relay.listen(0, '127.0.0.1'), 'listening');
    return relay;
  }

  const ask = async (relay: Server) => (await once(
    request({ port: (relay.address() as AddressInfo).port, host: '127.0.0.1', agent: false }).end(), 'response',
  ))[0];

  function endAll(...servers: Server[]): void {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  it('with a line of 16 MB passes through in pieces (100 MB: npm run soak -- streams)', async () => {
    const piece = Buffer.alloc(1 << 20, 'x');
    const source = createServer((_request, reply) => {
      let left = 16;
      const more = () => {
        while (left > 0) if (((left -= 1), !reply.write(piece))) return void reply.once('drain', more);
        reply.end('\n');
      };
      more();
    });
    const relay = await relaying(source, LONG);
    const answer = await ask(relay);
    let [read, most] = [0, 0];
    for await (const chunk of answer) {
      read += (chunk as Buffer).length;
      most = Math.max(most, (chunk as Buffer).length);
    }
    assert.equal(read, (16 << 20) + 1);
    assert.ok(most <= 1 << 20);
    endAll(relay, source);
  });

  it('whose reader takes nothing for too long is ended; one that is silent is not', async () => {
    const ends = new EventEmitter();
    const source = createServer((_request, reply) => {
      reply.flushHeaders();
      reply.write(Buffer.alloc(16 << 20, 'x'));
      reply.once('close', () => ends.emit('given up'));
    });
    const relay = await relaying(source, { idleMs: 40, lingerMs: 40 });
    const stalled = await ask(relay);
    stalled.on('error', () => undefined);
    await once(ends, 'given up');
    stalled.resume();
    if (!stalled.closed) await new Promise((resolve) => stalled.once('close', resolve));
    assert.equal(stalled.complete, false);

    const quiet = createServer((_request, reply) => {
      reply.flushHeaders();
      setTimeout(() => reply.end('late'), 150);
    });
    const patient = await relaying(quiet, { idleMs: 20, lingerMs: 20 });
    const late = await ask(patient);
    assert.equal(String((await once(late, 'data'))[0]), 'late');
    endAll(relay, source, patient, quiet);
  });
});
