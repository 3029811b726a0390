// How signals become one AbortSignal, and in which order things are stopped.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import { aborted, beforeExit, interruptedExitCode, sameWishMs, Shutdown, untilStopped, type SignalSource } from '../../../process/lifecycle.ts';

class FakeProcess extends EventEmitter implements SignalSource {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

describe('untilStopped', () => {
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
    time += sameWishMs - 1;
    source.emit('SIGINT');
    assert.deepEqual(source.exits, []);
  });

  it('ends the process when the user insists', () => {
    const source = new FakeProcess();
    let time = 100;
    untilStopped(source, () => time);
    source.emit('SIGTERM');
    time += sameWishMs;
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

const recorder = (): { readonly order: string[]; readonly shutdown: Shutdown } => ({ order: [], shutdown: new Shutdown() });

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
    assert.deepEqual(order, ['third begins', 'third ended', 'second begins', 'second ended', 'first begins', 'first ended']);
  });

  it('stops the others when one fails, and names the one', async () => {
    const { order, shutdown } = recorder();
    shutdown.add({ name: 'server', stop: async () => void order.push('server') });
    shutdown.add({ name: 'queue', stop: () => Promise.reject(new Error('stuck')) });
    await assert.rejects(shutdown.run(), /queue: stuck/);
    assert.deepEqual(order, ['server']);
  });

  it('stops everything once, however often it is asked to', async () => {
    const { order, shutdown } = recorder();
    shutdown.add({ name: 'server', stop: async () => void order.push('server') });
    await Promise.all([shutdown.run(), shutdown.run()]);
    await shutdown.run();
    assert.deepEqual(order, ['server']);
  });
});
