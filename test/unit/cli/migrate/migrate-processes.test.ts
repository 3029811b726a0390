import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { BEFORE_MIGRATION_ANNOTATION } from '../../../../api/objects/keys.ts';
import { DEPLOYMENTS, LEASES, PODS } from '../../../../api/resource-types.ts';
import { startProcess, stopProcess, untilLeading, untilStandby } from '../../../../cli/migrate/migrate-processes.ts';
import { aPod, inNamespace, labelled, named } from '../../../support/objects/builders.ts';
import { MemoryCluster } from '../../../support/doubles/memory-cluster.ts';
import { admiraltyDeployment, heldLease, memoryMigration } from '../../../support/doubles/memory-migration.ts';
import { BEGIN, virtualWaits } from '../../../support/doubles/virtual-waits.ts';

const SCHEDULER_POD = aPod(inNamespace('adm'), labelled({ component: 'proxy-scheduler', release: 'mc' }));
const LEASE = 'admiralty-proxy-scheduler';

function stopping(t: TestContext, replicas = 2) {
  const deployment = admiraltyDeployment('proxy-scheduler', replicas);
  const cluster = new MemoryCluster([DEPLOYMENTS, deployment]);
  const migration = memoryMigration(cluster, {}, [deployment]);
  return { cluster, migration, time: virtualWaits(t), stop: () => stopProcess('proxy-scheduler', migration) };
}

describe('a process of Admiralty that is stopped', () => {
  it('is scaled to zero, and its replicas are written down for the way back', async (t) => {
    const { cluster, stop, migration } = stopping(t);
    await stop();
    const { spec, metadata } = cluster.find(DEPLOYMENTS, 'mc-proxy-scheduler', 'adm')!;
    assert.equal((spec as { readonly replicas: number }).replicas, 0);
    assert.equal(metadata.annotations?.[BEFORE_MIGRATION_ANNOTATION], '2');
    assert.deepEqual(migration.told, ['  proxy-scheduler is stopped']);
  });

  it('is not written to when an interrupted migration had scaled it down: its replicas stay known', async (t) => {
    const { cluster, stop } = stopping(t, 0);
    await stop();
    assert.deepEqual(cluster.writes, []);
  });

  it('is waited for until its pods are gone, those of others left aside', async (t) => {
    const { cluster, stop, time } = stopping(t);
    cluster.put(PODS, SCHEDULER_POD);
    cluster.put(PODS, aPod(inNamespace('other'), labelled({ component: 'proxy-scheduler', release: 'mc' })));
    cluster.put(PODS, aPod(inNamespace('adm'), named('x'), labelled({ release: 'mc' })));
    time.during = (count) => {
      if (count === 3) cluster.drop(PODS, { namespace: 'adm', name: 'web' });
    };
    await stop();
    assert.equal(time.waits.length, 3);
  });

  it('is stopped also where a pod of it stays that a node has evicted', async (t) => {
    const { cluster, stop, time } = stopping(t);
    cluster.put(PODS, { ...SCHEDULER_POD, status: { phase: 'Failed' } } as typeof SCHEDULER_POD);
    await stop();
    assert.deepEqual(time.waits, []);
  });

  it('is waited for until its Lease has expired, which then is deleted', async (t) => {
    const { cluster, stop, time } = stopping(t);
    cluster.put(LEASES, heldLease('adm', LEASE, 15));
    cluster.put(LEASES, heldLease('adm', 'admiralty-restarter', 900));
    await stop();
    assert.ok(time.waits.reduce((sum, ms) => sum + ms, 0) >= 15_000);
    assert.deepEqual(cluster.names(LEASES), ['adm/admiralty-restarter']);
  });

  it('leaves a Lease that somebody has renewed since it was looked at', async (t) => {
    const { cluster, stop } = stopping(t);
    cluster.put(LEASES, heldLease('adm', LEASE, 0));
    cluster.before = ({ method }) => void (method === 'DELETE' && cluster.put(LEASES, heldLease('adm', LEASE, 15)));
    await stop();
    assert.deepEqual(cluster.names(LEASES), [`adm/${LEASE}`]);
  });

  it('that does not end fails the step, with the Deployment and what to do', async (t) => {
    const { cluster, stop, migration } = stopping(t);
    cluster.put(PODS, SCHEDULER_POD);
    await assert.rejects(stop(), { code: 'Timeout', message: /adm\/mc-proxy-scheduler has no pods.*run the same/ });
    assert.match(migration.told.join('\n'), /waiting until adm\/mc-proxy-scheduler has no pods/);
  });

  it('outside its Deployment is found by its Lease, with or without a Deployment', async (t) => {
    const { cluster } = stopping(t);
    cluster.put(LEASES, heldLease('elsewhere', LEASE, 9_999));
    await assert.rejects(
      stopProcess('proxy-scheduler', memoryMigration(cluster)), { code: 'Timeout', message: new RegExp(LEASE) },
    );
  });
});

describe('a process of Admiralty that is started again', () => {
  const started = async (
    t: TestContext, deployment = admiraltyDeployment('controller-manager', 0, { [BEFORE_MIGRATION_ANNOTATION]: '3' }),
  ) => {
    const cluster = new MemoryCluster([DEPLOYMENTS, deployment]);
    const time = virtualWaits(t);
    time.during = (count) => {
      if (count === 2) cluster.put(LEASES, heldLease('adm', 'admiralty-controller-manager', 60));
    };
    const { component = '' } = deployment.metadata.labels ?? {};
    await startProcess(component as 'restarter', memoryMigration(cluster, {}, [deployment]));
    const { spec, metadata } = cluster.find(DEPLOYMENTS, deployment.metadata.name ?? '', 'adm')!;
    return { replicas: (spec as { readonly replicas: number }).replicas, annotations: metadata.annotations, time };
  };

  it('has its replicas again, is no longer marked, and is waited for until it leads', async (t) => {
    const { replicas, annotations, time } = await started(t);
    assert.deepEqual([replicas, annotations, time.waits.length], [3, {}, 2]);
  });

  it('that a user has scaled to zero without us gets one replica', async (t) =>
    assert.equal((await started(t, admiraltyDeployment('controller-manager', 0))).replicas, 1));

  it('that was never stopped keeps its replicas', async (t) =>
    assert.equal((await started(t, admiraltyDeployment('controller-manager', 2))).replicas, 2));

  it('is not waited for when it is the restarter', async (t) =>
    assert.deepEqual((await started(t, admiraltyDeployment('restarter', 0))).time.waits, []));

  it('that an uninstall has removed meanwhile is an error, and one that never was is none', async (t) => {
    virtualWaits(t);
    const cluster = new MemoryCluster();
    await startProcess('restarter', memoryMigration(cluster));
    await assert.rejects(
      startProcess('restarter', memoryMigration(cluster, {}, [admiraltyDeployment('restarter', 0)])), { status: 404 },
    );
  });
});

describe('the components of Isthmus', () => {
  const leases = (...held: readonly (readonly [component: string, seconds: number])[]) => new MemoryCluster(
    ...held.map(([name, seconds]) => [LEASES, heldLease('isthmus-system', name, seconds)] as const),
  );

  it('stand by once no Lease of one that acts is held', async (t) => {
    const time = virtualWaits(t);
    const held = leases(['isthmus-scheduler', 10], ['isthmus-gateway', 9_999], ['other', 9_999]);
    await untilStandby(memoryMigration(held));
    assert.ok(Date.now() >= BEGIN + 10_000 && Date.now() <= BEGIN + 11_000, time.waits.join());
  });

  for (const component of ['scheduler', 'delegate-controller', 'virtual-node', 'peering', 'discovery']) {
    it(`do not stand by while ${component} leads`, async (t) => {
      virtualWaits(t);
      await assert.rejects(untilStandby(memoryMigration(leases([`isthmus-${component}`, 9_999]))), { code: 'Timeout' });
    });
  }

  it('act once each of them leads; the first that does not is named, with how it is started', async (t) => {
    virtualWaits(t);
    const migration = memoryMigration(leases(['isthmus-scheduler', 9_999], ['isthmus-virtual-node', 0]));
    await untilLeading(migration, ['scheduler']);
    await assert.rejects(
      untilLeading(migration, ['scheduler', 'virtual-node']),
      { code: 'Timeout', message: /virtual-node of Isthmus acts \(start it: the chart's Deployments/ },
    );
  });

  it('are looked for in the install namespace alone', async (t) => {
    virtualWaits(t);
    const migration = memoryMigration(leases(['isthmus-scheduler', 9_999]), { installNamespace: 'mine' });
    await untilStandby(migration);
    await assert.rejects(untilLeading(migration, ['scheduler']), { code: 'Timeout' });
  });
});
