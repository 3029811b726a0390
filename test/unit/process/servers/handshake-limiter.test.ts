// The limiter in front of a server that is none: which connections get through, in which order, and which are dropped.
// Time is given.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { HandshakeLimiter, type HandshakeLimits } from '../../../../process/servers/handshake-limiter.ts';

const LIMITS: HandshakeLimits = {
  stranger: { burst: 2, perSecond: 1, open: 4 },
  known: { burst: 10, perSecond: 10, open: 20 },
  strangers: { burst: 100, perSecond: 100, open: 6 },
  timeoutMs: 10_000,
  rememberMs: 60_000,
};

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  isDropped = false;

  constructor(address: string, port: number) {
    super();
    this.remoteAddress = address;
    this.remotePort = port;
  }

  resetAndDestroy(): void {
    this.isDropped = true;
    this.emit('close');
  }
}

function limiterOf(t: TestContext, limits: HandshakeLimits = LIMITS) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const server = new EventEmitter();
  const passed: string[] = [];
  server.on('connection', ({ remoteAddress, remotePort }: FakeSocket) => passed.push(`${remoteAddress}:${remotePort}`));
  let [now, dropped, port] = [1_000_000, 0, 0];
  const limiter = new HandshakeLimiter(server as Server, limits, () => (dropped += 1), () => now);
  return {
    limiter,
    passed,
    dropped: () => dropped,
    /** So many connections of an address, one after the other. */
    connect: (address: string, count = 1): readonly FakeSocket[] => Array.from({ length: count }, () => {
      const socket = new FakeSocket(address, (port += 1));
      server.emit('connection', socket);
      return socket;
    }),
    know: (socket: FakeSocket | undefined) => limiter.know(socket as unknown as Socket),
    wait: (ms: number) => {
      now += ms;
      t.mock.timers.tick(ms);
    },
    of: (address: string) => passed.filter((name) => name.startsWith(`${address}:`)).length,
  };
}

describe('the handshake limiter', () => {
  it('lets an address begin its burst at once, and the rest one by one as time goes by', (t) => {
    const world = limiterOf(t);
    world.connect('10.0.0.1', 4);
    assert.equal(world.of('10.0.0.1'), 2);
    world.wait(1_000);
    assert.equal(world.of('10.0.0.1'), 3);
    world.wait(1_000);
    assert.deepEqual([world.of('10.0.0.1'), world.dropped()], [4, 0]);
  });

  it('drops what one address has open beyond its limit, and nobody else notices', (t) => {
    const world = limiterOf(t);
    const sockets = world.connect('10.0.0.1', 9);
    assert.deepEqual([world.dropped(), sockets.filter(({ isDropped }) => isDropped).length], [5, 5]);
    world.connect('10.0.0.2', 2);
    assert.deepEqual([world.of('10.0.0.2'), world.dropped()], [2, 5]);
  });

  it('lets all go on at once that wait, as soon as one of their address has shown that it is known', (t) => {
    const world = limiterOf(t);
    const [first] = world.connect('10.0.0.1', 4);
    world.know(first);
    assert.equal(world.of('10.0.0.1'), 4);
    world.connect('10.0.0.1', 8);
    assert.equal(world.of('10.0.0.1'), 10 + 2, 'two before it was known, and then the burst of those who are');
    assert.equal(world.dropped(), 0);
  });

  it('gives a known address a limit, too: somebody else may share it', (t) => {
    const world = limiterOf(t);
    world.know(world.connect('10.0.0.1')[0]);
    world.connect('10.0.0.1', 30);
    assert.deepEqual([world.of('10.0.0.1'), world.dropped()], [11, 10]);
  });

  it('forgets in the end who was known', (t) => {
    const world = limiterOf(t);
    world.know(world.connect('10.0.0.1')[0]);
    world.wait(60_000);
    world.connect('10.0.0.1', 4);
    assert.equal(world.of('10.0.0.1'), 3);
  });

  it('gives the place of the address that has most of them to one that comes later', (t) => {
    const world = limiterOf(t);
    const many = world.connect('10.0.0.1', 4);
    world.connect('10.0.0.2', 2);
    world.connect('10.0.0.3');
    assert.deepEqual([world.of('10.0.0.3'), many[0]?.isDropped, world.dropped()], [1, true, 1]);
  });

  it('shares what all strangers may begin one by one among addresses', (t) => {
    const world = limiterOf(t, {
      ...LIMITS, stranger: { burst: 100, perSecond: 100, open: 100 },
      strangers: { burst: 10, perSecond: 10, open: 1_000 },
    });
    world.connect('10.0.0.1', 50);
    world.connect('10.0.0.2', 50);
    assert.deepEqual([world.of('10.0.0.1'), world.of('10.0.0.2')], [10, 0]);
    for (let round = 0; round < 100; round += 1) world.wait(20);
    assert.deepEqual([world.of('10.0.0.1'), world.of('10.0.0.2')], [20, 10]);
  });

  it("ends a stranger's connection after a while, and none of a known address", (t) => {
    const world = limiterOf(t);
    const [stranger] = world.connect('10.0.0.1');
    const [asks, spare] = world.connect('10.0.0.2', 2);
    world.know(asks);
    world.wait(11_000);
    assert.deepEqual([stranger, asks, spare].map((socket) => socket?.isDropped), [true, false, false]);
  });

  it('does not serve later who has gone while waiting, and has room again', (t) => {
    const world = limiterOf(t);
    const [, , waiting] = world.connect('10.0.0.1', 4);
    waiting?.emit('close');
    world.wait(1_000);
    assert.ok(!world.passed.includes(`10.0.0.1:${waiting?.remotePort}`));
    assert.equal(world.of('10.0.0.1'), 3);
    world.connect('10.0.0.1');
    assert.equal(world.dropped(), 0);
  });
});
