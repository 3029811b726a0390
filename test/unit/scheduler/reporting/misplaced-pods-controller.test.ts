// How often virtual nodes are listed: each in its turn, never more than five a second, however many targets there are.
// And what is done with the pods that are found; which of them are to go is tested in misplaced-pods.test.ts.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pod } from '../../../../api/objects/core.ts';
import { PODS } from '../../../../api/resource-types.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import {
  followMisplacedPods, type MisplacedPodsOptions,
} from '../../../../scheduler/reporting/misplaced-pods-controller.ts';
import {
  aPod, aProxy, inNamespace, named, onNode, withFinalizers, withMetadata, withSpec, withUid,
} from '../../../support/objects/builders.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

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

describe('a pod that is found on a virtual node', () => {
  const NODE = 'admiralty-eu';
  const deleted = withMetadata({ deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30 });
  /** Without it the API server would have removed the pod. */
  const held = withFinalizers('a.io/theirs');
  const lost = (name: string, ...changes: Parameters<typeof aPod>): Pod =>
    aPod(
      named(name), withUid(`uid-${name}`), onNode(NODE), withSpec({ schedulerName: 'theirs' }), deleted, held,
      ...changes,
    );

  /** Looks once at each of these virtual nodes of a source with these pods. */
  async function look(
    t: TestContext, pods: readonly Pod[], { nodes = [NODE], prepare = () => undefined, looks = 1 }: {
      readonly nodes?: readonly string[]; readonly looks?: number;
      readonly prepare?: (cluster: MemoryCluster, stop: AbortController) => void
    } = {},
  ) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const cluster = new MemoryCluster(...pods.map((pod) => [PODS, pod] as const));
    const stop = new AbortController();
    t.after(() => stop.abort());
    prepare(cluster, stop);
    const logged: unknown[] = [];
    const logger = { debug: (line: unknown) => logged.push(line) };
    const options = {
      source: cluster.client, logger, ready: Promise.resolve(), everyMs: LEAST_MS * nodes.length,
      targets: { all: () => nodes.map((nodeName) => ({ nodeName })) },
    };
    const followed = followMisplacedPods(options as unknown as MisplacedPodsOptions, stop.signal);
    for (let count = 0; count < looks * nodes.length; count += 1) {
      if (count > 0) t.mock.timers.tick(LEAST_MS);
      for (let turn = 0; turn < 2 * TURNS; turn += 1) await nextTurn();
    }
    return { cluster, logged, followed, stop };
  }
  const deletes = ({ writes }: MemoryCluster) => writes.filter((write) => write.startsWith('DELETE'));
  const pathOf = (name: string, namespace = 'team-a') => `DELETE /api/v1/namespaces/${namespace}/pods/${name}`;

  it('is ended where it was deleted, in whatever namespace, and all others are left', async (t) => {
    const { cluster } = await look(t, [
      lost('one'), lost('two', inNamespace('team-b')), lost('elsewhere', onNode('a-real-node')),
      aPod(named('alive'), onNode(NODE), withSpec({ schedulerName: 'theirs' })),
      aProxy(named('ours'), onNode(NODE), deleted),
      lost('scheduled-as-ours', withSpec({ schedulerName: 'admiralty-proxy' })),
    ]);
    assert.deepEqual(deletes(cluster).toSorted(), [pathOf('one'), pathOf('two', 'team-b')]);
  });
  it('is listed by its node, without those that Isthmus schedules', async (t) => {
    const asked: unknown[] = [];
    await look(t, [], { prepare: (cluster) => (cluster.before = ({ query }) => void asked.push(query)) });
    assert.deepEqual(asked.map((query) => (query as { readonly fieldSelector: string }).fieldSelector), [
      `spec.nodeName=${NODE},spec.schedulerName!=admiralty-proxy`,
    ]);
  });
  for (const [code, reason] of [[404, 'NotFound'], [409, 'Conflict']] as const) {
    it(`and is gone, or another one, meanwhile (${reason}) does not keep the next ones`, async (t) => {
      const { cluster, logged } = await look(t, [lost('one'), lost('two')], {
        prepare: (held) => {
          held.before = ({ method, path }) =>
            (method === 'DELETE' && path.endsWith('/one') ? new ApiError(code, reason, 'it has changed') : undefined);
        },
      });
      assert.deepEqual([deletes(cluster), logged], [[pathOf('two')], []]);
    });
  }
  it('and cannot be deleted is told, does not keep other nodes, and is tried again at the next look', async (t) => {
    let tries = 0;
    const { cluster, logged } = await look(t, [lost('one'), lost('two', onNode('admiralty-us'))], {
      nodes: [NODE, 'admiralty-us'], looks: 2,
      prepare: (held) => {
        held.before = ({ method, path }) => {
          const isRefused = method === 'DELETE' && path.endsWith('/one') && (tries += 1) === 1;
          return isRefused ? new ApiError(403, 'Forbidden', 'no rights') : undefined;
        };
      },
    });
    assert.deepEqual(deletes(cluster), [pathOf('two'), pathOf('one'), pathOf('two')]);
    assert.deepEqual(logged, [{ node: NODE, error: 'no rights' }]);
  });
  it('after the end of the process is left, and nothing is told of it', async (t) => {
    const { cluster, logged, followed } = await look(t, [lost('one')], {
      prepare: (held, stop) => {
        held.before = () => {
          stop.abort();
          return new Error('cut off');
        };
      },
    });
    await followed;
    assert.deepEqual([deletes(cluster), logged], [[], []]);
  });
});
