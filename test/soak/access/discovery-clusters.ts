// `npm run soak -- discovery-clusters [-- clusters]`: 500 clusters in one registry of a real source, each a light API
// server: how long until all are Ready, what they cost at rest, and whether nine of ten may leave at once. Before that
// ten clusters, of which one never answers. Prints its figures as JSON; fails when clusters are not kept.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { REMOVALS_HELD } from '../../../api/registry/target-discovery.ts';
import { SECRETS } from '../../../api/resource-types.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import {
  discover, makeRegistryNamespace, startDiscoveryWorld, writeSecret, type DiscoveryWorld,
} from '../../support/worlds/discovery-world.ts';
import { startSimulatedClusters, type SimulatedClusters } from '../../support/doubles/simulated-clusters.ts';

const count = Number(process.argv[2] ?? 500);
const FEW = 10;
const NODES = 50;
/** The start is over by then, in ms. */
const REST_MS = 30_000;
const IDLE_MS = 120_000;
const TIMEOUT_MS = 300_000;
const REGISTERED = { 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true' };

const world = await startDiscoveryWorld(1, { audit: true });
const few = await startSimulatedClusters(FEW, NODES);
const many = await startSimulatedClusters(count, NODES);
try {
  few.silence([0]);
  await register('few', few);
  const nineReadyS = await discovered('few', FEW - 1);
  await register('many', many);
  const readyS = await discovered('many', count);
  const idle = await atRest();
  const gone = await deleteNineOfTen();
  process.stdout.write(`${JSON.stringify({
    clusters: count, nodesEach: NODES, nineOfTenReadyWhileOneHangsS: nineReadyS, allReadyS: readyS, ...idle, ...gone,
  }, undefined, 2)}\n`);
} finally {
  few.stop();
  many.stop();
  await world.stop();
}

async function register(name: string, { kubeconfigs }: SimulatedClusters): Promise<void> {
  await makeRegistryNamespace(world, name);
  for (const [index, kubeconfig] of kubeconfigs.entries()) {
    await writeSecret(world, { namespace: name, name: `${name}-${index}`, labels: REGISTERED }, { kubeconfig });
  }
}

/** Seconds from the TargetDiscovery until so many of its targets are Ready. */
async function discovered(name: string, wanted: number): Promise<number> {
  const began = performance.now();
  await discover(world, name, { from: { kubeconfigSecrets: {} }, namespaces: [name] });
  await world.clusterTargets.until(
    `${wanted} of ${name} are Ready`, () => readyOf(world, name) === wanted, TIMEOUT_MS,
  );
  return Math.round(performance.now() - began) / 1_000;
}

function readyOf({ clusterTargets }: DiscoveryWorld, name: string): number {
  return clusterTargets.objects.filter(({ metadata, status }) => metadata.name?.startsWith(`${name}-`) === true
    && findCondition(status?.conditions, 'Ready')?.status === 'True').length;
}

/** Requests a second for each cluster: to the clusters, and to the source. */
async function atRest(): Promise<object> {
  await sleep(REST_MS);
  const [requests, from] = [await many.counts('requests'), Date.now()];
  await sleep(IDLE_MS);
  const each = (total: number) => Math.round((total / count / (IDLE_MS / 1_000)) * 10_000) / 10_000;
  const toClusters = each((await many.counts('requests')) - requests);
  const metrics = await (await fetch(world.metrics)).text();
  const memory = /^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1];
  return {
    idleRequestsToEachPerS: toClusters, idleRequestsToSourceForEachPerS: each(await ownRequests(from)),
    residentMiB: memory === undefined ? undefined : Math.round(Number(memory) / 1_048_576),
  };
}

async function ownRequests(from: number): Promise<number> {
  const lines = (await readFile(world.sandbox.clusters[0]?.auditLog ?? '', 'utf8')).split('\n');
  return lines.filter((line) => line.includes('"userAgent":"isthmus-') && !line.includes('"userAgent":"isthmus-test')
    && Date.parse(/"requestReceivedTimestamp":"([^"]+)"/.exec(line)?.[1] ?? '') >= from).length;
}

/** Nothing leaves; the status says how many are held. */
async function deleteNineOfTen(): Promise<object> {
  const leaving = Math.floor(count * 0.9);
  const began = performance.now();
  await Promise.all(Array.from({ length: leaving }, (_, index) =>
    world.source.delete(SECRETS, { namespace: 'many', name: `many-${index}` }, {})));
  const deletedS = Math.round(performance.now() - began) / 1_000;
  const find = () => findCondition(world.discoveries.get('many')?.status?.conditions, REMOVALS_HELD);
  await world.discoveries.until(
    'all are held', () => find()?.message?.startsWith(`${leaving} targets`) === true, TIMEOUT_MS,
  );
  await sleep(REST_MS);
  assert.equal(readyOf(world, 'many'), count);
  return { deleted: leaving, deletedWithinS: deletedS, held: find()?.message };
}
