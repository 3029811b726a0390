import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { DELEGATE_FINALIZER, PARENT_CLUSTER_LABEL, TARGET_ANNOTATION } from '../../../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import { orphanedPods, returnPods, takePods } from '../../../../cli/migrate/migrate-pods.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { admiraltyChaperon, admiraltyProxy } from '../../../support/objects/admiralty-pods.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { memoryMigration, memoryTarget } from '../../../support/doubles/memory-migration.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const P = 'multicluster.admiralty.io/';

/** A source with one proxy of Admiralty's, and a target with its PodChaperon and delegate. */
function world(t: TestContext, { nodeName, isPlaced = true, more = {} }: {
  readonly nodeName?: string; readonly isPlaced?: boolean; readonly more?: object
} = {}) {
  const made = admiraltyProxy(
    { namespace: 'web', name: 'a', finalizers: [`${P}web-eu`], ...(nodeName !== undefined && { nodeName }) },
  );
  const proxy: Pod = { ...made, metadata: { ...made.metadata, uid: 'u1', ...more } };
  const chaperon = admiraltyChaperon(proxy, 'hub');
  const delegate: Pod =
    { metadata: chaperon.metadata, spec: { containers: [], ...(isPlaced && { nodeName: 'node-1' }) } };
  const source = new MemoryCluster([PODS, proxy]);
  const target = new MemoryCluster([POD_CHAPERONS, chaperon], [PODS, delegate]);
  const { name = '' } = chaperon.metadata;
  return {
    source, target, name, time: virtualWaits(t),
    migration: memoryMigration(source, { targets: [memoryTarget(target, 'eu')] }),
    proxy: () => source.find(PODS, 'a', 'web') as unknown as Pod | undefined,
    /** The target's own garbage collector. */
    collect: () => target.drop(PODS, { namespace: 'web', name }),
  };
}

describe('pods that are taken over', () => {
  it('run on: the proxy, its PodChaperon and the delegate are marked, and nothing is made or deleted', async (t) => {
    const { source, target, migration, proxy, name } = world(t, { nodeName: 'admiralty-eu' });
    await takePods(migration);
    assert.deepEqual(proxy()?.metadata.finalizers, [DELEGATE_FINALIZER]);
    assert.equal(proxy()?.metadata.annotations?.[TARGET_ANNOTATION], 'ClusterTarget/eu');
    for (const type of [POD_CHAPERONS, PODS]) {
      assert.equal(target.find(type, name, 'web')?.metadata.labels?.[PARENT_CLUSTER_LABEL], 'own-id');
    }
    assert.deepEqual([...source.writes, ...target.writes].filter((write) => !write.startsWith('PATCH')), []);
    assert.deepEqual(migration.told.at(-1), '  3 writes to proxy pods and objects created for them');
  });

  it('are not written to once they are ours', async (t) => {
    const { source, target, migration } = world(t, { nodeName: 'admiralty-eu' });
    await takePods(migration);
    const before = [source.writes.length, target.writes.length];
    await takePods(migration);
    assert.deepEqual([source.writes.length, target.writes.length], before);
  });

  it('are taken over at the next look when a kubelet wrote to one at the same time', async (t) => {
    const { source, migration, proxy } = world(t, { nodeName: 'admiralty-eu' });
    let conflicts = 2;
    source.before = ({ method }) => (
      method === 'PATCH' && (conflicts -= 1) >= 0 ? new ApiError(409, 'Conflict', 'changed') : undefined
    );
    await takePods(migration);
    assert.deepEqual(proxy()?.metadata.finalizers, [DELEGATE_FINALIZER]);
  });

  it('are ours in the target before the proxy is: a target that refuses leaves the proxy to Admiralty', async (t) => {
    const { target, migration, proxy } = world(t, { nodeName: 'admiralty-eu' });
    target.before = ({ method }) => (method === 'PATCH' ? new ApiError(403, 'Forbidden', 'no') : undefined);
    await assert.rejects(takePods(migration), { status: 403 });
    assert.deepEqual(proxy()?.metadata.finalizers, [`${P}web-eu`]);
  });

  it('are ours in the target before the proxy is, also when a write there has to be repeated', async (t) => {
    const { source, target, migration } = world(t, { nodeName: 'admiralty-eu' });
    let conflicts = 1;
    target.before = ({ method }) => {
      assert.ok(method === 'GET' || source.writes.length === 0, 'the proxy was marked first');
      return method === 'PATCH' && (conflicts -= 1) >= 0 ? new ApiError(409, 'Conflict', 'changed') : undefined;
    };
    await takePods(migration);
    assert.deepEqual([target.writes.length, source.writes.length], [2, 1]);
  });

  it('without a node are bound where a target has given their candidate one', async (t) => {
    const { source, migration, proxy } = world(t);
    await takePods(migration);
    assert.equal(proxy()?.spec.nodeName, 'admiralty-eu');
    assert.deepEqual(proxy()?.metadata.finalizers, [DELEGATE_FINALIZER]);
    assert.equal(source.writes[0], 'POST /api/v1/namespaces/web/pods/a/binding');
  });

  it('without a node anywhere wait until no candidate is left, and then for our scheduler', async (t) => {
    const { migration, proxy, time, collect, target } = world(t, { isPlaced: false });
    time.during = (count) => {
      assert.deepEqual(proxy()?.metadata.finalizers, [`${P}web-eu`], 'a candidate may still be given a node');
      if (count === 2) collect();
    };
    await takePods(migration);
    assert.deepEqual([time.waits.length, target.names(POD_CHAPERONS)], [2, []]);
    assert.deepEqual([proxy()?.spec.nodeName, proxy()?.metadata.finalizers], [undefined, [DELEGATE_FINALIZER]]);
    assert.ok(migration.told.includes('  waiting until nothing is left of web/a'));
  });

  it('that are being deleted end once their delegates have', async (t) => {
    const { migration, proxy, time, collect } =
      world(t, { nodeName: 'admiralty-eu', more: { deletionTimestamp: '2026-01-01T00:00:00Z' } });
    time.during = (count) => void (count === 1 && collect());
    await takePods(migration);
    assert.equal(proxy(), undefined);
  });

  it('whose delegates do not end are named after two minutes without a change', async (t) => {
    const { migration, time } = world(t, { isPlaced: false });
    await assert.rejects(takePods(migration), { code: 'Timeout', message: /do not end: web\/a\..*run the same/ });
    assert.equal(time.waits.length, 240, 'two looks a second');
  });

  it('on a node of another target are left to that target, and are the ones that belong to nothing', async (t) => {
    const { source, migration } = world(t, { nodeName: 'admiralty-us' });
    await takePods(migration);
    assert.deepEqual([source.writes, await orphanedPods(migration)], [[], ['web/a']]);
  });

  it('whose PodChaperon has gone are told of, each time, and are left', async (t) => {
    const { target, source, migration, name } = world(t, { nodeName: 'admiralty-eu' });
    target.drop(POD_CHAPERONS, { namespace: 'web', name });
    await takePods(migration);
    assert.match(migration.told.join('\n'), /left web\/a: its PodChaperon is not in the target/);
    assert.deepEqual(source.writes, []);
  });

  it('of a Target are looked for in its namespace alone', async (t) => {
    const { source, target } = world(t, { nodeName: 'admiralty-web-eu' });
    const paths: string[] = [];
    target.before = ({ path }) => void paths.push(path);
    await takePods(memoryMigration(source, { targets: [memoryTarget(target, 'eu', false, 'web')] }));
    assert.ok(paths.every((path) => path.includes('/namespaces/web/')), paths.join('\n'));
  });

  it('do not get our finalizer in a target where Admiralty still runs, which would never remove it', async (t) => {
    const { source, target, name } = world(t, { nodeName: 'admiralty-eu' });
    await takePods(memoryMigration(source, { targets: [memoryTarget(target, 'eu', true)] }));
    assert.deepEqual(target.find(POD_CHAPERONS, name, 'web')?.metadata.finalizers ?? [], []);
  });

  it('are found on every page of either cluster', async (t) => {
    const { source, target, migration } = world(t, { nodeName: 'admiralty-eu' });
    for (const cluster of [source, target]) cluster.pageSize = 1;
    const second = admiraltyProxy({ namespace: 'web', name: 'b', finalizers: [], nodeName: 'admiralty-eu' });
    source.put(PODS, { ...second, metadata: { ...second.metadata, uid: 'u2' } });
    target.put(POD_CHAPERONS, admiraltyChaperon({ ...second, metadata: { ...second.metadata, uid: 'u2' } }, 'hub'));
    await takePods(migration);
    assert.deepEqual(await orphanedPods(migration), []);
  });

  it('are not waited for by a user who stops the command', async (t) => {
    const { source, target, time } = world(t, { isPlaced: false });
    const stop = new AbortController();
    time.during = () => stop.abort('SIGINT');
    const migration = memoryMigration(source, { targets: [memoryTarget(target, 'eu')], signal: stop.signal });
    await assert.rejects(takePods(migration), (reason) => reason === 'SIGINT');
    assert.equal(time.waits.length, 1);
  });
});

describe('pods that are given back', () => {
  it('get the finalizers of Admiralty, and their objects name its cluster', async (t) => {
    const { source, target, migration, proxy, name } = world(t, { nodeName: 'admiralty-eu' });
    await takePods(migration);
    await returnPods(migration);
    assert.deepEqual(proxy()?.metadata.finalizers, []);
    assert.equal(target.find(POD_CHAPERONS, name, 'web')?.metadata.labels?.[PARENT_CLUSTER_LABEL], 'hub');
    const before = [source.writes.length, target.writes.length];
    await returnPods(migration);
    assert.deepEqual([source.writes.length, target.writes.length], before, 'a second time nothing is left to do');
  });
});
