// `npm run soak -- real-nodes`: the chart, installed by helm into real nodes: image, rights, Pod Security Standard,
// probes and Services that users get, and upgrades of them under a stream of pods.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import type { Pod } from '../../api/objects/core.ts';
import { isProxyPod } from '../../model/pod/pod.ts';
import type { IsthmusWorld } from '../support/isthmus-world.ts';
import { Packaging } from '../support/packaging.ts';
import { RealChart } from '../support/real-chart.ts';
import { BUSYBOX } from '../support/real-node-cases.ts';
import { ELECTED, makePod, startRealWorld, untilPod } from '../support/real-world.ts';
import { endWorld } from '../support/world-invariants.ts';

/** Upgrades, each followed by its rollback. */
const UPGRADES = 1;

let world: IsthmusWorld;
let chart: RealChart;
let tools: Packaging;

before(async () => {
  tools = await Packaging.open(AbortSignal.timeout(600_000));
  world = await startRealWorld({}, async (sandbox, signal) => (chart = await RealChart.start(sandbox, signal)));
});
after(() => endWorld(world));

const isReady = (pod: Pod): boolean =>
  (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
const spec = {
  terminationGracePeriodSeconds: 1,
  containers: [{
    name: 'main', image: BUSYBOX, command: ['sh', '-c', 'echo hello; trap "exit 0" TERM; sleep 3600 & wait'],
  }],
};

describe('the chart in real nodes', () => {
  it('runs in pods that hold to `restricted`, without a restart', async () => {
    for (const { cluster, client } of [world.source, ...world.targets]) {
      const pods = await client.list(PODS, { namespace: DEFAULT_INSTALL_NAMESPACE });
      assert.ok(pods.length >= 2 && pods.every(isReady), cluster.name);
      const restarts = pods.flatMap(({ status }) => status?.containerStatuses ?? []).map(
        (container) => (container as { readonly restartCount?: number }).restartCount,
      );
      assert.deepEqual([...new Set(restarts)], [0], cluster.name);
    }
  });

  it('brings an elected pod into a target, and its logs back', async () => {
    await makePod(world, ELECTED, { name: 'by-chart', spec });
    assert.ok(isProxyPod(await untilPod(world, ELECTED, 'by-chart', isReady)));
    const { stdout, stderr } = await tools.kubectl(
      ['-n', ELECTED, 'logs', 'by-chart'], { kubeconfig: world.source.cluster.kubeconfigPath },
    );
    assert.equal(stdout, 'hello\n', stderr);
  });

  it('is upgraded and rolled back under a stream of pods, none of which is refused or lost', async () => {
    let made = 0;
    const ending = new AbortController();
    const stream = (async () => {
      for (; !ending.signal.aborted; made += 1) {
        const name = `streamed-${made}`;
        await makePod(world, ELECTED, { name, spec });
        const pod = await untilPod(world, ELECTED, name, isReady);
        assert.ok(isProxyPod(pod), `${name} runs elsewhere`);
        await world.source.client.delete(PODS, { namespace: ELECTED, name });
      }
    })();
    stream.catch(() => undefined); // its end is awaited below
    try {
      for (let upgrade = 0; upgrade < UPGRADES; upgrade += 1) {
        await Promise.all(world.sandbox.clusters.map((cluster) => chart.upgrade(cluster, 'logLevel=debug')));
        await Promise.all(world.sandbox.clusters.map((cluster) => chart.rollback(cluster)));
      }
    } finally {
      ending.abort();
      await stream;
    }
    process.stdout.write(`${made} pods during ${UPGRADES} upgrades and rollbacks\n`);
    assert.ok(made > 0);
    assert.ok(isReady(await untilPod(world, ELECTED, 'by-chart', isReady)));
  });
});
