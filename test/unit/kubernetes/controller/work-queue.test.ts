// All in virtual time: the clock moves only by `pass`, and work ends only when a test says so.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { FairQueue } from '../../../../kubernetes/flow/fair-queue.ts';
import { WorkQueue } from '../../../../kubernetes/controller/work-queue.ts';
import type { QueueMetrics } from '../../../../process/metrics.ts';
import { beginTurn } from '../../../support/processes/begun-turn.ts';

/** Resolves when what has ended has made room, and what has its place then has had its turn of the event loop. */
async function settled(): Promise<void> {
  await nextTurn();
  await nextTurn();
}

/** A queue whose work the test ends by hand. Chance is at its least. */
class Harness {
  readonly queue: WorkQueue;
  readonly stop = new AbortController();
  /** Keys in the order in which their runs started. */
  readonly started: string[] = [];
  readonly #t: TestContext;
  readonly #running: { readonly key: string; readonly resolve: () => void; readonly reject: (error: Error) => void }[] =
    [];
  #now = 1_000;

  constructor(t: TestContext, concurrency = 2, observer?: QueueMetrics) {
    this.#t = t;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(performance, 'now', () => this.#now);
    t.mock.method(Math, 'random', () => 0);
    this.queue = new WorkQueue((key) => this.#work(key), concurrency, this.stop.signal, observer);
  }

  /** Keys that run now, longest first. */
  get running(): string[] {
    return this.#running.map(({ key }) => key);
  }

  /** Moves the clock. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    this.#t.mock.timers.tick(ms);
    await settled();
  }

  /** Ends the run of a key well. */
  async end(key: string): Promise<void> {
    this.#take(key).resolve();
    await settled();
  }

  /** Ends the run of a key badly. */
  async fail(key: string): Promise<void> {
    this.#take(key).reject(new Error('failed'));
    await settled();
  }

  /** Gives the clock back. */
  dispose(): void {
    this.stop.abort();
    this.#t.mock.timers.reset();
    this.#t.mock.restoreAll();
  }

  #work(key: string): Promise<void> {
    this.started.push(key);
    return new Promise((resolve, reject) => this.#running.push({ key, resolve, reject }));
  }

  #take(key: string) {
    const index = this.#running.findIndex((run) => run.key === key);
    const [run] = this.#running.splice(index, index === -1 ? 0 : 1);
    assert(run !== undefined, `${key} is running`);
    return run;
  }
}

describe('WorkQueue: adding', () => {
  beforeEach(beginTurn);

  it('merges additions while a key waits into one run', async (t) => {
    const h = new Harness(t, 1);
    h.queue.add('busy');
    for (let i = 0; i < 100; i += 1) h.queue.add('a');
    await h.end('busy');
    await h.end('a');
    assert.deepEqual([h.started, h.running], [['busy', 'a'], []]);
  });

  it('merges additions while a key runs into one more run, which starts after the first', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    for (let i = 0; i < 100; i += 1) h.queue.add('a');
    await settled();
    assert.deepEqual(h.running, ['a']);
    await h.end('a');
    assert.deepEqual(h.started, ['a', 'a']);
    await h.end('a');
    assert.deepEqual([h.started, h.running], [['a', 'a'], []]);
  });

  it('runs no more keys at once than it may, in the order of addition', async (t) => {
    const h = new Harness(t, 2);
    for (const key of ['a', 'b', 'c', 'd']) h.queue.add(key);
    await settled();
    assert.deepEqual(h.running, ['a', 'b']);
    await h.end('b');
    assert.deepEqual(h.running, ['a', 'c']);
    await h.end('a');
    assert.deepEqual(h.running, ['c', 'd']);
  });

  it('puts a key that was added during its run behind those that wait', async (t) => {
    const h = new Harness(t, 1);
    h.queue.add('a');
    await settled();
    h.queue.add('b');
    h.queue.add('a');
    await h.end('a');
    assert.deepEqual(h.running, ['b']);
    await h.end('b');
    assert.deepEqual(h.running, ['a']);
  });
});

describe('WorkQueue: fairness', () => {
  beforeEach(beginTurn);

  it('C2-37: gives namespaces turns: one that brings many keys does not hold up another', async (t) => {
    const h = new Harness(t, 1);
    for (const key of ['big/1', 'big/2', 'big/3', 'big/4', 'small/1', 'other/1', 'small/2', 'node-1', 'node-2']) {
      h.queue.add(key);
    }
    while (h.started.length < 9) await h.end(h.running[0] ?? (await settled(), h.running[0]!));
    assert.deepEqual(
      h.started, ['big/1', 'big/2', 'small/1', 'other/1', 'node-1', 'big/3', 'small/2', 'node-2', 'big/4'],
    );
  });

  it('serves every namespace before it serves one twice, and each in the order of addition', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(4), { nil: undefined }), { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<number>();
        const lines = new Map<number, number[]>();
        const turns: number[] = [];
        for (const [item, group] of steps.entries()) {
          if (group !== undefined) {
            if (!lines.has(group)) turns.push(group);
            lines.set(group, [...(lines.get(group) ?? []), item]);
            queue.enqueue(item, String(group));
            continue;
          }
          const next = turns.shift();
          const [expected, ...rest] = next === undefined ? [] : lines.get(next)!;
          assert.equal(queue.dequeue(), expected);
          if (next === undefined) continue;
          if (rest.length > 0) turns.push(next);
          if (rest.length > 0) lines.set(next, rest);
          else lines.delete(next);
        }
        assert.equal(queue.size, [...lines.values()].flat().length);
      }),
    );
  });

  it('stays quick with a hundred thousand keys of one namespace', () => {
    const queue = new FairQueue<number>();
    for (let i = 0; i < 100_000; i += 1) queue.enqueue(i, 'a');
    let taken = 0;
    while (queue.dequeue() !== undefined) taken += 1;
    assert.deepEqual([taken, queue.size], [100_000, 0]);
  });
});

describe('WorkQueue: observer', () => {
  beforeEach(beginTurn);

  it('hears of waits, runs and failures in ms', async (t) => {
    const heard: unknown[] = [];
    const observer = {
      added: () => heard.push('added'),
      started: (ms: number) => heard.push(['started', ms]),
      ended: (ms: number, outcome: string) => heard.push([outcome, ms]),
    };
    const h = new Harness(t, 1, observer);
    h.queue.add('a');
    h.queue.add('b');
    h.queue.add('b');
    await h.pass(7);
    await h.fail('a');
    await h.pass(5);
    await h.end('b');
    assert.deepEqual(heard, ['added', ['started', 0], 'added', ['failed', 7], ['started', 7], ['done', 5]]);
  });

  it('counts a key that runs and is wanted again once', async (t) => {
    const h = new Harness(t, 1);
    h.queue.add('a');
    await settled();
    h.queue.add('a');
    h.queue.add('b');
    assert.equal(h.queue.depth, 2);
  });
});

describe('WorkQueue: failing', () => {
  beforeEach(beginTurn);

  it('tries again later and later, and forgets failures after a success', async (t) => {
    const h = new Harness(t);
    const retriedAfter = async (ms: number) => {
      await h.pass(ms - 1);
      assert.deepEqual(h.running, [], `not before ${ms} ms`);
      await h.pass(1);
      assert.deepEqual(h.running, ['a'], `after ${ms} ms`);
    };
    h.queue.add('a');
    await settled();
    for (const ms of [25, 50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000]) {
      await h.fail('a');
      await retriedAfter(ms);
    }
    await h.end('a');
    h.queue.add('a');
    await settled();
    await h.fail('a');
    await retriedAfter(25);
  });

  it('gives its place to others while it waits', async (t) => {
    const h = new Harness(t, 1);
    h.queue.add('bad');
    h.queue.add('good');
    await settled();
    await h.fail('bad');
    assert.deepEqual(h.running, ['good']);
  });

  it('counts the failures of each key apart', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    await h.fail('a');
    await h.pass(25);
    await h.fail('a');
    h.queue.add('b');
    await settled();
    await h.fail('b');
    await h.pass(25);
    assert.deepEqual(h.running, ['b']);
  });

  it('is tried at once, and once, when it is added during its back-off', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    await h.fail('a');
    h.queue.add('a');
    await settled();
    await h.end('a');
    await h.pass(60_000);
    assert.deepEqual(h.started, ['a', 'a']);
  });

  it('is tried at once, and once, when it was added during the run that failed', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    h.queue.add('a');
    await h.fail('a');
    assert.deepEqual(h.running, ['a']);
    await h.end('a');
    await h.pass(60_000);
    assert.deepEqual(h.started, ['a', 'a']);
  });

  it('may throw before its first await', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let runs = 0;
    const work = () => {
      runs += 1;
      throw new Error('at once');
    };
    const queue = new WorkQueue(work, 1, new AbortController().signal);
    queue.add('a');
    await queue.idle();
    t.mock.timers.tick(50);
    await queue.idle();
    assert.equal(runs, 2);
  });
});

describe('WorkQueue.addAfter', () => {
  beforeEach(beginTurn);

  it('runs a key after the time', async (t) => {
    const h = new Harness(t);
    h.queue.addAfter('a', 100);
    await h.pass(99);
    assert.deepEqual(h.started, []);
    await h.pass(1);
    assert.deepEqual(h.started, ['a']);
  });

  const orders: Record<string, readonly [first: number, second: number]> =
    { 'earlier first': [100, 300], 'later first': [300, 100] };
  for (const [order, [first, second]] of Object.entries(orders)) {
    it(`keeps the earlier of two times, ${order}`, async (t) => {
      const h = new Harness(t);
      h.queue.addAfter('a', first);
      h.queue.addAfter('a', second);
      await h.pass(100);
      assert.deepEqual(h.running, ['a']);
      await h.end('a');
      await h.pass(1_000);
      assert.deepEqual(h.started, ['a']);
    });
  }

  it('compares times, not delays', async (t) => {
    const h = new Harness(t);
    h.queue.addAfter('a', 300);
    await h.pass(200);
    h.queue.addAfter('a', 200);
    await h.pass(100);
    assert.deepEqual(h.running, ['a']);
  });

  it('is fulfilled by an addition that comes earlier', async (t) => {
    const h = new Harness(t);
    h.queue.addAfter('a', 100);
    h.queue.add('a');
    await settled();
    await h.end('a');
    await h.pass(1_000);
    assert.deepEqual(h.started, ['a']);
  });

  it('asked for during a run, counts from then and does not overlap it', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    h.queue.addAfter('a', 100);
    await h.pass(100);
    assert.deepEqual(h.started, ['a']);
    await h.end('a');
    assert.deepEqual(h.started, ['a', 'a']);
  });

  it('asked for by a run that then fails, is not put off by the back-off', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    h.queue.addAfter('a', 10);
    await h.fail('a');
    await h.pass(10);
    assert.deepEqual(h.running, ['a']);
    await h.end('a');
    await h.pass(1_000);
    assert.deepEqual(h.started, ['a', 'a']);
  });

  it('does not run a key at once that is due in a year', async (t) => {
    const h = new Harness(t);
    h.queue.addAfter('a', 365 * 86_400_000);
    h.queue.addAfter('b', Number.POSITIVE_INFINITY);
    await h.pass(86_400_000);
    assert.deepEqual(h.started, []);
  });
});

describe('WorkQueue: idle and depth', () => {
  beforeEach(beginTurn);

  it('is idle when nothing runs or waits for a place, whatever is due later', async (t) => {
    const h = new Harness(t, 1);
    let idle = false;
    await h.queue.idle();
    h.queue.add('a');
    h.queue.add('b');
    h.queue.addAfter('later', 1_000);
    const waiting = h.queue.idle().then(() => (idle = true));
    await settled();
    assert.deepEqual([idle, h.queue.depth], [false, 2]);
    h.queue.add('a');
    await h.end('a');
    await h.end('b');
    assert.deepEqual([idle, h.running, h.queue.depth], [false, ['a'], 1]);
    await h.end('a');
    await waiting;
    assert.equal(h.queue.depth, 0);
  });
});

describe('WorkQueue: stopping', () => {
  beforeEach(beginTurn);

  it('starts nothing more: not what waits, nor what is due later, nor what runs and was added, nor what is added now',
    async (t) => {
    const h = new Harness(t, 1);
    h.queue.add('running');
    await settled();
    h.queue.add('running');
    h.queue.add('waiting');
    h.queue.addAfter('later', 10);
    h.stop.abort();
    h.queue.add('new');
    h.queue.addAfter('new, later', 10);
    await h.end('running');
    await h.pass(1_000);
    assert.deepEqual(h.started, ['running']);
  });

  it('does not retry what fails then', async (t) => {
    const h = new Harness(t);
    h.queue.add('a');
    await settled();
    h.stop.abort();
    await h.fail('a');
    await h.pass(60_000);
    assert.deepEqual(h.started, ['a']);
  });

  it('is idle when the last run has ended', async (t) => {
    const h = new Harness(t, 1);
    h.queue.add('a');
    h.queue.add('b');
    await settled();
    h.stop.abort();
    let idle = false;
    const waiting = h.queue.idle().then(() => (idle = true));
    await settled();
    assert.equal(idle, false);
    await h.end('a');
    await waiting;
  });

  it('leaves no timer behind that would keep the process alive', () => {
    const before = timers();
    const stop = new AbortController();
    const queue = new WorkQueue(async () => undefined, 1, stop.signal);
    queue.addAfter('a', 60_000);
    assert.equal(timers(), before + 1);
    stop.abort();
    queue.addAfter('b', 60_000);
    assert.equal(timers(), before);
  });

  it('takes nothing when it was stopped before it began', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let runs = 0;
    const queue = new WorkQueue(async () => void (runs += 1), 1, AbortSignal.abort());
    queue.add('a');
    queue.addAfter('b', 1);
    t.mock.timers.tick(10);
    await queue.idle();
    assert.equal(runs, 0);
  });
});

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/** What the queue promises, said in the simplest way: no promises, no queues of namespaces. */
class Model {
  readonly started: string[] = [];
  running: string[] = [];
  waiting: string[] = [];
  readonly again = new Set<string>();
  readonly due = new Map<string, number>();
  readonly failures = new Map<string, number>();
  now = 0;
  stopped = false;
  readonly #places: number;

  constructor(places: number) {
    this.#places = places;
  }

  add(key: string): void {
    if (this.stopped) return;
    this.due.delete(key);
    if (this.running.includes(key)) this.again.add(key);
    else if (!this.waiting.includes(key)) this.waiting.push(key);
    this.#fill();
  }

  addAfter(key: string, ms: number): void {
    if (this.stopped || this.waiting.includes(key) || this.again.has(key)) return;
    if ((this.due.get(key) ?? Number.POSITIVE_INFINITY) <= this.now + ms) return;
    this.due.delete(key); // of two keys that are due at the same time, the one that was asked for first goes first
    this.due.set(key, this.now + ms);
  }

  pass(ms: number): void {
    this.now += ms;
    for (const [key, at] of [...this.due].toSorted(([, a], [, b]) => a - b)) if (at <= this.now) this.add(key);
  }

  end(key: string, failed: boolean): void {
    const failures = failed ? (this.failures.get(key) ?? 0) + 1 : 0;
    this.failures.set(key, failures);
    if (failed) this.addAfter(key, Math.min(15_000, 25 * 2 ** (failures - 1)));
    this.running = this.running.filter((each) => each !== key);
    if (this.again.delete(key)) this.waiting.push(key);
    this.#fill();
  }

  stop(): void {
    this.stopped = true;
    this.waiting = [];
    this.again.clear();
    this.due.clear();
  }

  #fill(): void {
    while (this.running.length < this.#places && this.waiting.length > 0) {
      const [key = '', ...rest] = this.waiting;
      this.waiting = rest;
      this.running.push(key);
      this.started.push(key);
    }
  }
}

describe('WorkQueue: any order of events', () => {
  beforeEach(beginTurn);

  const key = fc.constantFrom('a', 'b', 'c', 'd');
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), key }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('add after' as const), key, ms: fc.nat(200) }) },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(300) }) },
      {
        weight: 5, arbitrary: fc.record({ kind: fc.constant('end' as const), which: fc.nat(3), failed: fc.boolean() }),
      },
    ),
    { maxLength: 60 },
  );
  type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never;

  async function take(step: Step, h: Harness, model: Model): Promise<void> {
    switch (step.kind) {
      case 'add':
        h.queue.add(step.key);
        model.add(step.key);
        break;
      case 'add after':
        h.queue.addAfter(step.key, step.ms);
        model.addAfter(step.key, step.ms);
        break;
      case 'pass':
        model.pass(step.ms);
        await h.pass(step.ms);
        break;
      case 'end': {
        const running = h.running[step.which % h.running.length];
        if (running === undefined) return;
        model.end(running, step.failed);
        await (step.failed ? h.fail(running) : h.end(running));
      }
    }
    await settled();
  }

  it('runs what the model runs, never one key twice at once, never more than it may, and nothing new once stopped',
    async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), steps, steps, async (places, before, after) => {
        const h = new Harness(t, places);
        const model = new Model(places);
        const run = async (steps: readonly Step[]) => {
          for (const step of steps) {
            await take(step, h, model);
            assert.equal(new Set(h.running).size, h.running.length, 'no key runs twice at once');
            assert(h.running.length <= places, 'no more run than may');
            assert.deepEqual(h.started, model.started);
          }
        };
        try {
          await run(before);
          model.stop();
          h.stop.abort();
          const { length } = h.started;
          await run(after);
          assert.equal(h.started.length, length, 'nothing is started once stopped');
        } finally {
          h.dispose();
        }
      }),
      { numRuns: 300 },
    );
  });

  it('runs each key once more after its last addition, and comes to rest', async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }),
        fc.array(fc.record({ key, failed: fc.boolean() }), { minLength: 1, maxLength: 40 }), async (places, steps) => {
        const h = new Harness(t, places);
        try {
          const runsAt = new Map<string, number>();
          const runs = (name: string) => h.started.filter((each) => each === name).length;
          for (const each of steps) {
            runsAt.set(each.key, runs(each.key));
            h.queue.add(each.key);
            await settled();
            const [oldest] = h.running;
            if (oldest !== undefined && each.failed) await h.fail(oldest);
          }
          while (h.running.length > 0) await h.end(h.running[0]!);
          await h.pass(60_000);
          while (h.running.length > 0) await h.end(h.running[0]!);
          for (const [name, before] of runsAt) assert(runs(name) > before, `${name} ran after its last addition`);
          assert.equal(h.queue.depth, 0);
        } finally {
          h.dispose();
        }
      }),
      { numRuns: 100 },
    );
  });
});
