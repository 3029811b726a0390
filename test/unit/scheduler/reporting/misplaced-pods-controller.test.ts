// How often virtual nodes are listed: each in its turn, never more than five a second, however many targets there are.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  followMisplacedPods, type MisplacedPodsOptions,
} from '../../../../scheduler/reporting/misplaced-pods-controller.ts';
import { SILENT } from '../../../support/scripted-api-server.ts';

const LEAST_MS = 200;
/** Turns of the event loop in which everything that is not on a timer gets done. */
const TURNS = 10;

interface World {
  /** Names of the virtual nodes. */
  nodes: readonly string[];
  readonly listed: string[];
  readonly pass: (ms: number) => Promise<readonly string[]>;
}

async function aWorld(t: TestContext, nodes: readonly string[], { everyMs, fails = false }: {
  readonly everyMs?: number; readonly fails?: boolean
} = {}): Promise<World> {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stop = new AbortController();
  t.after(() => stop.abort());
  const world: World = {
    nodes, listed: [],
    pass: async (ms) => {
      const before = world.listed.length;
      t.mock.timers.tick(ms);
      for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
      return world.listed.slice(before);
    },
  };
  const source = {
    list: (_type: unknown, { fieldSelector }: { readonly fieldSelector: string }) => {
      world.listed.push(/^spec\.nodeName=([^,]*),/.exec(fieldSelector)?.[1] ?? fieldSelector);
      return fails ? Promise.reject(new Error('not now')) : Promise.resolve([]);
    },
  };
  const options = {
    source, logger: SILENT, ready: Promise.resolve(),
      targets: { all: () => world.nodes.map((nodeName) => ({ nodeName })) },
    ...(everyMs !== undefined && { everyMs }),
  };
  void followMisplacedPods(options as unknown as MisplacedPodsOptions, stop.signal);
  return world;
}

describe('lists of misplaced pods', () => {
  it('are at least 200 ms apart, whatever the interval and the number of targets', async (t) => {
    const { pass } = await aWorld(t, Array.from({ length: 1_000 }, (_, index) => `n${index}`));
    assert.deepEqual(await pass(0), ['n0']);
    for (let index = 1; index < 20; index += 1) {
      assert.deepEqual(await pass(LEAST_MS - 1), []);
      assert.deepEqual(await pass(1), [`n${index}`]);
    }
  });
  it('are spread over the interval where there are few targets: each is listed once in it', async (t) => {
    const { pass } = await aWorld(t, ['a', 'b', 'c'], { everyMs: 3_000 });
    assert.deepEqual(await pass(0), ['a']);
    assert.deepEqual(await pass(999), []);
    assert.deepEqual([...await pass(1), ...await pass(1_000), ...await pass(1_000)], ['b', 'c', 'a']);
  });
  it('go on after one that failed, with the same pause', async (t) => {
    const { pass } = await aWorld(t, ['a', 'b'], { everyMs: 2_000, fails: true });
    assert.deepEqual(await pass(0), ['a']);
    assert.deepEqual(await pass(999), []);
    assert.deepEqual(await pass(1), ['b']);
  });
  it('wait for the first target without asking anything, and find one that came', async (t) => {
    const world = await aWorld(t, [], { everyMs: 1_000 });
    assert.deepEqual([...await world.pass(0), ...await world.pass(1_000)], []);
    world.nodes = ['late'];
    assert.deepEqual(await world.pass(999), []);
    assert.deepEqual(await world.pass(1), ['late']);
  });
});
