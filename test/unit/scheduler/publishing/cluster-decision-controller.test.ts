// The controller of ClusterDecisions: what makes it look again, what it writes where, and what it leaves alone while
// something is not known. What it decides is tested in choose-clusters.test.ts and placement-slices.test.ts.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { CLUSTER_MANAGER } from '../../../../api/placement/cluster-inventory.ts';
import type { ClusterDecision, ClusterDecisionStatus } from '../../../../api/placement/cluster-decision.ts';
import {
  CLUSTER_DECISIONS, CLUSTER_PROFILES, PLACEMENT_DECISIONS, TARGET_DISCOVERIES,
} from '../../../../api/resource-types.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { TargetRef } from '../../../../model/naming/target-ref.ts';
import {
  startClusterDecisions, type ClusterDecisionOptions,
} from '../../../../scheduler/publishing/cluster-decision-controller.ts';
import { ClusterInventory } from '../../../../scheduler/publishing/cluster-inventory.ts';
import { PlacedPods } from '../../../../scheduler/snapshot/placed-pods.ts';
import { FakeCluster, watchedPath } from '../../../support/doubles/fake-cluster.ts';
import { aPlace } from '../../../support/objects/placement.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const INTERVAL_MS = 30_000;
const NAMESPACE = 'shop';
const decision = (name: string, more: Partial<ClusterDecision> = {}): ClusterDecision => ({
  metadata: { namespace: NAMESPACE, name, uid: `uid-${name}`, generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {}, ...more,
});
/** What discovery says of these clusters, each the origin of the target of its name. */
const discovery = (...names: readonly string[]): KubernetesObject => ({
  metadata: { name: 'argo' }, spec: { from: { argoCD: {} } },
  status: { clusters: names.map((name) => ({ entry: name, name: `argo-${name}`, state: 'Target', target: name })) },
} as KubernetesObject);
const profile = (name: string): KubernetesObject => ({
  metadata: { namespace: NAMESPACE, name,
    ownerReferences: [{ apiVersion: 'x', kind: 'ClusterTarget', name, uid: `uid-${name}` }] },
  spec: { displayName: name, clusterManager: { name: CLUSTER_MANAGER } },
}) as KubernetesObject;

type Told = Record<string, (...args: unknown[]) => void>;
interface Given {
  readonly targets?: readonly string[];
  /** Those of them that are being deleted. */
  readonly leaving?: readonly string[];
  readonly kind?: TargetRef['kind'];
  /** Namespaces where targets are published. */
  readonly published?: readonly string[];
}

/** Starts it on targets with room for anything. */
async function start(t: TestContext, cluster: FakeCluster, given: Given = {}) {
  const { targets: names = ['eu'], leaving = [], kind = 'ClusterTarget', published = [] } = given;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await cluster.settled();
  });
  const world = { names, leaving: new Set(leaving), listeners: [] as Told[] };
  const refs = () => world.names.map((name) => ({ ref: { kind, name } }));
  const listen = (listener: Told) => void world.listeners.push(listener);
  const inventory = new ClusterInventory({ source: cluster.client, logger: SILENT }, published);
  const policies = { isComplete: true, policies: [],
    namespaces: new Map([[NAMESPACE, { 'multicluster-scheduler': 'enabled' }]]) };
  startClusterDecisions({
    source: cluster.client, inventory, logger: SILENT,
    targets: {
      listen, all: refs, untilSynced: async () => undefined,
      object: ({ name }: TargetRef) => ({ terminating: world.leaving.has(name), spec: {}, status: {} }),
    },
    inputs: { listen, untilReadOrBroken: async () => undefined },
    cache: {
      views: { snapshots: () => world.names.map((name) => aPlace(name)) },
      context: { policies, placed: new PlacedPods() },
    },
  } as unknown as ClusterDecisionOptions, stop.signal);
  inventory.run(stop.signal);
  const settled = async () => {
    for (let round = 0; round < 3; round += 1) {
      t.mock.timers.tick(0);
      await cluster.settled();
    }
  };
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms);
    await settled();
  };
  const tell = async (what: string) => {
    for (const listener of world.listeners) listener[what]?.();
    await settled();
  };
  await settled();
  return { world, settled, pass, tell };
}

const statusOf = (cluster: FakeCluster): ClusterDecisionStatus | undefined => {
  const write = cluster.writes.findLast(({ plural, verb }) => plural === CLUSTER_DECISIONS.plural && verb === 'patch');
  return (write?.body as Pick<ClusterDecision, 'status'> | undefined)?.status;
};
const chosen = (cluster: FakeCluster) => statusOf(cluster)?.decisions?.map(({ clusterName }) => clusterName);
/** The API server stores the status that was written. */
const stored = (cluster: FakeCluster, name: string): void => {
  const status = statusOf(cluster);
  cluster.put(CLUSTER_DECISIONS, decision(name, status === undefined ? {} : { status }));
  cluster.takeWrites();
};
const withDecision = (...discovered: readonly string[]): FakeCluster => {
  const cluster = new FakeCluster();
  cluster.put(CLUSTER_DECISIONS, decision('web'));
  cluster.put(TARGET_DISCOVERIES, discovery(...discovered));
  return cluster;
};

describe('a ClusterDecision', () => {
  it('gets the names of Argo CD in its status, in that of this object alone', async (t) => {
    const cluster = withDecision('eu', 'us');
    await start(t, cluster, { targets: ['eu', 'us'] });
    assert.deepEqual(chosen(cluster), ['argo-eu', 'argo-us']);
    const { at, body } = cluster.writes.at(-1)!;
    assert.deepEqual(at, { namespace: NAMESPACE, name: 'web', subresource: 'status' });
    assert.deepEqual((body as KubernetesObject).metadata, { uid: 'uid-web' });
  });
  it('costs no watch of discoveries while there is none, and one for all', async (t) => {
    const cluster = new FakeCluster();
    const { settled } = await start(t, cluster);
    assert.deepEqual([...cluster.watched.values()], [watchedPath(CLUSTER_DECISIONS)]);
    for (const name of ['one', 'two']) cluster.put(CLUSTER_DECISIONS, decision(name));
    await settled();
    const discoveries = [...cluster.watched.values()].filter((path) => path === watchedPath(TARGET_DISCOVERIES));
    assert.equal(discoveries.length, 1);
  });
  it('keeps what it has while discoveries cannot be read, and says so', async (t) => {
    const cluster = new FakeCluster();
    cluster.refused.set(TARGET_DISCOVERIES.plural, new ApiError(403, 'Forbidden', 'no'));
    const decisions = [{ clusterName: 'was', target: 'eu' }];
    cluster.put(CLUSTER_DECISIONS, decision('web', { status: { decisions } }));
    await start(t, cluster);
    assert.deepEqual(statusOf(cluster)?.decisions, decisions);
    assert.equal(statusOf(cluster)?.conditions?.[0]?.reason, 'NamesUnknown');
  });
  it('is told where there are no discoveries: no name is known, which is not unknown', async (t) => {
    const cluster = new FakeCluster();
    cluster.put(CLUSTER_DECISIONS, decision('web'));
    await start(t, cluster);
    assert.equal(statusOf(cluster)?.conditions?.[0]?.reason, 'NoCluster');
  });
  it('names no target anew that is being deleted', async (t) => {
    const cluster = withDecision('eu', 'us');
    await start(t, cluster, { targets: ['eu', 'us'], leaving: ['us'] });
    assert.deepEqual(chosen(cluster), ['argo-eu']);
  });
  it('keeps a target that is being deleted until it is gone: a reader would delete what runs there', async (t) => {
    const cluster = withDecision('eu', 'us');
    const { world, tell } = await start(t, cluster, { targets: ['eu', 'us'] });
    stored(cluster, 'web');
    world.leaving.add('us');
    await tell('changed');
    assert.deepEqual(cluster.takeWrites(), []);
    world.names = ['eu'];
    await tell('removed');
    assert.deepEqual(chosen(cluster), ['argo-eu']);
  });
  it('names no Target, though Argo CD knows a cluster of its name', async (t) => {
    const cluster = withDecision('eu');
    await start(t, cluster, { kind: 'Target' });
    assert.deepEqual([chosen(cluster), statusOf(cluster)?.conditions?.[0]?.reason], [[], 'NoCluster']);
  });
  it('that is gone is looked at no more', async (t) => {
    const cluster = withDecision('eu');
    const { settled, pass } = await start(t, cluster);
    cluster.remove(CLUSTER_DECISIONS, `${NAMESPACE}/web`);
    await settled();
    cluster.takeWrites();
    await pass(INTERVAL_MS);
    assert.deepEqual(cluster.takeWrites(), []);
  });
  it('is written once while nothing changes', async (t) => {
    const cluster = withDecision('eu');
    const { settled, pass } = await start(t, cluster);
    stored(cluster, 'web');
    await settled();
    for (let looks = 0; looks < 3; looks += 1) await pass(INTERVAL_MS);
    assert.deepEqual(cluster.takeWrites(), []);
  });
});

describe('a ClusterDecision is made again', () => {
  const WRITE = [`patch clusterdecisions ${NAMESPACE}/web`];
  /** Another target, which only this news shows. */
  const news: Record<string, (tell: (what: string) => Promise<void>) => Promise<void>> = {
    'when a target changes': (tell) => tell('changed'),
    'when a target is removed': (tell) => tell('removed'),
    'when a virtual node changes': (tell) => tell('nodeChanged'),
    'when policies or namespaces change': (tell) => tell('rulesChanged'),
  };
  for (const [when, come] of Object.entries(news)) {
    it(when, async (t) => {
      const cluster = withDecision('eu', 'us');
      const { world, settled, tell } = await start(t, cluster);
      stored(cluster, 'web');
      await settled();
      world.names = ['eu', 'us'];
      await settled();
      assert.deepEqual(cluster.takeWrites(), [], 'nobody has told it');
      await come(tell);
      assert.deepEqual(chosen(cluster), ['argo-eu', 'argo-us']);
    });
  }
  it('every half minute, for capacity of which nothing is told', async (t) => {
    const cluster = withDecision('eu', 'us');
    const { world, settled, pass } = await start(t, cluster);
    stored(cluster, 'web');
    await settled();
    world.names = ['eu', 'us'];
    await pass(INTERVAL_MS - 1);
    assert.deepEqual(cluster.takeWrites(), []);
    await pass(1);
    assert.deepEqual(cluster.takeWrites(), WRITE);
  });
  it('when discovery learns another name', async (t) => {
    const cluster = withDecision('eu');
    const { settled } = await start(t, cluster, { targets: ['eu', 'us'] });
    assert.deepEqual(chosen(cluster), ['argo-eu']);
    stored(cluster, 'web');
    cluster.put(TARGET_DISCOVERIES, discovery('eu', 'us'));
    await settled();
    assert.deepEqual(chosen(cluster), ['argo-eu', 'argo-us']);
  });
  it('after an error of the API server, and not after one that says that the object has changed', async (t) => {
    for (const [error, again] of [
      [new ApiError(500, 'InternalError', 'x'), WRITE], [new ApiError(404, 'NotFound', 'gone'), []],
      [new ApiError(409, 'Conflict', 'another'), []],
    ] as const) {
      const cluster = withDecision('eu', 'us');
      const { world, settled, pass, tell } = await start(t, cluster);
      stored(cluster, 'web');
      await settled();
      world.names = ['us'];
      cluster.failures.push(error);
      await tell('changed');
      assert.deepEqual(cluster.takeWrites(), WRITE);
      await pass(INTERVAL_MS - 1);
      assert.deepEqual(cluster.takeWrites(), again, error.reason);
      t.mock.timers.reset();
    }
  });
});

describe('PlacementDecisions of a ClusterDecision', () => {
  const slices = (cluster: FakeCluster) => cluster.writes.filter(({ plural }) => plural === PLACEMENT_DECISIONS.plural);
  const namesIn = (cluster: FakeCluster) => slices(cluster).map(({ body }) =>
    (body as { readonly decisions: readonly { readonly clusterProfileRef: { readonly name: string } }[] })
      .decisions.map(({ clusterProfileRef: { name } }) => name));

  it('name the profiles that there are, whatever Argo CD knows', async (t) => {
    const cluster = withDecision();
    for (const name of ['eu', 'us']) cluster.put(CLUSTER_PROFILES, profile(name));
    await start(t, cluster, { targets: ['eu', 'us', 'unpublished'], published: [NAMESPACE] });
    assert.deepEqual(chosen(cluster), []);
    assert.deepEqual([slices(cluster)[0]?.verb, namesIn(cluster)[0]], ['create', ['eu', 'us']]);
  });
  it('are not written in a namespace where no targets are published', async (t) => {
    const cluster = withDecision('eu');
    cluster.put(CLUSTER_PROFILES, profile('eu'));
    await start(t, cluster, { published: ['elsewhere'] });
    assert.deepEqual([chosen(cluster), slices(cluster)], [['argo-eu'], []]);
  });
  it('are not written while profiles or decisions of the namespace are unknown', async (t) => {
    for (const { plural } of [CLUSTER_PROFILES, PLACEMENT_DECISIONS]) {
      const cluster = withDecision('eu');
      cluster.refused.set(plural, new ApiError(404, 'NotFound', 'it is not served'));
      await start(t, cluster, { published: [NAMESPACE] });
      assert.deepEqual([chosen(cluster), slices(cluster)], [['argo-eu'], []], plural);
      t.mock.timers.reset();
    }
  });
  it('that are there but in no watch yet are no error, and not tried again at once', async (t) => {
    const cluster = withDecision('eu');
    cluster.put(CLUSTER_PROFILES, profile('eu'));
    const { settled, pass } = await start(t, cluster, { published: [NAMESPACE] });
    stored(cluster, 'web');
    cluster.failures.push(new ApiError(409, 'AlreadyExists', 'it exists'));
    await settled();
    assert.deepEqual(cluster.takeWrites(), [`create placementdecisions ${NAMESPACE}/web-0`]);
    await pass(INTERVAL_MS - 1);
    assert.deepEqual(cluster.takeWrites(), []);
  });
  it('follow the profiles', async (t) => {
    const cluster = withDecision('eu');
    const { settled } = await start(t, cluster, { published: [NAMESPACE] });
    assert.deepEqual(namesIn(cluster).at(-1), []);
    cluster.put(CLUSTER_PROFILES, profile('eu'));
    await settled();
    assert.deepEqual(namesIn(cluster).at(-1), ['eu']);
  });
});
