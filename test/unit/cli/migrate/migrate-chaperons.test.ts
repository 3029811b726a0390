import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CANDIDATE_SCHEDULER, CHAPERON_FINALIZER, RUN_ONCE_FINALIZER } from '../../../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../../../api/resource-types.ts';
import { deletePendingCandidates, releaseChaperons } from '../../../../cli/migrate/migrate-chaperons.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import {
  aChaperon, aDelegate, aPod, named, onNode, withFinalizers, withoutOwner, withSpec,
} from '../../../support/objects/builders.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { memoryMigration } from '../../../support/doubles/memory-migration.ts';

describe('what Isthmus holds in a cluster that goes back to Admiralty', () => {
  const held = () => new MemoryCluster(
    [POD_CHAPERONS, aChaperon(withFinalizers('example.com/keep', CHAPERON_FINALIZER))],
    [POD_CHAPERONS, aChaperon(named('free'))],
    [PODS, aDelegate(withFinalizers(RUN_ONCE_FINALIZER))],
    [PODS, aPod(named('nobodys'), withFinalizers(RUN_ONCE_FINALIZER))],
  );

  it('is let go; finalizers of others, and pods that are no delegates, stay as they are', async () => {
    const cluster = held();
    const migration = memoryMigration(cluster);
    await releaseChaperons(migration);
    assert.deepEqual(cluster.find(POD_CHAPERONS, 'web-abc', 'team-a')?.metadata.finalizers, ['example.com/keep']);
    assert.equal(cluster.find(PODS, 'web-abc', 'team-a')?.metadata.finalizers, undefined);
    assert.deepEqual(cluster.find(PODS, 'nobodys', 'team-a')?.metadata.finalizers, [RUN_ONCE_FINALIZER]);
    assert.deepEqual(migration.told, ['  2 finalizers removed from PodChaperons and delegates']);
  });

  it('may be gone when it is written to', async () => {
    const cluster = held();
    cluster.before = ({ method, path }) =>
      void (method === 'PATCH' && cluster.drop(path.includes('/pods/') ? PODS : POD_CHAPERONS, {
        namespace: 'team-a', name: 'web-abc',
      }));
    await releaseChaperons(memoryMigration(cluster));
    assert.deepEqual(cluster.writes, []);
  });

  it('keeps finalizers that it gets between read and write, such as that of a foreground deletion', async () => {
    const cluster = held();
    const changed = aChaperon(withFinalizers('foregroundDeletion', CHAPERON_FINALIZER));
    cluster.before = ({ method, path }) => {
      if (method !== 'PATCH' || !path.includes('/podchaperons/')) return undefined;
      cluster.before = () => undefined;
      cluster.put(POD_CHAPERONS, changed);
      return undefined;
    };
    await releaseChaperons(memoryMigration(cluster));
    const left = cluster.find(POD_CHAPERONS, 'web-abc', 'team-a')?.metadata.finalizers;
    assert.deepEqual(left, ['foregroundDeletion']);
  });

  it('is nothing where the kind is not served, and then nothing is told', async () => {
    const migration = memoryMigration(new MemoryCluster().withoutKinds(POD_CHAPERONS));
    await releaseChaperons(migration);
    assert.deepEqual(migration.told, []);
  });

  it('is not concluded from a list that is forbidden', async () => {
    const cluster = held();
    cluster.before = () => new ApiError(403, 'Forbidden', 'pods is forbidden');
    await assert.rejects(releaseChaperons(memoryMigration(cluster)), { status: 403 });
  });
});

describe('candidates that wait for a scheduler which has ended', () => {
  const waiting = withSpec({ schedulerName: CANDIDATE_SCHEDULER });
  const clusterWith = (...pods: readonly ReturnType<typeof aPod>[]) => new MemoryCluster(
    [POD_CHAPERONS, aChaperon()], ...pods.map((pod) => [PODS, pod] as const),
  );

  it('are deleted by their PodChaperons, and counted', async () => {
    const cluster = clusterWith(aDelegate(waiting));
    const migration = memoryMigration(cluster);
    await deletePendingCandidates(migration);
    assert.deepEqual([cluster.names(POD_CHAPERONS), migration.told], [[], ['  1 candidates']]);
  });

  const rows: Record<string, ReturnType<typeof aPod>> = {
    'that have a node': aDelegate(waiting, onNode('node-1')),
    'of the default scheduler': aDelegate(),
    'that no PodChaperon owns': aDelegate(waiting, withoutOwner()),
  };
  for (const [which, pod] of Object.entries(rows)) {
    it(`are not those ${which}`, async () => {
      const cluster = clusterWith(pod);
      await deletePendingCandidates(memoryMigration(cluster));
      assert.deepEqual(cluster.names(POD_CHAPERONS), ['team-a/web-abc']);
    });
  }

  it('are not a PodChaperon that was made again under the name', async () => {
    const cluster = clusterWith(aDelegate(waiting));
    cluster.drop(POD_CHAPERONS, { namespace: 'team-a', name: 'web-abc' });
    cluster.put(POD_CHAPERONS, { metadata: { namespace: 'team-a', name: 'web-abc', uid: 'another' } });
    await deletePendingCandidates(memoryMigration(cluster));
    assert.deepEqual(cluster.names(POD_CHAPERONS), ['team-a/web-abc']);
  });

  it('are found on every page', async () => {
    const cluster = clusterWith(aDelegate(waiting));
    cluster.pageSize = 1;
    for (const name of ['a', 'b', 'z']) cluster.put(PODS, aDelegate(waiting, onNode('n'), named(name)));
    cluster.put(POD_CHAPERONS, aChaperon(named('late')));
    await deletePendingCandidates(memoryMigration(cluster));
    assert.deepEqual(cluster.names(POD_CHAPERONS), ['team-a/late']);
  });
});
