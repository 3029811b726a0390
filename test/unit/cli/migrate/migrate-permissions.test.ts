import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ClusterSource, Source } from '../../../../api/kinds/cluster-source.ts';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_SOURCES, ROLE_BINDINGS, SERVICE_ACCOUNTS, SOURCES,
} from '../../../../api/resource-types.ts';
import {
  grantAdmiraltyPermissions, removeOurPermissions, takePermissions, untilPermissionsReturned,
} from '../../../../cli/migrate/migrate-permissions.ts';
import type { Call } from '../../../../kubernetes/http/transport.ts';
import { IDENTITY_LABELS } from '../../../../peering/identity/source-identity.ts';
import { MemoryCluster, type Stored } from '../../../support/doubles/memory-cluster.ts';
import { memoryMigration } from '../../../support/doubles/memory-migration.ts';
import { virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const berlin: ClusterSource =
  { metadata: { name: 'berlin' }, spec: { serviceAccount: { namespace: 'adm', name: 'berlin' } } };
const shop: Source = { metadata: { namespace: 'shop', name: 'rome' }, spec: { userName: 'rome@example.com' } };
const nobody: ClusterSource = { metadata: { name: 'nobody' }, spec: {} };
const [SOURCE, VIEWER] = ['admiralty-cluster-source-berlin', 'admiralty-cluster-source-berlin-cluster-summary-viewer'];
const binding = (name: string, role: string, labels = {}) => ({
  metadata: { name, labels }, roleRef: { kind: 'ClusterRole', name: role, apiGroup: 'rbac.authorization.k8s.io' },
});
/** The bindings of Admiralty to the one ClusterSource. */
const ADMIRALTYS: readonly Stored[] = [
  [CLUSTER_SOURCES, berlin], [CLUSTER_ROLE_BINDINGS, binding(SOURCE, 'mc-source')],
  [CLUSTER_ROLE_BINDINGS, binding(VIEWER, 'mc-viewer')],
];

/** What each binding gives. */
function given(cluster: MemoryCluster): Readonly<Record<string, string>> {
  return Object.fromEntries(cluster.names(CLUSTER_ROLE_BINDINGS).map((name) => {
    const { roleRef } = cluster.find(CLUSTER_ROLE_BINDINGS, name)!;
    return [name, (roleRef as { readonly name: string }).name];
  }));
}

/** Fails once the n-th write was done, as a process that is killed there. */
function killedAfter(cluster: MemoryCluster, writes: number): void {
  cluster.before = () => (cluster.writes.length >= writes ? new Error('killed') : undefined);
}

describe('permissions that are taken over', () => {
  it('are those of Isthmus under the names of Admiralty, and no temporary binding is left', async () => {
    const cluster = new MemoryCluster(...ADMIRALTYS);
    const migration = memoryMigration(cluster);
    await takePermissions(migration);
    assert.deepEqual(given(cluster), { [SOURCE]: 'isthmus-source', [VIEWER]: 'isthmus-cluster-summary-viewer' });
    assert.deepEqual(migration.told, [
      `  ${SOURCE} gives isthmus-source`, `  ${VIEWER} gives isthmus-cluster-summary-viewer`,
    ]);
  });

  it('are never missing in between: some binding gives our role, or that of Admiralty', async () => {
    const cluster = new MemoryCluster(...ADMIRALTYS);
    const moments: boolean[] = [];
    cluster.before = ({ method }: Call) => {
      const roles = new Set(Object.values(given(cluster)));
      if (method !== 'GET') moments.push(roles.has('mc-source') || roles.has('isthmus-source'));
      return undefined;
    };
    await takePermissions(memoryMigration(cluster));
    assert.deepEqual([...new Set(moments)], [true]);
  });

  it('are taken over for a Source in its namespace, for a user, and not for a source that names nobody', async () => {
    const cluster = new MemoryCluster([SOURCES, shop], [CLUSTER_SOURCES, nobody]);
    await takePermissions(memoryMigration(cluster));
    assert.deepEqual(cluster.names(ROLE_BINDINGS), ['shop/admiralty-source-rome']);
    assert.deepEqual(
      cluster.find(ROLE_BINDINGS, 'admiralty-source-rome', 'shop')?.['subjects'],
      [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'rome@example.com' }],
    );
  });

  it('need no kinds of sources', async () => {
    const cluster = new MemoryCluster().withoutKinds(CLUSTER_SOURCES, SOURCES);
    await takePermissions(memoryMigration(cluster));
    assert.deepEqual(cluster.writes, []);
  });

  for (const writes of [1, 2, 3, 4, 5, 6, 7]) {
    it(`are the same when the command was killed after write ${writes} and is run again`, async () => {
      const cluster = new MemoryCluster(...ADMIRALTYS);
      killedAfter(cluster, writes);
      await assert.rejects(takePermissions(memoryMigration(cluster)), /killed/);
      cluster.before = () => undefined;
      await takePermissions(memoryMigration(cluster));
      assert.deepEqual(given(cluster), { [SOURCE]: 'isthmus-source', [VIEWER]: 'isthmus-cluster-summary-viewer' });
    });
  }

  it('are taken over after a rollback that was interrupted between its bindings', async () => {
    const cluster = new MemoryCluster(...ADMIRALTYS);
    await grantAdmiraltyPermissions(memoryMigration(cluster));
    await takePermissions(memoryMigration(cluster));
    assert.deepEqual(given(cluster), { [SOURCE]: 'isthmus-source', [VIEWER]: 'isthmus-cluster-summary-viewer' });
  });

  it('end with the error of the API server, and what was there stays', async () => {
    const cluster = new MemoryCluster(...ADMIRALTYS);
    cluster.before = ({ method }) => (method === 'PATCH' ? new Error('forbidden') : undefined);
    await assert.rejects(takePermissions(memoryMigration(cluster)), /forbidden/);
    assert.deepEqual(given(cluster), { [SOURCE]: 'mc-source', [VIEWER]: 'mc-viewer' });
  });
});

describe('permissions that are given back', () => {
  const taken = async () => {
    const cluster = new MemoryCluster(...ADMIRALTYS);
    await takePermissions(memoryMigration(cluster));
    return cluster;
  };

  it("give sources Admiralty's roles before ours are removed", async () => {
    const cluster = await taken();
    const migration = memoryMigration(cluster);
    await grantAdmiraltyPermissions(migration);
    await removeOurPermissions(migration);
    assert.deepEqual(Object.values(given(cluster)).toSorted(), ['mc-source', 'mc-viewer']);
  });

  it('wait for the bindings that Admiralty makes, and leave those alone', async (t) => {
    const cluster = await taken();
    const migration = memoryMigration(cluster);
    await grantAdmiraltyPermissions(migration);
    await removeOurPermissions(migration);
    const time = virtualWaits(t);
    time.during = (count) => cluster.put(
      CLUSTER_ROLE_BINDINGS, count === 1 ? binding(SOURCE, 'mc-source') : binding(VIEWER, 'mc-viewer'),
    );
    await untilPermissionsReturned(migration);
    assert.deepEqual([given(cluster), time.waits.length], [{ [SOURCE]: 'mc-source', [VIEWER]: 'mc-viewer' }, 2]);
  });

  it('are given back after a takeover that was interrupted between its bindings', async () => {
    const cluster = new MemoryCluster(...ADMIRALTYS);
    killedAfter(cluster, 2);
    await assert.rejects(takePermissions(memoryMigration(cluster)), /killed/);
    cluster.before = () => undefined;
    const migration = memoryMigration(cluster);
    await grantAdmiraltyPermissions(migration);
    await removeOurPermissions(migration);
    assert.ok(Object.values(given(cluster)).includes('mc-source'));
  });

  it('keep bindings until they have their names: one that Admiralty does not make is named', async (t) => {
    const cluster = await taken();
    const migration = memoryMigration(cluster);
    await grantAdmiraltyPermissions(migration);
    await removeOurPermissions(migration);
    virtualWaits(t);
    await assert.rejects(
      untilPermissionsReturned(migration), { code: 'Timeout', message: new RegExp(`Admiralty has made ${SOURCE}`) },
    );
    assert.deepEqual(Object.values(given(cluster)).toSorted(), ['mc-source', 'mc-viewer']);
  });

  it('leave accounts, and objects without the label of an identity', async () => {
    const account = { metadata: { namespace: 'adm', name: 'berlin', labels: IDENTITY_LABELS } };
    const cluster = new MemoryCluster(
      [SERVICE_ACCOUNTS, account], [CLUSTER_ROLES, { metadata: { name: 'ours', labels: IDENTITY_LABELS } }],
      [CLUSTER_ROLES, { metadata: { name: 'theirs', labels: { 'app.kubernetes.io/component': 'source-identity' } } }],
      [ROLE_BINDINGS, { metadata: { namespace: 'a', name: 'ours', labels: IDENTITY_LABELS } }],
    );
    await removeOurPermissions(memoryMigration(cluster));
    assert.deepEqual(
      [SERVICE_ACCOUNTS, CLUSTER_ROLES, ROLE_BINDINGS].map((type) => cluster.names(type)),
      [['adm/berlin'], ['theirs'], []],
    );
  });
});
