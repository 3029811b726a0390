// `npm run soak -- discovery [-- minutes]`: the credentials of a registered cluster are replaced every 10 s, tokens and
// client certificates by turns, while a pod is created each second. Fails when a create failed, the target was not
// Ready all the time, or anything was listed again there. Prints its figures as JSON.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES } from '../../../api/resource-types.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { auditedSession } from '../../support/history/audited-session.ts';
import { CreateStream } from '../../support/history/create-stream.ts';
import {
  discover, makeRegistryNamespace, startDiscoveryWorld, untilReady,
} from '../../support/worlds/discovery-world.ts';
import { RotatedAccess } from '../../support/worlds/rotated-access.ts';

const minutes = Number(process.argv[2] ?? 10);
const EVERY_MS = 10_000;
/** Each stream makes a pod every 2 s. */
const STREAMS = ['stream-a', 'stream-b'];

const world = await startDiscoveryWorld(1, { audit: true });
try {
  const target = world.targets[0]!.client;
  const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
  for (const name of STREAMS) {
    await world.source.create(NAMESPACES, { metadata: { name, labels } });
    await target.create(NAMESPACES, { metadata: { name } });
  }
  await makeRegistryNamespace(world, 'argocd');
  await discover(world, 'argo', { from: { argoCD: {} }, namespaces: ['argocd'], target: { delegation: 'Pod' } });
  const access = await RotatedAccess.begin(world);
  await untilReady(world, access.name);
  const { length } = world.clusterTargets.history;
  const from = Date.now();
  const streams = STREAMS.map((namespace) => new CreateStream({ client: world.source }, [namespace]));
  const adopted: number[] = [];
  while (Date.now() - from < minutes * 60_000) {
    const due = sleep(EVERY_MS);
    const began = performance.now();
    await access.rotate();
    adopted.push(Math.round(performance.now() - began));
    await due;
  }
  await Promise.all(streams.map((stream) => stream.stop()));
  const audited = auditedSession(await readFile(world.sandbox.clusters[1]?.auditLog ?? '', 'utf8'), from);
  const unready = world.clusterTargets.history.slice(length)
    .filter(({ after }) => findCondition(after?.status?.conditions, 'Ready')?.status !== 'True').length;
  const seconds = streams.flatMap(({ waits }) => waits.map((wait) => wait.seconds)).toSorted((one, two) => one - two);
  process.stdout.write(`${JSON.stringify({
    minutes, rotations: access.rotations, pods: seconds.length, podMedianS: round(seconds[seconds.length >> 1]),
    podSlowestS: round(seconds.at(-1)), refusedPods: streams.flatMap(({ refused }) => refused),
    delegatesCreated: audited.creates, failedCalls: audited.failed, lists: audited.lists,
    watchesResumed: audited.resumed, timesNotReady: unready,
    adoptedMedianMs: adopted.toSorted((one, two) => one - two)[adopted.length >> 1],
    adoptedSlowestMs: Math.max(...adopted),
  }, undefined, 2)}\n`);
  assert.deepEqual(streams.flatMap(({ refused, vanished }) => [...refused, ...vanished]), []);
  assert.deepEqual([audited.failed, audited.lists, unready], [[], [], 0]);
  assert.ok(access.rotations > 0 && audited.creates >= seconds.length && audited.resumed >= access.rotations);
} finally {
  await world.stop();
}

function round(seconds = 0): number {
  return Math.round(seconds * 100) / 100;
}
