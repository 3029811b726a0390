// At full size: the virtual node of a target that cannot be reached for ten minutes. Run: npm run soak -- node-outage
// [-- MINUTES] The target's API server is stopped as a process (SIGSTOP): connections stay open and nothing answers,
// the worst way to be away.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { Condition, Lease, Node, Pod } from '../../../api/objects/core.ts';
import { CLUSTER_TARGET_NAME_LABEL, ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import {
  CLUSTER_TARGETS, DEPLOYMENTS, LEASES, NODES, POD_CHAPERONS, PODS, SOURCE_LEASES,
} from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { isCandidateLease, isUnconfirmed } from '../../../model/delegate/confirmation.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld,
} from '../../support/worlds/isthmus-world.ts';

const MINUTES = Number(process.argv[2] ?? 10);
const EVERY_MS = 2_000;
/** Conditions follow within this, in ms. */
const CONDITION_MS = 45_000;
/**
 * Kubernetes' node monitor grace period, in s (kube-controller-manager `--node-monitor-grace-period`, 50 s since 1.32).
 */
const LEASE_S = 40;

const podLike = {
  metadata: { labels: { app: 'kept' }, annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
};

/** A virtual node and its target. */
interface Place {
  readonly nodeName: string;
  readonly target: string;
}

const uidsOf = (pods: readonly Pod[]): string[] => pods.map(({ metadata }) => metadata.uid ?? '')
  .toSorted((one, other) => one.localeCompare(other));
const tell = (line: string): void => void process.stdout.write(`${line}\n`);

interface Facts {
  readonly pods: readonly Pod[];
  readonly node: Node;
  readonly leaseAgeS: number;
  readonly target: readonly Condition[];
}

async function observe({ source }: IsthmusWorld, { nodeName, target: name }: Place): Promise<Facts> {
  const [pods, node, lease, target] = await Promise.all([
    source.client.list<Pod>(PODS, { namespace: 'kept' }),
    source.client.get<Node>(NODES, { name: nodeName }),
    source.client.get<Lease>(LEASES, { namespace: 'kube-node-lease', name: nodeName }),
    source.client.get<ClusterTarget>(CLUSTER_TARGETS, { name }),
  ]);
  return {
    pods, node, leaseAgeS: (Date.now() - Date.parse(lease.spec?.renewTime ?? '')) / 1_000,
    target: target.status?.conditions ?? [],
  };
}

/** Waits for both conditions; gives how long that took, in ms. */
async function untilConditions(world: IsthmusWorld, place: Place, status: 'True' | 'False'): Promise<number> {
  const begin = performance.now();
  for (;;) {
    const { node, target } = await observe(world, place);
    const shown =
      [findCondition(node.status?.conditions, 'TargetReady')?.status, findCondition(target, 'Reachable')?.status];
    const took = performance.now() - begin;
    if (shown.every((one) => one === status)) return took;
    assert.ok(
      took < CONDITION_MS, `after ${CONDITION_MS / 1_000} s the conditions are ${shown.join(', ')}, not ${status}`,
    );
    await delay(250);
  }
}

/**
 * Waits until the source has confirmed all delegates there: of those that it could not confirm in time, the target
 * stops what may have gone elsewhere.
 */
async function untilConfirmed({ client }: IsthmusWorld['targets'][number], signal: AbortSignal): Promise<void> {
  const areConfirmed = async (): Promise<true | undefined> => {
    const [chaperons, leases] = await Promise.all(
      [client.list(POD_CHAPERONS, { namespace: 'kept' }), client.list(SOURCE_LEASES, { namespace: 'kept' })],
    );
    const lease = leases.find(({ metadata }) => isCandidateLease(metadata));
    return (chaperons.length > 0 && !chaperons.some(({ metadata }) => isUnconfirmed(metadata, lease))) || undefined;
  };
  assert.ok(await pollUntil(areConfirmed, { forMs: 30_000, everyMs: 250 }, signal), 'the pods are confirmed');
}

const world = await startWorld({ nodes: 1 });
try {
  await makeNamespace(world, 'kept');
  await world.source.client.create(
    PODS,
    {
      metadata: { namespace: 'kept', name: 'bare', annotations: podLike.metadata.annotations }, spec: podLike.spec,
    } as Pod,
  );
  const deployment = {
    metadata: { namespace: 'kept', name: 'kept' },
    spec: { replicas: 3, selector: { matchLabels: { app: 'kept' } }, template: podLike },
  };
  await world.source.client.create(DEPLOYMENTS, deployment);
  const before = await world.source.pods.until(
    'four pods run', (all) => inNamespace(all, 'kept').filter(isRunning).length === 4, 120_000,
  );
  const uids = uidsOf(inNamespace(before, 'kept'));
  const nodeName = inNamespace(before, 'kept').find(({ metadata }) => metadata.name === 'bare')?.spec.nodeName ?? '';
  const target =
    (await world.source.client.get<Node>(NODES, { name: nodeName })).metadata.labels?.[CLUSTER_TARGET_NAME_LABEL] ?? '';
  const away = world.targets.find(({ cluster }) => cluster.name === target);
  assert.ok(away !== undefined);

  await untilConfirmed(away, world.signal);
  tell(`${new Date().toISOString()} ${target} stops answering for ${MINUTES} minutes`);
  await away.cluster.stopComponent('kube-apiserver', 'SIGSTOP');
  const end = performance.now() + MINUTES * 60_000;
  const noticed = await untilConditions(world, { nodeName, target }, 'False');
  let [oldestLeaseS, looks] = [0, 0];
  while (performance.now() < end) {
    const { pods, node, leaseAgeS } = await observe(world, { nodeName, target });
    looks += 1;
    oldestLeaseS = Math.max(oldestLeaseS, leaseAgeS);
    assert.deepEqual(uidsOf(pods), uids, 'no pod is gone, none is made anew');
    assert.ok(
      pods.every(({ metadata, status }) => metadata.deletionTimestamp === undefined && status?.phase === 'Running'),
      'no pod is being deleted',
    );
    assert.equal(findCondition(node.status?.conditions, 'Ready')?.status, 'True');
    assert.equal(findCondition(node.status?.conditions, 'TargetReady')?.status, 'False');
    assert.deepEqual((node.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute'), [], 'nothing evicts');
    assert.ok(leaseAgeS < LEASE_S, `the Lease was renewed ${leaseAgeS} s ago`);
    await delay(EVERY_MS);
  }
  await away.cluster.startComponent('kube-apiserver');
  const back = await untilConditions(world, { nodeName, target }, 'True');
  await delay(5_000);
  const { pods } = await observe(world, { nodeName, target });
  assert.deepEqual(uidsOf(pods), uids);
  tell(
    JSON.stringify({
      minutes: MINUTES, looks, noticedMs: Math.round(noticed), backMs: Math.round(back),
      oldestLeaseS: Math.round(oldestLeaseS), pods: uids.length,
    }),
  );
} finally {
  await world.stop();
}
