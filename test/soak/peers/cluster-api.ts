// `npm run soak -- cluster-api -- PROGRAM CORE`: Cluster API's own core controller, built elsewhere, manages two real
// clusters, which become targets; their credentials are renewed under a stream of pods, and one is deleted. PROGRAM is
// the controller, CORE the folder `core` of the same version of Cluster API.
// Prints its figures as JSON; fails when a target is missing, not Ready for a moment, or stays, and when a pod fails.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { PlacementPolicy } from '../../../api/kinds/placement-policy.ts';
import type { KubernetesObject, Pod, Secret } from '../../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, LEFT_REGISTRY_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../../api/objects/keys.ts';
import { DEPLOYMENTS, NAMESPACES, NODES, PLACEMENT_POLICIES, SECRETS } from '../../../api/resource-types.ts';
import { discoveredNamespace } from '../../../model/access/key-namespace.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { auditedSession } from '../../support/history/audited-session.ts';
import { CreateStream } from '../../support/history/create-stream.ts';
import {
  discover, kubectlOf, makeRegistryNamespace, startDiscoveryWorld, untilReady,
} from '../../support/worlds/discovery-world.ts';
import {
  installClusterApi, manage, renewKubeconfig, startClusterApi, type ManagedCluster,
} from '../../support/peers/real-cluster-api.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';

const [program, core] = process.argv.slice(2);
if (program === undefined || core === undefined) {
  process.stderr.write(
    'This needs a real Cluster API, which is not in this repository: give the program of its core controller, and ' +
      'its folder "core".\n',
  );
  process.exit(1);
}

const TIMEOUT_MS = 90_000;
const REGISTRY = 'clusters';
const SHOP = 'shop';
const POLICY = { namespace: SHOP, name: 'region' };
const EU: ManagedCluster =
  { namespace: REGISTRY, name: 'eu-west', labels: { region: 'eu' }, target: 0, kubeconfigBy: 'core' };
const US: ManagedCluster =
  { namespace: REGISTRY, name: 'us-east', labels: { region: 'us' }, target: 1, kubeconfigBy: 'provider' };
const RENEWALS = 5;

const world = await startDiscoveryWorld(2, { audit: true });
const kubectl = await kubectlOf(world);
const kept =
  new WatchedCollection<Secret>(world.source, SECRETS, { namespace: discoveredNamespace(DEFAULT_INSTALL_NAMESPACE) });
try {
  await installClusterApi(world, kubectl, core);
  await makeRegistryNamespace(world, REGISTRY);
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  await world.source.create(NAMESPACES, { metadata: { name: SHOP, labels } });
  for (const { client } of world.targets) await client.create(NAMESPACES, { metadata: { name: SHOP } });
  await discover(world, 'capi', {
    from: { clusterAPI: {} }, namespaces: [REGISTRY], removal: { afterSeconds: 5 },
    target: { copyLabels: ['region'], delegation: 'Pod', removalPolicy: 'Drain' },
  });
  await kept.start(world.signal);
  const controller = await startClusterApi(world, program);
  try {
    const ready = await secondsOf(async () => {
      await Promise.all([EU, US].map((cluster) => manage(world, cluster)));
      await Promise.all([EU, US].map(({ name }) => untilReady(world, name)));
    });
    const policy: PlacementPolicy = { metadata: POLICY, spec: { require: { matchLabels: EU.labels } } };
    await world.source.create(PLACEMENT_POLICIES, policy);
    await world.source.create(DEPLOYMENTS, web(2));
    await untilWebRunsIn(EU);
    const renewed = await renewUnderLoad();
    await world.source.delete(PLACEMENT_POLICIES, POLICY);
    const left = await leave();
    process.stdout.write(`${JSON.stringify({ seconds: { ready, ...left }, renewed }, undefined, 2)}\n`);
  } finally {
    await controller.stop();
  }
} finally {
  await world.stop();
}

/** Both clusters get new credentials again and again while a pod is created every two seconds. */
async function renewUnderLoad(): Promise<object> {
  const { length } = world.clusterTargets.history;
  const from = Date.now();
  const stream = new CreateStream({ client: world.source }, [SHOP]);
  const adopted: number[] = [];
  for (let count = 0; count < RENEWALS; count += 1) {
    for (const cluster of [EU, US]) {
      const before = kubeconfigOf(cluster);
      adopted.push(await secondsOf(async () => {
        await renewKubeconfig(world, cluster);
        await kept.until(`${cluster.name} has new credentials`, () => {
          const now = kubeconfigOf(cluster);
          return now !== undefined && now !== before;
        }, TIMEOUT_MS);
      }));
    }
    const ran = stream.waits.length;
    await world.pods.until('a pod runs with them', () => stream.waits.length > ran, TIMEOUT_MS);
  }
  await stream.stop();
  const audited = auditedSession(await readFile(world.sandbox.clusters[1]?.auditLog ?? '', 'utf8'), from);
  const unready = world.clusterTargets.history.slice(length)
    .filter(({ after }) => findCondition(after?.status?.conditions, 'Ready')?.status !== 'True').length;
  assert.deepEqual([stream.refused, stream.vanished, audited.failed, audited.lists, unready], [[], [], [], [], 0]);
  const sorted = adopted.toSorted((one, two) => one - two);
  return {
    times: adopted.length, pods: stream.waits.length, failed: 0, lists: 0, timesNotReady: 0,
    medianS: sorted[sorted.length >> 1], slowestS: sorted.at(-1),
  };
}

/** A Cluster is deleted: its target gets no new pods, is drained, and goes with all that belonged to it. */
async function leave(): Promise<object> {
  const node = world.clusterTargets.get(EU.name)?.status?.virtualNode ?? '';
  const began = performance.now();
  const since = () => Math.round((performance.now() - began) / 100) / 10;
  await kubectl(['delete', 'cluster.cluster.x-k8s.io', EU.name, '-n', REGISTRY, '--wait=false']);
  await world.clusterTargets.until('it gets no new pods', (all) => all.some(({ metadata }) =>
    metadata.name === EU.name && metadata.annotations?.[LEFT_REGISTRY_ANNOTATION] !== undefined), TIMEOUT_MS);
  const cordoned = since();
  await untilWebRunsIn(US);
  const moved = since();
  await world.clusterTargets.until(
    'the target is gone', (all) => all.every(({ metadata }) => metadata.name === US.name), TIMEOUT_MS,
  );
  await kept.until('its credentials are gone', () => kubeconfigOf(EU) === undefined, TIMEOUT_MS);
  const nodes = await new WatchedCollection<KubernetesObject>(world.source, NODES).start(world.signal);
  await nodes.until('its node is gone', () => nodes.get(node) === undefined, TIMEOUT_MS);
  const gone = since();
  assert.equal(await kubectl(['get', 'clusters.cluster.x-k8s.io', '-n', REGISTRY, '-o', 'name']),
    `cluster.cluster.x-k8s.io/${US.name}\n`);
  assert.equal(findCondition(world.clusterTargets.get(US.name)?.status?.conditions, 'Ready')?.status, 'True');
  return { cordoned, moved, gone };
}

function web(replicas: number): KubernetesObject {
  const labels = { app: 'web' };
  return {
    metadata: { namespace: SHOP, name: 'web' },
    spec: {
      replicas, selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { [ELECT_ANNOTATION]: '' } },
        spec: { containers: [{ name: 'main', image: 'example/main:1' }] },
      },
    },
  } as KubernetesObject;
}

async function untilWebRunsIn({ name }: ManagedCluster): Promise<void> {
  const runsThere = ({ metadata, spec, status }: Pod): boolean =>
    metadata.labels?.['app'] !== 'web' || (status?.phase === 'Running' && metadata.deletionTimestamp === undefined
      && spec.nodeName === world.clusterTargets.get(name)?.status?.virtualNode);
  await world.pods.until(`the pods of web run in ${name}`, (all) =>
    all.filter(({ metadata }) => metadata.labels?.['app'] === 'web').length === 2 && all.every(runsThere), TIMEOUT_MS);
}

function kubeconfigOf({ name }: ManagedCluster): string | undefined {
  return kept.objects.find(({ metadata }) => metadata.name === name)?.data?.['config'];
}

async function secondsOf(act: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await act();
  return Math.round((performance.now() - began) / 10) / 100;
}
