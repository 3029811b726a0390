// The end of a delegate's life in all its forms, on real control planes: ended is final, time to stop is honoured, nothing runs twice.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Condition, KubernetesObject, Pod } from '../../api/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL, POD_MISSING_SINCE_ANNOTATION, RUN_ONCE_FINALIZER } from '../../api/keys.ts';
import { PODS } from '../../api/resource-types.ts';
import { inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster } from '../support/isthmus-world.ts';
import { assertInvariants } from '../support/world-invariants.ts';

const NAMESPACE = 'life';
let world: IsthmusWorld;

before(async () => {
  world = await startWorld({ nodes: 1 });
  await makeNamespace(world, NAMESPACE);
});
after(async () => {
  if (world !== undefined) assertInvariants(world);
  await world?.stop();
});

/** A running elected pod, its delegate, and where that is. */
interface Pair {
  readonly proxy: Pod;
  readonly delegate: Pod;
  readonly home: WorldCluster;
}

const delegatesOf = (proxy: Pod, { pods }: WorldCluster): Pod[] => pods.objects.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid);
const at = ({ metadata: { namespace, name = '' } }: Pod) => ({ namespace, name });
const condition = (pod: Pod | undefined, wanted: string): Condition | undefined => pod?.status?.conditions?.find(({ type }) => type === wanted);

async function run(name: string, spec: Partial<Pod['spec']> = {}): Promise<Pair> {
  const metadata = { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } };
  await world.source.client.create(PODS, { metadata, spec: { containers: [{ name: 'main', image: 'example/main:1' }], ...spec } } as Pod);
  const pods = await world.source.pods.until(`${name} runs`, (all) => all.some((pod) => pod.metadata.name === name && isRunning(pod)));
  const proxy = pods.find((pod) => pod.metadata.name === name)!;
  const home = world.targets.find((target) => delegatesOf(proxy, target).length > 0)!;
  return { proxy, delegate: delegatesOf(proxy, home)[0]!, home };
}

/** The proxy as it is once `holds`; undefined when it has gone. */
async function proxyBecomes({ proxy }: Pair, what: string, holds: (pod: Pod | undefined) => boolean): Promise<Pod | undefined> {
  const find = (all: readonly Pod[]) => all.find(({ metadata }) => metadata.uid === proxy.metadata.uid);
  return find(await world.source.pods.until(what, (all) => holds(find(all)), 30_000));
}

/** How many pods there ever were for a proxy, over all targets. */
function everMade({ proxy }: Pair): number {
  const versions = world.targets.flatMap(({ pods }) => pods.history.flatMap(({ after: pod }) => (pod === undefined ? [] : [pod])));
  return new Set(versions.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === proxy.metadata.uid).map(({ metadata }) => metadata.uid)).size;
}

function patchStatus({ home: { client }, delegate }: Pair, status: object): Promise<unknown> {
  return client.patch(PODS, { ...at(delegate), subresource: 'status' }, { patchType: 'strategic', patch: { status } });
}

describe('a pod that ran to its end', () => {
  it('44, 45: is Failed with its reason when it was evicted there, and stays so when the delegate is cleaned up', async () => {
    const pair = await run('evicted');
    await patchStatus(pair, { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' });
    const failed = await proxyBecomes(pair, 'Failed', (pod) => pod?.status?.phase === 'Failed');
    assert.deepEqual([failed?.status?.reason, failed?.status?.message], ['Evicted', 'The node was low on resource: memory.']);
    await pair.home.client.delete(PODS, at(pair.delegate));
    await pair.home.chaperons.until('it is known to be missing, or ended', (all) => all.some(({ metadata, status }) => metadata.name === pair.delegate.metadata.name && (status?.phase === 'Failed' || metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION] !== undefined)));
    assert.equal(world.source.pods.get(`${NAMESPACE}/evicted`)?.status?.phase, 'Failed');
    assert.equal(everMade(pair), 1);
  });

  it('44: is not run again when it must run once and was taken away while the controller there was down', async () => {
    const pair = await run('once', { restartPolicy: 'Never' });
    assert.ok(pair.delegate.metadata.finalizers?.includes(RUN_ONCE_FINALIZER));
    const { name } = pair.home.cluster;
    await world.isthmus.processes.get(name)!.kill();
    await pair.home.client.delete(PODS, at(pair.delegate));
    await pair.home.pods.until('its containers have stopped', (all) => all.some(({ metadata }) => metadata.uid === pair.delegate.metadata.uid && metadata.deletionGracePeriodSeconds === 0));
    await world.isthmus.restart(name);
    await proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    assert.equal(everMade(pair), 1);
    assert.deepEqual(delegatesOf(pair.proxy, pair.home), []);
  });
});

describe('a pod that is deleted', () => {
  it('stays until its containers have stopped there, within the time that was asked for', async () => {
    const pair = await run('graceful');
    await pair.home.cluster.stopComponent('kwok', 'SIGSTOP');
    try {
      await world.source.client.delete(PODS, at(pair.proxy), { gracePeriodSeconds: 17 });
      const stopping = (seconds: number) => (all: readonly Pod[]) => all.some(({ metadata }) => metadata.uid === pair.delegate.metadata.uid && metadata.deletionGracePeriodSeconds === seconds);
      await pair.home.pods.until('the delegate has 17 s', stopping(17));
      assert.ok(world.source.pods.get(`${NAMESPACE}/graceful`) !== undefined, 'the proxy waits');
      await world.source.client.delete(PODS, at(pair.proxy), { gracePeriodSeconds: 3 });
      await pair.home.pods.until('the delegate has 3 s', stopping(3));
      assert.ok(world.source.pods.get(`${NAMESPACE}/graceful`) !== undefined, 'the proxy waits on');
    } finally {
      await pair.home.cluster.startComponent('kwok');
    }
    await proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    assert.deepEqual(delegatesOf(pair.proxy, pair.home), []);
  });

  it('has its own time when none was asked for', async () => {
    const pair = await run('own-time', { terminationGracePeriodSeconds: 23 });
    await world.source.client.delete(PODS, at(pair.proxy));
    await proxyBecomes(pair, 'gone', (pod) => pod === undefined);
    const seconds = pair.home.pods.history.flatMap(({ after: pod }) => (pod !== undefined && pod.metadata.uid === pair.delegate.metadata.uid ? [pod.metadata.deletionGracePeriodSeconds] : []));
    assert.ok(seconds.includes(23), String(seconds));
  });
});

describe('the status of a proxy pod', () => {
  it('shows no container that the target has put in, and keeps a condition that the source has set', async () => {
    const pair = await run('mixed');
    const gate: Condition = { type: 'example.com/gate', status: 'True' };
    await world.source.client.patch(PODS, { ...at(pair.proxy), subresource: 'status' }, { patchType: 'strategic', patch: { status: { conditions: [gate] } } });
    const [main] = pair.delegate.status?.containerStatuses ?? [];
    await patchStatus(pair, { containerStatuses: [{ ...main, restartCount: 3 }, { ...main, name: 'mesh-proxy' }] });
    const shown = await proxyBecomes(pair, 'the restarts', (pod) => JSON.stringify(pod?.status?.containerStatuses ?? []).includes('"restartCount":3'));
    assert.deepEqual(shown?.status?.containerStatuses?.map(({ name }) => name), ['main']);
    assert.equal(condition(shown, gate.type)?.status, 'True');
    assert.equal(condition(shown, 'Ready')?.status, 'True');
  });
});

describe('a StatefulSet', () => {
  it('keeps names and host names over a replacement, and old and new never overlap', async () => {
    const labels = { app: 'db' };
    const template = { metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } }, spec: { containers: [{ name: 'main', image: 'example/main:1' }] } };
    const STATEFUL_SETS = { group: 'apps', version: 'v1', plural: 'statefulsets', kind: 'StatefulSet', namespaced: true };
    await world.source.client.create(STATEFUL_SETS, { metadata: { namespace: NAMESPACE, name: 'db' }, spec: { replicas: 1, serviceName: 'db', selector: { matchLabels: labels }, template } } as KubernetesObject);
    const isFirst = (pod: Pod) => pod.metadata.name === 'db-0' && isRunning(pod);
    const before = (await world.source.pods.until('db-0 runs', (all) => all.some(isFirst))).find(isFirst)!;
    await world.source.client.delete(PODS, at(before));
    const isSecond = (pod: Pod) => isFirst(pod) && pod.metadata.uid !== before.metadata.uid;
    const second = (await world.source.pods.until('the next db-0 runs', (all) => all.some(isSecond), 40_000)).find(isSecond)!;
    const delegate = world.targets.flatMap((target) => delegatesOf(second, target))[0] as Pod & { readonly spec: { readonly hostname?: string } };
    assert.equal(delegate.spec.hostname, 'db-0');
    await world.source.client.delete(STATEFUL_SETS, { namespace: NAMESPACE, name: 'db' });
    await world.source.pods.until('db is gone', (all) => !inNamespace(all, NAMESPACE).some(({ metadata }) => metadata.name === 'db-0'), 40_000);
  });
});
