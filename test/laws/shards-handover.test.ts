// Several replicas with shards, in virtual time: they come, go, are cut off and answered late, and write as often as
// they may.
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import * as fc from 'fast-check';
import type { Lease } from '../../api/objects/core.ts';
import type { Fence } from '../../kubernetes/flow/fence.ts';
import { LEASE_TIMINGS } from '../../kubernetes/lease/lease-record.ts';
import { DONE, type Controller } from '../../kubernetes/controller/controller.ts';
import { startShardedController } from '../../kubernetes/controller/sharded-controller.ts';
import { SHARD_MEMBER_LABEL, Shards, type FollowMembers } from '../../kubernetes/controller/shards.ts';
import { LeaseStore, type CallFate } from '../support/lease-store.ts';
import { SILENT } from '../support/scripted-api-server.ts';

const QUICK: CallFate = { thereMs: 5, backMs: 5 };
const LOST: CallFate = { thereMs: 5, backMs: 5, lost: 'there' };
const SHARD_COUNT = 4;
const STEP_MS = 100;
const KEYS = Array.from({ length: 11 }, (_, i) => `team-${i % 5}/web-${i}`);
/** How long replicas need to agree again: until a silent member and its Leases have run out, and are taken. */
const SETTLED_MS = 2 * LEASE_TIMINGS.leaseMs + 4 * LEASE_TIMINGS.retryMs + 4 * LEASE_TIMINGS.callMs;

interface Replica {
  readonly shards: Shards;
  readonly controller: Controller;
  readonly stop: AbortController;
  readonly running: Promise<void>;
  /** Keys in the order of their runs. */
  readonly ran: string[];
}

class World {
  readonly store = new LeaseStore();
  readonly replicas = new Map<string, Replica>();
  /** Who writes for the keys of a shard at the moment, by run. */
  readonly #writing = new Map<object, { readonly shard: number; readonly identity: string }>();
  /** What a reconcile must not throw, for the controller would only try again. */
  readonly #violations: string[] = [];
  now = 0;
  /** Whether nothing changes at the moment. */
  isQuiet = false;
  #changes = 0;

  start(identity: string, options: { readonly fate?: () => CallFate; readonly writeMs?: () => number } = {}): Replica {
    const { fate = () => QUICK, writeMs = () => 300 } = options;
    const clock = () => this.now;
    const shards = new Shards({
      client: this.store.client(identity, fate),
      namespace: 'ns', group: 'g', identity, shards: SHARD_COUNT, logger: SILENT,
      clocks: { monotonic: clock, wall: clock }, follow: this.#following(fate),
    });
    const [stop, ran] = [new AbortController(), [] as string[]];
    const reconcile = async (key: string, _signal: AbortSignal, fence: Fence) => {
      ran.push(key);
      const ms = writeMs() * (1 + (ran.length % 7) / 7); // not all in step
      await this.#write(shards.shardOf(key), identity, Math.min(ms, fence.msLeft()));
      return DONE;
    };
    const controller = startShardedController(
      { name: `of-${identity}`, concurrency: 8, logger: SILENT, shards, keys: () => KEYS, reconcile }, stop.signal,
    );
    const replica = { shards, controller, stop, ran, running: shards.run(stop.signal) };
    this.replicas.set(identity, replica);
    return replica;
  }

  async stop(identity: string): Promise<void> {
    const replica = this.replicas.get(identity);
    this.replicas.delete(identity);
    replica?.stop.abort();
    let isOver = false;
    void replica?.running.then(() => (isOver = true));
    await this.pass(2 * LEASE_TIMINGS.leaseMs);
    assert(isOver, `${identity} ends`);
  }

  /** Lets time pass; one key after another changes. */
  async pass(ms: number, look: () => void = () => undefined): Promise<void> {
    for (const end = this.now + ms; this.now < end; ) {
      const step = Math.min(STEP_MS, end - this.now);
      this.now += step;
      mock.timers.tick(step);
      for (let turn = 0; turn < 12; turn += 1) await Promise.resolve();
      await nextTurn(); // work that waits for nothing gives it to others, too
      if (!this.isQuiet) for (const { controller } of this.replicas.values()) controller.enqueue(
        KEYS[(this.#changes += 1) % KEYS.length] ?? '',
      );
      this.assertHeldOnce();
      look();
    }
  }

  assertHeldOnce(): void {
    const held = [...this.replicas.values()].flatMap(({ shards }) => shards.held);
    assert.equal(new Set(held).size, held.length, `a shard is held twice at ${this.now}`);
    assert.deepEqual(this.#violations, []);
  }

  get held(): number {
    return [...this.replicas.values()].flatMap(({ shards }) => shards.held).length;
  }

  async end(): Promise<void> {
    for (const identity of this.replicas.keys()) await this.stop(identity);
  }

  #write(shard: number, identity: string, ms: number): Promise<void> {
    for (const other of this.#writing.values()) {
      if (other.shard === shard && other.identity !== identity) {
        this.#violations.push(`shard ${shard} is written by ${other.identity} and ${identity} at ${this.now}`);
      }
    }
    const run = {};
    this.#writing.set(run, { shard, identity });
    return new Promise((resolve) => {
      setTimeout(() => {
        this.#writing.delete(run);
        resolve();
      }, ms);
    });
  }

  /**
   * What a watch of the members' Leases tells: all there are, then each change, as late as calls are, nothing while
   * they are lost.
   */
  #following(fate: () => CallFate): FollowMembers {
    return (told, signal) => {
      const tell = ({ metadata, spec }: Lease): void => {
        if (metadata.labels?.[SHARD_MEMBER_LABEL] !== 'g') return;
        const { backMs, lost } = fate();
        if (lost === undefined) setTimeout(
          () => told(metadata.name ?? '', { identity: spec?.holderIdentity ?? '', renewTime: spec?.renewTime ?? '' }),
          backMs,
        );
      };
      for (const lease of this.store.leases.values()) tell(lease);
      this.store.watchers.add(tell);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          this.store.watchers.delete(tell);
          resolve();
        });
      });
    };
  }
}

describe('shards in virtual time', () => {
  let world: World;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    world = new World();
  });
  afterEach(async () => {
    await world.end();
    mock.timers.reset();
  });

  it('a replica that is alone does all keys', async () => {
    const { ran, shards } = world.start('a');
    await world.pass(SETTLED_MS);
    assert.equal(shards.held.length, SHARD_COUNT);
    assert.deepEqual(new Set(ran), new Set(KEYS));
  });

  it('a second one takes its part, and gives it back when it ends; every key is then looked at', async () => {
    const a = world.start('a');
    await world.pass(SETTLED_MS);
    const b = world.start('b');
    await world.pass(SETTLED_MS);
    assert(b.shards.held.length > 0 && a.shards.held.length > 0);
    assert.equal(world.held, SHARD_COUNT);
    a.ran.length = 0;
    await world.stop('b');
    assert.equal(a.shards.held.length, SHARD_COUNT, 'in time');
    assert.deepEqual(new Set(a.ran), new Set(KEYS));
  });

  it('hands a shard over only when its last write has ended, however long that takes', async () => {
    world.start('a', { writeMs: () => 6_000 });
    await world.pass(SETTLED_MS);
    const b = world.start('b');
    await world.pass(SETTLED_MS);
    assert(b.ran.length > 0);
  });

  it('a member that falls silent loses its shards, and acts no more before another one does', async () => {
    let isCut = false;
    const a = world.start('a', { fate: () => (isCut ? LOST : QUICK) });
    const b = world.start('b');
    await world.pass(SETTLED_MS);
    assert(a.shards.held.length > 0);
    isCut = true;
    await world.pass(SETTLED_MS);
    assert.deepEqual([a.shards.held.length, b.shards.held.length], [0, SHARD_COUNT]);
    isCut = false;
    await world.pass(SETTLED_MS);
    assert(a.shards.held.length > 0, 'and gets its part again');
    assert.equal(world.held, SHARD_COUNT);
  });

  it('keys that change while the Lease has lapsed are worked on when it is ours again', async () => {
    let isCut = false;
    const { ran, shards } = world.start('a', { fate: () => (isCut ? LOST : QUICK) });
    await world.pass(SETTLED_MS);
    isCut = true;
    while (shards.held.length > 0) await world.pass(STEP_MS);
    await world.pass(2_000); // others could not have taken it yet
    ran.length = 0;
    world.isQuiet = true;
    isCut = false;
    await world.pass(SETTLED_MS);
    assert.deepEqual(new Set(ran), new Set(KEYS));
  });

  it('never has two writers for a shard, whatever is slow or lost and whoever comes and goes; at rest all shards are ' +
    'held', async () => {
    const fate = fc.record(
      {
        thereMs: fc.integer({ min: 0, max: 4_000 }), backMs: fc.integer({ min: 0, max: 4_000 }),
        lost: fc.constantFrom('there' as const, 'back' as const),
      },
      { requiredKeys: ['thereMs', 'backMs'] },
    );
    const step = fc.record({
      ms: fc.integer({ min: 100, max: 20_000 }),
      who: fc.constantFrom('a', 'b', 'c'), toggles: fc.boolean(), writeMs: fc.constantFrom(20, 300, 8_000),
      fates: fc.array(fc.oneof({ weight: 2, arbitrary: fc.constant(QUICK) }, fate), { minLength: 3, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 7 }), async (steps) => {
        world = new World();
        let fates: readonly CallFate[] = [QUICK, QUICK, QUICK];
        let writeMs = 300;
        const start = (identity: string) =>
          world.start(identity, { fate: () => fates['abc'.indexOf(identity)] ?? QUICK, writeMs: () => writeMs });
        start('a');
        for (const { ms, who, toggles, ...next } of steps) {
          ({ fates, writeMs } = next);
          if (toggles && world.replicas.has(who)) await world.stop(who);
          else if (toggles) start(who);
          await world.pass(ms);
        }
        [fates, writeMs] = [[QUICK, QUICK, QUICK], 20];
        if (world.replicas.size === 0) start('a');
        await world.pass(2 * SETTLED_MS);
        assert.equal(world.held, SHARD_COUNT);
        await world.end();
      }),
      { numRuns: 15 },
    );
  });
});
