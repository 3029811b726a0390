// How signals become one AbortSignal, and in which order things are stopped.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it, mock } from 'node:test';
import {
  aborted, beforeExit, interruptedExitCode, runService, repeatedSignalMs, Shutdown, shutdownMs, untilStopped,
  type RunningService, type SignalSource,
} from '../../../process/lifecycle.ts';

class FakeProcess extends EventEmitter implements SignalSource {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

describe('untilStopped', () => {
  it('listens once for the end of a reader, and tells all commands of the process', () => {
    const stdout = new EventEmitter();
    const signals = [1, 2, 3].map(() => untilStopped(Object.assign(new FakeProcess(), { stdout })));
    assert.equal(stdout.listenerCount('error'), 1);
    stdout.emit('error', new Error('EPIPE'));
    assert.deepEqual(signals.map(({ reason }: AbortSignal): unknown => reason), ['SIGPIPE', 'SIGPIPE', 'SIGPIPE']);
  });
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    it(`aborts at the first ${name}, with its name as reason`, () => {
      const source = new FakeProcess();
      const signal = untilStopped(source);
      assert.equal(signal.aborted, false);
      source.emit(name);
      assert.equal(signal.reason, name);
      assert.deepEqual(source.exits, []);
    });
  }

  it('takes the same signal, sent on by a parent at once, for the same wish', () => {
    const source = new FakeProcess();
    let time = 100;
    untilStopped(source, () => time);
    source.emit('SIGINT');
    time += repeatedSignalMs - 1;
    source.emit('SIGINT');
    assert.deepEqual(source.exits, []);
  });

  it('ends the process when the user insists', () => {
    const source = new FakeProcess();
    let time = 100;
    untilStopped(source, () => time);
    source.emit('SIGTERM');
    time += repeatedSignalMs;
    source.emit('SIGINT');
    assert.deepEqual(source.exits, [interruptedExitCode]);
  });
});

describe('beforeExit', () => {
  it('runs at the exit unless it was taken back', () => {
    const source = new FakeProcess();
    const ran: string[] = [];
    beforeExit(() => ran.push('kept'), source);
    beforeExit(() => ran.push('taken back'), source)();
    source.emit('exit');
    assert.deepEqual(ran, ['kept']);
  });
});

describe('aborted', () => {
  it('resolves for a signal that has aborted before', () => aborted(AbortSignal.abort()));

  it('resolves when the signal aborts', async () => {
    const controller = new AbortController();
    const waiting = aborted(controller.signal);
    controller.abort();
    await waiting;
  });
});

const recorder = (): { readonly order: string[]; readonly shutdown: Shutdown } =>
  ({ order: [], shutdown: new Shutdown() });

describe('Shutdown', () => {
  it('stops in the reverse order, one after the other', async () => {
    const { order, shutdown } = recorder();
    for (const name of ['first', 'second', 'third']) {
      shutdown.add({
        name,
        stop: async () => {
          order.push(`${name} begins`);
          await Promise.resolve();
          order.push(`${name} ended`);
        },
      });
    }
    await shutdown.run();
    assert.deepEqual(
      order, ['third begins', 'third ended', 'second begins', 'second ended', 'first begins', 'first ended'],
    );
  });

  it('stops the others when one fails, and names the one', async () => {
    const { order, shutdown } = recorder();
    shutdown.add({ name: 'server', stop: async () => void order.push('server') });
    shutdown.add({ name: 'queue', stop: () => Promise.reject(new Error('stuck')) });
    await assert.rejects(shutdown.run(), /queue: stuck/);
    assert.deepEqual(order, ['server']);
  });

  it('stops what a step has added as well', async () => {
    const { order, shutdown } = recorder();
    shutdown.add({
      name: 'start',
      stop: async () => shutdown.add({ name: 'server', stop: async () => void order.push('server') }),
    });
    await shutdown.run();
    assert.deepEqual(order, ['server']);
    assert.equal(shutdown.isLate, false);
  });

  it('begins the others and names the one when one does not end in time', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const order: string[] = [];
      const shutdown = new Shutdown(25_000);
      shutdown.add({ name: 'server', stop: async () => void order.push('server') });
      shutdown.add({ name: 'queue', stop: () => new Promise(() => undefined) });
      const ended = shutdown.run();
      mock.timers.tick(24_999);
      await new Promise(setImmediate);
      assert.deepEqual([order, shutdown.isLate], [[], false]);
      mock.timers.tick(1);
      await assert.rejects(ended, { message: /^Stopping failed: queue: has not ended 25 s after .* asked to stop/ });
      assert.deepEqual([order, shutdown.isLate], [['server'], true]);
    } finally {
      mock.timers.reset();
    }
  });

  it('stops everything once, however often it is asked to', async () => {
    const { order, shutdown } = recorder();
    shutdown.add({ name: 'server', stop: async () => void order.push('server') });
    await Promise.all([shutdown.run(), shutdown.run()]);
    await shutdown.run();
    assert.deepEqual(order, ['server']);
  });
});

describe('shutdownMs', () => {
  for (const [drainMs, wanted] of [[0, 25_000], [10_000, 25_000], [20_000, 35_000]] as const) {
    it(`is ${wanted} ms with ${drainMs} ms of draining`, () => assert.equal(shutdownMs(drainMs), wanted));
  }
});

describe('runService', () => {
  const failure = new Error('the port is taken');

  /** A service that follows something until its signal aborts, and is waited for at the end. */
  const follower = (then: (service: RunningService) => Promise<void> | void, order: string[] = []) =>
    async (service: RunningService) => {
    const following = aborted(service.signal).then(() => void order.push('followed to the end'));
    service.shutdown.add({ name: 'follower', stop: () => following });
    await then(service);
  };

  it('goes on until it is asked to end, then stops what was started', async () => {
    const asked = new AbortController();
    const order: string[] = [];
    const ended = runService(asked.signal, follower(() => void order.push('started'), order));
    await new Promise(setImmediate);
    assert.deepEqual(order, ['started']);
    asked.abort('SIGTERM');
    await ended;
    assert.deepEqual(order, ['started', 'followed to the end']);
  });

  it('ends, and says why, when it fails to start half-way', async () => {
    const order: string[] = [];
    await assert.rejects(
      runService(new AbortController().signal, follower(() => Promise.reject(failure), order)), failure,
    );
    assert.deepEqual(order, ['followed to the end']);
  });

  it('ends, and says why, when it cannot go on', async () => {
    await assert.rejects(runService(new AbortController().signal, follower(({ fail }) => {
      setImmediate(() => fail(failure));
    })), failure);
  });

  it('says why it failed also when stopping fails, and what stopping failed with otherwise', async () => {
    const stuck = async ({ shutdown }: RunningService) =>
      shutdown.add({ name: 'stuck', stop: () => Promise.reject(new Error('no')) });
    await assert.rejects(runService(AbortSignal.abort('SIGTERM'), stuck), /Stopping failed: stuck: no/);
    await assert.rejects(runService(new AbortController().signal, async (service) => {
      await stuck(service);
      throw failure;
    }), failure);
  });

  it('says nothing of what fails because it was asked to end', async () => {
    const asked = new AbortController();
    await runService(asked.signal, follower(async ({ signal, fail }) => {
      asked.abort('SIGTERM');
      await aborted(signal);
      fail(failure);
      signal.throwIfAborted();
    }));
  });

  it('is not even started further when it was asked to end before', async () => {
    await runService(AbortSignal.abort('SIGINT'), follower(async ({ signal }) => {
      await aborted(signal);
      signal.throwIfAborted();
    }));
  });

  /** A service that is asked to end at once, with what it does at the start; the codes of its exits. */
  const endedAtOnce = (start: (service: RunningService) => Promise<void>) => {
    const exits: number[] = [];
    const ended = runService(AbortSignal.abort('SIGTERM'), start, {
      timeoutMs: 25_000, exit: (code) => exits.push(code),
    });
    return { ended, exits };
  };
  const never = (): Promise<void> => new Promise(() => undefined);

  for (const [what, start, message] of [
    ['a step', async ({ shutdown }: RunningService) => shutdown.add({ name: 'queue', stop: never }), /queue: has not/],
    ['its start', never, /start: has not ended/],
  ] as const) {
    it(`says so and exits soon after when ${what} does not end in time`, async () => {
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const { ended, exits } = endedAtOnce(start);
        await new Promise(setImmediate);
        mock.timers.tick(25_000);
        await assert.rejects(ended, message);
        assert.deepEqual(exits, []);
        mock.timers.tick(1_000);
        assert.deepEqual(exits, [1]);
      } finally {
        mock.timers.reset();
      }
    });
  }

  it('exits by itself when everything has stopped', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { ended, exits } = endedAtOnce(follower(() => undefined));
      await ended;
      mock.timers.tick(60_000);
      assert.deepEqual(exits, []);
    } finally {
      mock.timers.reset();
    }
  });
});
