import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClustersetEndpoint, ClustersetMember } from '../../../../api/kinds/gateway.ts';
import { BROKER_COPY_LABEL } from '../../../../api/objects/keys.ts';
import { EXPORTED_SERVICES } from '../../../../api/kinds/service-discovery.ts';
import { CLUSTERSET_ENDPOINTS, CLUSTERSET_MEMBERS, SECRETS } from '../../../../api/resource-types.ts';
import { ExportSharing } from '../../../../gateway/broker/export-sharing.ts';
import { KubernetesMemberStore, USED_TOKENS_SECRET } from '../../../../gateway/broker/member-store.ts';
import { inNamespace } from '../../../support/objects/builders.ts';
import { exportOf } from '../../../support/objects/exported-services.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const NAMESPACE = 'isthmus-broker';
const member = (clusterID: string, spec: object = {}): ClustersetMember =>
  ({ metadata: { name: clusterID }, spec: { clusterID, ...spec } });
const stored = (of: ClustersetMember): Stored => [CLUSTERSET_MEMBERS, inNamespace(NAMESPACE)(of)];
const endpoint = (clusterID: string, name = `${clusterID}-mtls`): ClustersetEndpoint =>
  ({ metadata: { namespace: NAMESPACE, name }, spec: { clusterID, backend: 'mtls', addresses: [] } });
const storeOf = (cluster: MemoryCluster) => new KubernetesMemberStore(cluster.client, NAMESPACE, SILENT);

describe('tokens that are used', () => {
  const HOUR = 3_600_000;
  const usedIn = (cluster: MemoryCluster) =>
    Object.keys(cluster.find(SECRETS, USED_TOKENS_SECRET, NAMESPACE)?.['data'] ?? {}).toSorted();

  it('are used once, and beside one another', async () => {
    const cluster = new MemoryCluster();
    const store = storeOf(cluster);
    assert.deepEqual(
      [await store.useToken('a', HOUR, 0), await store.useToken('b', HOUR, 0), await store.useToken('a', HOUR, 1)],
      [true, true, false],
    );
    assert.deepEqual(usedIn(cluster), ['a', 'b']);
  });

  it('are used once by two brokers at the same time, the first token of all included', async () => {
    const cluster = new MemoryCluster();
    const answers = await Promise.all([1, 2, 3].map(() => storeOf(cluster).useToken('a', HOUR, 0)));
    assert.deepEqual(answers.filter(Boolean).length, 1);
    const others = await Promise.all(['b', 'c', 'b'].map((id) => storeOf(cluster).useToken(id, HOUR, 0)));
    assert.deepEqual([others.filter(Boolean).length, usedIn(cluster)], [2, ['a', 'b', 'c']]);
  });

  it('are remembered as long as they are valid, and forgotten then', async () => {
    const cluster = new MemoryCluster();
    const store = storeOf(cluster);
    await store.useToken('short', HOUR, 0);
    assert.equal(await store.useToken('short', HOUR, HOUR), false);
    await store.useToken('other', 3 * HOUR, HOUR + 1);
    assert.deepEqual(usedIn(cluster), ['other']);
  });

  it('with the name of what every object has are tokens like others', async () =>
    assert.equal(await storeOf(new MemoryCluster()).useToken('constructor', HOUR, 0), true));

  it('are not taken for unused where that cannot be read or written', async () => {
    const cluster = new MemoryCluster();
    cluster.before = ({ method }) => (method === 'POST' ? new Error('etcd is full') : undefined);
    await assert.rejects(storeOf(cluster).useToken('a', HOUR, 0), /etcd is full/);
    assert.deepEqual(usedIn(cluster), []);
  });
});

describe('members in the store of a broker', () => {
  it('are created once under their name', async () => {
    const cluster = new MemoryCluster();
    const store = storeOf(cluster);
    assert.equal(await store.saveCluster(member('eu')), true);
    assert.equal(await store.saveCluster(member('eu', { serviceCIDR: [] })), false);
    assert.deepEqual(await store.cluster('eu').then((found) => found?.spec), { clusterID: 'eu' });
    assert.equal(await store.cluster('us'), undefined);
  });

  it('are replaced in the version that was read, and in no other', async () => {
    const store = storeOf(new MemoryCluster(stored(member('eu'))));
    const read = await store.cluster('eu');
    assert.ok(read !== undefined);
    const changed = { ...read, spec: { ...read.spec, revokedSerials: ['AA'] } };
    assert.deepEqual([await store.saveCluster(changed), await store.saveCluster(changed)], [true, false]);
    assert.deepEqual((await store.cluster('eu'))?.spec.revokedSerials, ['AA']);
  });

  it('are listed on every page', async () => {
    const cluster = new MemoryCluster(...['a', 'b', 'c'].map((name) => stored(member(name))));
    cluster.pageSize = 2;
    assert.deepEqual((await storeOf(cluster).listClusters()).map(({ spec }) => spec.clusterID), ['a', 'b', 'c']);
  });

  it('go with all that is theirs, by what objects say and not by their names', async () => {
    const theirs = { ...exportOf('eu'), metadata: { namespace: NAMESPACE, name: 'eu.shop.web' } };
    const others = { ...exportOf('us'), metadata: { namespace: NAMESPACE, name: 'us.shop.web' } };
    const cluster = new MemoryCluster(
      stored(member('eu')), stored(member('eu-west')), [CLUSTERSET_ENDPOINTS, endpoint('eu')],
      [CLUSTERSET_ENDPOINTS, endpoint('eu-west')], [CLUSTERSET_ENDPOINTS, endpoint('us', 'eu-wireguard')],
      [EXPORTED_SERVICES, theirs], [EXPORTED_SERVICES, others],
    );
    const store = storeOf(cluster);
    await store.remove('eu', [], 0);
    const left = [CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS, EXPORTED_SERVICES].map((type) => cluster.names(type));
    assert.deepEqual(left, [
      [`${NAMESPACE}/eu-west`], [`${NAMESPACE}/eu-west-mtls`, `${NAMESPACE}/eu-wireguard`],
      [`${NAMESPACE}/us.shop.web`],
    ]);
    await store.remove('eu', [], 0);
  });

  it('leave their certificates behind, while these last, for the next member of their ID alone', async () => {
    const cluster = new MemoryCluster(stored(member('eu')));
    const store = storeOf(cluster);
    await store.useToken('eu', 100, 0);
    await store.remove('eu', [{ serial: 'AA', notAfterMs: 100 }, { serial: 'BB', notAfterMs: 10 }], 10);
    await store.remove('eu-west', [{ serial: 'CC', notAfterMs: 100 }], 10);
    assert.deepEqual(await store.serialsOfRemoved('eu'), ['AA'], 'BB has ended');
    assert.deepEqual(await store.serialsOfRemoved('us'), []);
    await store.useToken('later', 300, 101);
    assert.deepEqual(await store.serialsOfRemoved('eu'), [], 'it has ended as well');
  });

  it('leave all their certificates behind when removing them was interrupted, and one was renewed since', async () => {
    const store = storeOf(new MemoryCluster(stored(member('eu'))));
    const [first, second] = ['AA', 'BB'].map((serial) => ({ serial, notAfterMs: 100 }));
    await store.remove('eu', [first!], 0);
    await store.remove('eu', [first!, second!], 0);
    assert.deepEqual(await store.serialsOfRemoved('eu'), ['AA', 'BB']);
  });

  it('are there until their certificates are remembered', async () => {
    const cluster = new MemoryCluster(stored(member('eu')));
    cluster.before = ({ method }) => (method === 'POST' ? new Error('etcd is full') : undefined);
    await assert.rejects(storeOf(cluster).remove('eu', [{ serial: 'AA', notAfterMs: 100 }], 0), /etcd is full/);
    assert.deepEqual(cluster.names(CLUSTERSET_MEMBERS), [`${NAMESPACE}/eu`]);
  });

  it('write endpoints and exports under the name that the broker gave them, in its namespace', async () => {
    const cluster = new MemoryCluster();
    const store = storeOf(cluster);
    await store.saveEndpoint({ ...endpoint('eu'), metadata: { name: 'eu-mtls', namespace: 'kube-system' } });
    await store.saveExport({ ...exportOf('eu'), metadata: { name: 'eu.shop.web', namespace: 'kube-system' } });
    assert.deepEqual(cluster.names(CLUSTERSET_ENDPOINTS), [`${NAMESPACE}/eu-mtls`]);
    assert.deepEqual(cluster.names(EXPORTED_SERVICES), [`${NAMESPACE}/eu.shop.web`]);
    await store.removeExport('eu.shop.web');
    await store.removeExport('eu.shop.web');
    assert.deepEqual(cluster.names(EXPORTED_SERVICES), []);
  });
});

describe('copies of exports in a member', () => {
  const signal = new AbortController().signal;
  const at = (name: string, labels: Readonly<Record<string, string>> = { [BROKER_COPY_LABEL]: 'true' }): Stored =>
    [EXPORTED_SERVICES, { ...exportOf('us'), metadata: { namespace: NAMESPACE, name, labels } }];
  const sharing = (cluster: MemoryCluster) =>
    new ExportSharing({ client: cluster.client, namespace: NAMESPACE, logger: SILENT });
  const namesIn = (cluster: MemoryCluster) => cluster.names(EXPORTED_SERVICES).map((name) => name.split('/')[1]);

  it('are those of others when a stream begins; what was made by hand stays', async () => {
    const cluster = new MemoryCluster(at('gone.shop.web'), at('by-hand', {}));
    await sharing(cluster).receive('eu', { exports: [exportOf('eu'), exportOf('us')] }, signal);
    assert.deepEqual(namesIn(cluster), ['by-hand', 'us.shop.web']);
  });

  it('are not written when they are as they should be', async () => {
    const cluster = new MemoryCluster(at('us.shop.web'));
    await sharing(cluster).receive('eu', { exports: [exportOf('us')] }, signal);
    assert.deepEqual(cluster.writes, []);
  });

  it('follow changes one by one, and never those that tell of this member', async () => {
    const cluster = new MemoryCluster(at('us.shop.web'), at('eu.shop.web', {}));
    const shared = sharing(cluster);
    await shared.receive('eu', { exports: [exportOf('us')] }, signal);
    await shared.receive('eu', {
      changedExports: [exportOf('jp'), exportOf('eu', { slices: [] })], goneExports: ['us.shop.web', 'eu.shop.web'],
    }, signal);
    assert.deepEqual(namesIn(cluster), ['eu.shop.web', 'jp.shop.web']);
    assert.deepEqual(cluster.writes.filter((write) => write.includes('eu.shop.web')), []);
  });

  it('are not made of an export under the name of another', async () => {
    const cluster = new MemoryCluster();
    const lie = { ...exportOf('us'), metadata: { name: 'jp.shop.web' } };
    await sharing(cluster).receive('eu', { exports: [lie] }, signal);
    await sharing(cluster).receive('eu', { changedExports: [lie] }, signal);
    assert.deepEqual(namesIn(cluster), []);
  });

  it('fail the stream when they cannot be written, so that the next one writes them', async () => {
    const cluster = new MemoryCluster();
    cluster.before = ({ method }) => (method === 'PATCH' ? new Error('etcd is full') : undefined);
    await assert.rejects(sharing(cluster).receive('eu', { exports: [exportOf('us')] }, signal), /etcd is full/);
    cluster.before = () => undefined;
    await sharing(cluster).receive('eu', { exports: [exportOf('us')] }, signal);
    assert.deepEqual(namesIn(cluster), ['us.shop.web']);
  });
});
