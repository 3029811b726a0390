// `npm run soak -- long-faults`: the rows of the table of faults (docs/results/faults.md) that take minutes, as they
// are written there: a target that is down for 10 min, one that flaps every 20 s for 10 min, one whose summary is stale
// for 5 min, all at once, each a target of its own; then a source whose virtual nodes are NotReady for longer than
// taints let pods stay. LONG_FAULTS_SCALE=0.1 makes a shorter run of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, DELEGATE_FINALIZER, PROXY_CONSTRAINTS_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { NODES } from '../../../api/resource-types.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { eventually } from '../../support/history/eventually.ts';
import { FaultWorld, tell, within, type Pair } from '../../support/faults/fault-world.ts';
import { isRunning, type WorldCluster } from '../../support/worlds/isthmus-world.ts';

const SCALE = Number(process.env['LONG_FAULTS_SCALE'] ?? 1);
const DOWN_MS = 600_000 * SCALE;
const FLAP_MS = 20_000;
const FLAPS = Math.max(2, Math.round(15 * SCALE));
/** A summary that stays out for 150 s counts as stale; it is not made shorter. */
const STALE_MS = Math.max(200_000, 300_000 * SCALE);
const NOT_READY_MS = 420_000 * Math.max(SCALE, 0.2);
/**
 * Connections for each time that the network comes and goes: two sets of credentials' pools, and tries while it is
 * away.
 */
const MOST_CONNECTIONS_A_FLAP = 60;

let faults: FaultWorld;
before(async () => {
  faults = await FaultWorld.start('long-faults', { targets: 4, nodes: 1 });
});
after(() => faults?.stop());

const [DOWN, FLAPPING, STALE, HEALTHY] = [0, 1, 2, 3] as const;
const runAll = (prefix: string, count: number, home: WorldCluster): Promise<Pair[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => faults.run(`${prefix}-${index}`, home)));

/** Nothing was ever about to delete these pods, or to let them go. */
function assertUntouched(pairs: readonly Pair[]): void {
  const uids = new Set(pairs.map(({ proxy }) => proxy.metadata.uid));
  for (const { key, after: pod } of faults.world.source.pods.history) {
    if (pod === undefined || !uids.has(pod.metadata.uid)) continue;
    assert.equal(pod.metadata.deletionTimestamp, undefined, `${key} was deleted`);
    assert.ok(pod.metadata.finalizers?.includes(DELEGATE_FINALIZER), `${key} lost its finalizer`);
  }
}

describe('for many minutes', { concurrency: true }, () => {
  it('2: a target that is down keeps its proxies as they were, which say so; new pods go elsewhere',
    () => faults.during(async () => {
    const home = faults.target(DOWN);
    const pairs = await runAll('row-2', 5, home);
    await home.cluster.stopComponent('kube-apiserver', 'SIGKILL');
    await within('2: the proxies say so', 45, () => Promise.all(pairs.map((pair) => faults.tellsLoss(pair, true))));
    await within('2: a new pod elsewhere', 30, async () => assert.notEqual((await faults.run('row-2-new')).home, home));
    await sleep(DOWN_MS);
    for (const pair of pairs) await faults.assertSame(pair);
    await home.cluster.startComponent('kube-apiserver');
    await within('2: recovered', 60, async () => {
      await Promise.all(pairs.map((pair) => faults.mirrors(pair, 1)));
      await Promise.all(pairs.map((pair) => faults.tellsLoss(pair, false)));
    });
    for (const pair of pairs) await faults.assertSame(pair);
    assertUntouched(pairs);
  }));

  it('4: a target that flaps every 20 s costs no pod, no finalizer, and few connections',
    () => faults.during(async () => {
    const home = faults.target(FLAPPING);
    const pairs = await runAll('row-4', 10, home);
    const before = faults.paths.get(home)!.joined();
    await faults.flap(home, FLAPS, FLAP_MS);
    const connections = (faults.paths.get(home)!.joined() - before) / FLAPS;
    tell({ row: '4: connections a flap', connections, limit: MOST_CONNECTIONS_A_FLAP });
    assert.ok(connections <= MOST_CONNECTIONS_A_FLAP, `${connections} connections a flap`);
    await within('4', 60, () => Promise.all(pairs.map((pair) => faults.mirrors(pair, 1))));
    for (const pair of pairs) await faults.assertSame(pair);
    assertUntouched(pairs);
  }));

  it('51: a target whose summary is stale takes no more than it had room for, then nothing',
    () => faults.during(async () => {
    const [stale, healthy] = [faults.target(STALE), faults.target(HEALTHY)];
    const controller = faults.processes.get(stale)!.current;
    controller.pause();
    // Before that is known: pods of which each node takes four, eight of which fit into both.
    const early = await Promise.all(
      Array.from({ length: 20 }, (_, index) => faults.create(largePod(`row-51-early-${index}`, [stale, healthy]))),
    );
    await Promise.all(
      early.map((pod) => faults.proxyIs(
        pod, 'placed, or told why not',
        (it) => it?.spec.nodeName !== undefined || findCondition(
          it?.status?.conditions, 'PodScheduled',
        ) !== undefined || isSentTo(stale, it),
      )),
    );
    const sent = () => stale.chaperons.objects.filter(({ metadata }) => metadata.name?.startsWith('row-51-')).length;
    tell({ row: '51: sent into a target that has just fallen silent', pods: sent(), limit: 4 });
    assert.ok(sent() <= 4, `${sent()} pods for four places`);
    const runEarly = (all: readonly Pod[]) =>
      all.filter((pod) => pod.metadata.name?.startsWith('row-51-early-') && isRunning(pod)).length;
    await faults.world.source.pods.until('four run in the other target', (all) => runEarly(all) === 4, 30_000);
    const from = performance.now();
    await faults.readyIs(stale, 'False', 'ControllerSilent', 240_000);
    tell({ row: '51: known to be silent', seconds: Math.round((performance.now() - from) / 1_000), limit: 155 });
    const before = sent();
    const small = await Promise.all(
      Array.from({ length: 20 }, (_, index) => faults.create(smallPod(`row-51-late-${index}`, [stale, healthy]))),
    );
    await within('51: pods elsewhere', 30, () => Promise.all(
      small.map((pod) => faults.proxyIs(pod, 'running', (it) => it !== undefined && isRunning(it))),
    ));
    assert.equal(sent(), before, 'none went to the target that is silent');
    await sleep(Math.max(0, STALE_MS - (performance.now() - from)));
    controller.resume();
    await within('51: back', 60, () => faults.readyIs(stale, 'True'));
    await within('51: all that fit run', 60, () => faults.world.source.pods.until(
      'eight run', (all) => runEarly(all) === 8, 60_000,
    ));
  }));
});

const isSentTo = ({ chaperons }: WorldCluster, pod: Pod | undefined) =>
  chaperons.objects.some(({ metadata }) => metadata.name?.startsWith(`${pod?.metadata.name}-`));

/** A pod that may go to these targets only; a node of the sandbox has 32 CPU. */
function podFor(name: string, targets: readonly WorldCluster[], cpu: string): Pod {
  const expression =
    { key: CLUSTER_TARGET_NAME_LABEL, operator: 'In', values: targets.map(({ cluster }) => cluster.name) };
  const affinity = {
    nodeAffinity:
      { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
  };
  const pod = faults.aPod(
    name, undefined, { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] },
  );
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: { ...pod.metadata.annotations, [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify({ affinity }) },
    },
  };
}
const largePod = (name: string, targets: readonly WorldCluster[]) => podFor(name, targets, '7');
const smallPod = (name: string, targets: readonly WorldCluster[]) => podFor(name, targets, '10m');

describe('a source whose Isthmus is away', () => {
  it('43: has virtual nodes that are NotReady for longer than other pods tolerate, and keeps its proxies',
    () => faults.during(async () => {
    const home = faults.target(HEALTHY);
    const pairs = await runAll('row-43', 5, home);
    await faults.processes.get(faults.world.source)!.stop();
    const name = virtualNodeName({ kind: 'ClusterTarget', name: home.cluster.name });
    const isTainted = async () => {
      const node = await faults.world.source.client.get(NODES, { name });
      const taint = node.spec?.taints?.find(
        ({ key, effect }) => key === 'node.kubernetes.io/unreachable' && effect === 'NoExecute',
      );
      return taint !== undefined && findCondition(node.status?.conditions, 'Ready')?.status !== 'True';
    };
    await eventually('the virtual node is NotReady', isTainted, 180_000);
    await sleep(NOT_READY_MS);
    assert.ok(await isTainted(), 'it is still NotReady');
    await faults.processes.get(faults.world.source)!.restart();
    await within('43', 60, () => Promise.all(pairs.map((pair) => faults.mirrors(pair, 2))));
    for (const pair of pairs) await faults.assertSame(pair);
    assertUntouched(pairs);
  }));
});
