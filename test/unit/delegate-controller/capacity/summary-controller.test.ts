// When a target publishes its summary: once all is known, a moment after a change, and as its heartbeat; with what it
// holds at that time, and where it belongs.
import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import type { ClusterSummary } from '../../../../api/kinds/cluster-summary.ts';
import type { Node, Pod } from '../../../../api/objects/core.ts';
import { STOPS_UNCONFIRMED_ANNOTATION } from '../../../../api/objects/keys.ts';
import { NODES, PODS } from '../../../../api/resource-types.ts';
import { ResourceShareLedger } from '../../../../delegate-controller/resource-shares/resource-share-ledger.ts';
import { startSummary, type SummaryOptions } from '../../../../delegate-controller/capacity/summary-controller.ts';
import { toTargetPodRecord, type TargetPod } from '../../../../delegate-controller/target-cache/target-pod.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { Informer } from '../../../../kubernetes/watch/informer.ts';
import {
  aDelegate, aNode, aPod, cordoned, inPhase, labelled, named, onNode, withAllocatable, withRequests, type Change,
} from '../../../support/objects/builders.ts';
import { FakeCluster, startEachTest } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const GATHER_MS = 1_300;
const HEARTBEAT_MS = 60_000;
const ROOM = { cpu: '4', memory: '8Gi', pods: '10' };
const node = (name: string, ...changes: readonly Change<Node>[]) =>
  aNode(named(name), withAllocatable(ROOM), ...changes);
const running = (name: string, cpu: string): Pod =>
  aPod(named(name), onNode('one'), inPhase('Running'), withRequests({ cpu }));

let cluster: FakeCluster;
let stop: AbortController;
let now = 0;

/** A summary of what the cluster holds now. */
async function started(more: Partial<SummaryOptions> = {}): Promise<() => boolean> {
  const { client } = cluster;
  const pods = new Informer<Pod, TargetPod>({
    client, logger: SILENT, type: PODS, selection: {}, project: (pod) => toTargetPodRecord(pod),
  });
  const hasNodes = startSummary({ client, pods, logger: SILENT, ...more }, stop.signal);
  void pods.run(stop.signal);
  await cluster.settled();
  return hasNodes;
}

/** What is published within this time, in ms. */
async function within(ms: number, at = cluster): Promise<readonly ClusterSummary[]> {
  now += ms;
  mock.timers.tick(ms);
  await cluster.settled();
  return at.writes.splice(0).map(({ body }) => body as ClusterSummary);
}

/** What is published after each look at what has gathered, of the four that small changes wait for. */
async function inFourLooks(): Promise<readonly (readonly unknown[])[]> {
  const looks = [];
  for (let look = 0; look < 4; look += 1) looks.push((await within(GATHER_MS)).map(({ free }) => free?.['cpu']));
  return looks;
}

async function change(make: () => void): Promise<void> {
  make();
  await cluster.settled();
}

const withCluster = (): void => startEachTest(() => {
  [cluster, stop, now] = [new FakeCluster(), new AbortController(), 1_000_000];
  return { cluster, stop, now: () => now };
});

describe('a summary', () => {
  withCluster();
  it('is published at once when all is known, also of a cluster that is empty', async () => {
    const hasNodes = await started();
    const [summary, ...more] = await within(0);
    assert.deepEqual([hasNodes(), summary?.metadata.name, summary?.nodeGroups, more], [true, 'singleton', [], []]);
  });

  it('is not published while the nodes cannot be read', async () => {
    cluster.refused.set('nodes', new ApiError(403, 'Forbidden', 'nodes is forbidden'));
    const hasNodes = await started();
    assert.deepEqual([await within(HEARTBEAT_MS), hasNodes()], [[], false]);
  });

  it('gathers the changes of a moment', async () => {
    cluster.put(NODES, node('one'));
    await started();
    await within(0);
    for (const name of ['a', 'b', 'c']) await change(() => cluster.put(PODS, running(name, '1')));
    assert.deepEqual(await within(GATHER_MS - 1), []);
    await change(() => cluster.put(NODES, node('other')));
    const [summary, ...more] = await within(1);
    assert.deepEqual([summary?.free?.['cpu'], more], ['5', []]);
  });

  it('is not published for a change that changes no figure', async () => {
    cluster.put(NODES, node('one'));
    await started();
    await within(0);
    await change(() => cluster.put(NODES, node('one', (same) => ({ ...same, metadata: { ...same.metadata,
      annotations: { heartbeat: 'now' } } }))));
    await change(() => cluster.put(PODS, aPod(named('waits'), withRequests({ cpu: '1' }))));
    assert.deepEqual(await within(GATHER_MS), []);
  });

  it('is published for a delegate that has its node, though another pod has left as much', async () => {
    cluster.put(NODES, node('one'));
    cluster.put(PODS, running('other', '1'));
    await started();
    await within(0);
    await change(() => cluster.remove(PODS, 'team-a/other'));
    await change(() => cluster.put(PODS, aDelegate(onNode('one'), withRequests({ cpu: '1' }))));
    cluster.failures.push(new ApiError(503, 'ServiceUnavailable', '-', 2_000));
    assert.deepEqual(await inFourLooks(), [[], [], [], ['3']]);
    await within(2_000); // it is tried again, and gathers
    assert.deepEqual(await inFourLooks(), [[], [], [], ['3']], 'that one failed');
    assert.deepEqual(await inFourLooks(), [[], [], [], []]);
  });

  it('gathers small changes for longer, until their sum is large', async () => {
    cluster.put(NODES, node('one', withAllocatable({ ...ROOM, pods: '110' })));
    await started();
    await within(0);
    await change(() => cluster.put(PODS, running('a', '200m')));
    assert.deepEqual(await inFourLooks(), [[], [], [], ['3800m']]);
    await change(() => cluster.put(PODS, running('b', '200m')));
    assert.deepEqual(await within(GATHER_MS), []);
    await change(() => cluster.put(PODS, running('c', '200m')));
    assert.deepEqual(await inFourLooks(), [['3400m'], [], [], []]);
  });

  it('is repeated as a heartbeat, and says up to which version of the pods it is complete', async () => {
    cluster.put(NODES, node('one'));
    await started();
    const [first] = await within(0);
    assert.deepEqual(await within(HEARTBEAT_MS - 1), []);
    await change(() => cluster.put(PODS, aPod(named('waits'))));
    await within(GATHER_MS); // it is due, and gathers
    const [second] = await within(GATHER_MS);
    const { observed: { podsResourceVersion: before = '' } = {} } = first ?? assert.fail();
    const { observed: { podsResourceVersion: after = '' } = {} } = second ?? assert.fail();
    assert.ok(Number(after) > Number(before));
  });

  it('is published again after a write that failed', async () => {
    cluster.put(NODES, node('one'));
    cluster.failures.push(new ApiError(503, 'ServiceUnavailable', '-', 2_000));
    await started();
    assert.equal((await within(0)).length, 1);
    assert.equal((await within(2_000)).length, 1);
    assert.deepEqual(await within(GATHER_MS), []);
  });

  it('leaves out a node that is cordoned, and has it back', async () => {
    cluster.put(NODES, node('one'));
    await started();
    await within(0);
    await change(() => cluster.put(NODES, node('one', cordoned())));
    assert.deepEqual((await within(GATHER_MS)).map(({ free }) => free), [{}]);
    await change(() => cluster.put(NODES, node('one')));
    assert.deepEqual((await within(GATHER_MS)).map(({ free }) => free), [ROOM]);
  });

  it('drops what a relist no longer has, when a watch has expired', async () => {
    cluster.put(NODES, node('one'));
    cluster.put(NODES, node('other'));
    await started();
    await within(0);
    cluster.lose(NODES, 'other');
    cluster.endWatches(NODES, { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' });
    await cluster.settled();
    assert.deepEqual((await within(GATHER_MS)).map(({ free }) => free), [ROOM]);
  });
});

describe('the place of a summary', () => {
  withCluster();
  it('is the target, where it says that the delegate controller stops unconfirmed pods', async () => {
    await started();
    const [{ metadata } = assert.fail()] = await within(0);
    assert.deepEqual([metadata.name, metadata.annotations], ['singleton', { [STOPS_UNCONFIRMED_ANNOTATION]: 'true' }]);
  });

  it('is the source for a target without a controller of its own, where nobody stops them', async () => {
    cluster.put(NODES, node('one', labelled({ zone: 'a' })));
    const source = new FakeCluster();
    await started({ storedInSource: { source: source.client, name: 'admiralty-eu' } });
    const [{ metadata, free } = assert.fail()] = await within(0, source);
    assert.deepEqual([metadata.name, metadata.annotations, free, cluster.writes], ['admiralty-eu', {}, ROOM, []]);
  });
});

describe('shares in a summary', () => {
  withCluster();
  it('are told to all sources, of the cluster as it is then', async () => {
    cluster.put(NODES, node('one'));
    const ledger = new ResourceShareLedger();
    let changed = (): void => undefined;
    const resourceShares = { ledger, onChange: (listener: () => void) => void (changed = listener) };
    await started({ resourceShares: resourceShares as unknown as NonNullable<SummaryOptions['resourceShares']> });
    assert.equal((await within(0))[0]?.shares, undefined);
    ledger.set('berlin', { name: 'berlin', spec: { source: 'c1', percentage: 50, limits: { memory: '1Gi' } } });
    await change(changed);
    const [{ shares: published } = assert.fail()] = await within(GATHER_MS);
    assert.deepEqual(published, [{ source: 'c1', limits: { cpu: '2', memory: '1Gi', pods: '5' } }]);
  });
});
