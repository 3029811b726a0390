import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import {
  COPY_DIGEST_ANNOTATION, HAS_FINALIZER_LABEL, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL,
} from '../../../../api/objects/keys.ts';
import { CONFIG_MAPS, INGRESSES, SECRETS, SERVICES } from '../../../../api/resource-types.ts';
import { returnFollowed, takeFollowed } from '../../../../cli/migrate/migrate-followed.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { memoryMigration, memoryTarget } from '../../../support/doubles/memory-migration.ts';

const parent = (name: string, more: object = {}): KubernetesObject =>
  ({ metadata: { namespace: 'shop', name, uid: `uid-${name}`, ...more } });
const copyOf = (name: string, cluster: string, uid = `uid-${name}`): KubernetesObject => ({
  metadata: {
    namespace: 'shop', name, labels: { [PARENT_UID_LABEL]: uid, [PARENT_CLUSTER_LABEL]: cluster },
    annotations: { [PARENT_NAME_ANNOTATION]: name },
  },
});
const clusterOf = (cluster: MemoryCluster, type: typeof CONFIG_MAPS | typeof SECRETS, name: string) =>
  cluster.find(type, name, 'shop')?.metadata.labels?.[PARENT_CLUSTER_LABEL];

describe('copies that are taken over', () => {
  for (const type of [CONFIG_MAPS, SERVICES, INGRESSES]) {
    it(`of ${type.kind}s name this cluster; copies of others keep their names`, async () => {
      const source = new MemoryCluster([type, parent('a')]);
      const target = new MemoryCluster(
        [type, copyOf('a', 'hub')], [type, copyOf('b', 'hub', 'of-another-source')], [type, copyOf('c', 'paris')],
      );
      const migration = memoryMigration(source, { targets: [memoryTarget(target, 'eu')] });
      await takeFollowed(migration);
      assert.deepEqual(
        ['a', 'b', 'c'].map((name) => target.find(type, name, 'shop')?.metadata.labels?.[PARENT_CLUSTER_LABEL]),
        ['own-id', 'hub', 'paris'],
      );
      assert.deepEqual(migration.told, [`  ${type.plural}: 1 copies taken over, 0 freed from finalizers`]);
    });
  }

  it('of Secrets are written whole, as this source writes them: it may not read them there', async () => {
    const secret = { ...parent('key', { labels: { app: 'web' } }), data: { token: 'bmV3' }, type: 'Opaque' };
    const source = new MemoryCluster([SECRETS, secret]);
    const before = { ...copyOf('key', 'hub'), data: { token: 'b2xk' } };
    const target = new MemoryCluster([SECRETS, before]);
    await takeFollowed(memoryMigration(source, { targets: [memoryTarget(target, 'eu')] }));
    const { data, metadata } = target.find(SECRETS, 'key', 'shop')!;
    assert.deepEqual([data, metadata.labels?.['app'], clusterOf(target, SECRETS, 'key')], [
      { token: 'bmV3' }, 'web', 'own-id',
    ]);
    assert.ok(metadata.annotations?.[COPY_DIGEST_ANNOTATION] !== undefined);
    assert.deepEqual(target.writes, ['PUT /api/v1/namespaces/shop/secrets/key']);
  });

  it('that change while they are written to are read again, and those that go are left', async () => {
    const source = new MemoryCluster([SECRETS, parent('key')], [CONFIG_MAPS, parent('a')]);
    const target = new MemoryCluster([SECRETS, copyOf('key', 'hub')], [CONFIG_MAPS, copyOf('a', 'hub')]);
    let changes = 2;
    target.before = ({ method }) => {
      if (method === 'PUT' && (changes -= 1) >= 0) target.put(SECRETS, copyOf('key', 'hub'));
      if (method === 'PATCH') target.drop(CONFIG_MAPS, { namespace: 'shop', name: 'a' });
      return undefined;
    };
    await takeFollowed(memoryMigration(source, { targets: [memoryTarget(target, 'eu')] }));
    assert.deepEqual([clusterOf(target, SECRETS, 'key'), target.writes.length], ['own-id', 1]);
  });

  it('free objects that somebody changes meanwhile, and end with an error where that never ends', async () => {
    const source = new MemoryCluster([INGRESSES, parent('a', { finalizers: ['multicluster.admiralty.io/eu'] })]);
    let changes = Infinity;
    const labels = () => ({ labels: { at: String(changes) }, finalizers: ['multicluster.admiralty.io/eu'] });
    source.before = ({ method }) => void (
      method === 'PATCH' && (changes -= 1) >= 0 && source.put(INGRESSES, parent('a', labels()))
    );
    await assert.rejects(takeFollowed(memoryMigration(source)), {
      code: 'Timeout', message: /Some ingresses change faster.*run the same/,
    });
    changes = 1;
    await takeFollowed(memoryMigration(source));
    assert.deepEqual(source.find(INGRESSES, 'a', 'shop')?.metadata.finalizers, []);
  });

  it('free the objects in the source: Admiralty, which alone would, has ended', async () => {
    const finalizers = ['multicluster.admiralty.io/eu', 'example.com/keep'];
    const labels = { [HAS_FINALIZER_LABEL]: 'true', app: 'web' };
    const source = new MemoryCluster([CONFIG_MAPS, parent('a', { finalizers, labels })]);
    const migration = memoryMigration(source);
    await takeFollowed(migration);
    const { metadata } = source.find(CONFIG_MAPS, 'a', 'shop')!;
    assert.deepEqual([metadata.finalizers, metadata.labels], [['example.com/keep'], { app: 'web' }]);
    assert.deepEqual(migration.told, ['  configmaps: 0 copies taken over, 1 freed from finalizers']);
    await takeFollowed(migration);
    assert.equal(source.writes.length, 1);
  });

  it('stop at a target that refuses, before objects of the source lose what protects them', async () => {
    const finalizers = ['multicluster.admiralty.io/eu'];
    const source = new MemoryCluster([CONFIG_MAPS, parent('a', { finalizers })]);
    const target = new MemoryCluster();
    target.before = () => new Error('forbidden');
    await assert.rejects(takeFollowed(memoryMigration(source, { targets: [memoryTarget(target, 'eu')] })), /forbidden/);
    assert.deepEqual(source.find(CONFIG_MAPS, 'a', 'shop')?.metadata.finalizers, finalizers);
  });
});

describe('copies that are given back', () => {
  it('name the cluster as Admiralty does, Secrets with what they hold, those of other clusters never', async () => {
    const source = new MemoryCluster([CONFIG_MAPS, parent('a')], [SECRETS, parent('key')]);
    const target = new MemoryCluster(
      [CONFIG_MAPS, copyOf('a', 'own-id')], [CONFIG_MAPS, copyOf('b', 'own-id', 'gone-parent')],
      [SECRETS, { ...copyOf('key', 'own-id'), data: { token: 'b2xk' } } as KubernetesObject],
    );
    await returnFollowed(memoryMigration(source, { targets: [memoryTarget(target, 'eu')] }));
    assert.deepEqual(
      [clusterOf(target, CONFIG_MAPS, 'a'), clusterOf(target, CONFIG_MAPS, 'b'), clusterOf(target, SECRETS, 'key')],
      ['hub', 'own-id', 'hub'],
    );
    assert.deepEqual(target.find(SECRETS, 'key', 'shop')?.['data'], { token: 'b2xk' });
  });
});
