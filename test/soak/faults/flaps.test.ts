// `npm run soak -- flaps`: 1,000 elected pods are made and deleted while their targets flap: at each moment the source
// cannot reach one of the two, every 5 s the other, for 5 minutes; packets are lost without a word, and connections are
// reset when they come back. At the end nothing may be left, nothing may have run twice, and the heaps must be what
// they were. Prints its figures as JSON. FLAP_SECONDS and FLAP_PODS make a shorter one of it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL } from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, PODS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { faultyPathTo, type FaultyPath } from '../../support/faults/faulty-network.ts';
import { growthOf, InspectedProcesses } from '../../support/processes/inspected-process.ts';
import {
  isRunning, makeNamespace, startWorld, type IsthmusWorld, type WorldCluster,
} from '../../support/worlds/isthmus-world.ts';
import { seededRandom } from '../../support/objects/seeded-random.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const FLAP_MS = 5_000;
const SECONDS = Number(process.env['FLAP_SECONDS'] ?? 300);
const COUNT = Number(process.env['FLAP_PODS'] ?? 1_000);
const WARM_UP = 200;
const NAMESPACE = 'flaps';
const POLLING = { forMs: 120_000, everyMs: 100 };
const TIMEOUT_MS = 180_000;
/** Shortest and longest life of a pod, in ms. */
const LIFE_MS = [2_000, 40_000] as const;
/** Idle connections are closed and what is remembered for a minute is forgotten by then. */
const REST_MS = 90_000;

let world: IsthmusWorld;
let paths: readonly FaultyPath[] = [];
let processes: InspectedProcesses;

before(async () => {
  world = await startWorld({ targets: 2, nodes: 5, clientQps: 2_000 });
  await makeNamespace(world, NAMESPACE);
  paths = await Promise.all(world.targets.map((target) => faultyPathTo(world, target)));
  processes = await InspectedProcesses.start(world);
  await Promise.all(world.targets.map(({ cluster }) => untilReady(cluster.name)));
});
after(async () => {
  await Promise.all(paths.map((path) => path.stop()));
  await processes?.stop();
  await world?.stop();
});

async function untilReady(target: string): Promise<void> {
  const isReady = async () => {
    const { status } = await world.source.client.get(CLUSTER_TARGETS, { name: target });
    return findCondition(status?.conditions, 'Ready')?.status === 'True' ? true : undefined;
  };
  assert.ok(await pollUntil(isReady, POLLING, world.signal), `${target} is not Ready`);
}

function aPod(name: string): Pod {
  const resources = { requests: { cpu: '50m', memory: '32Mi' } };
  return {
    metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', resources }] },
  };
}

/** After a restart the webhook may not listen yet. */
async function create(name: string): Promise<void> {
  const made = async () => world.source.client.create(PODS, aPod(name)).then(() => true, () => undefined);
  assert.ok(await pollUntil(made, POLLING, world.signal), `${name} could not be made`);
}

const remove = (name: string) => world.source.client.delete(PODS, { namespace: NAMESPACE, name });
const ours = (pods: readonly Pod[]) => pods.filter(({ metadata }) => metadata.namespace === NAMESPACE);

async function untilEmpty(): Promise<void> {
  const none = (pods: readonly Pod[]) => ours(pods).length === 0;
  const all: readonly WorldCluster[] = [world.source, ...world.targets];
  await Promise.all([
    ...all.map(({ cluster, pods }) => pods.until(`${cluster.name} has none left`, none, TIMEOUT_MS)),
    ...world.targets.map(({ cluster, chaperons }) => chaperons.until(
      `${cluster.name} has no chaperon left`, (chaperons) => chaperons.length === 0, TIMEOUT_MS,
    )),
  ]);
}

/** Makes pods evenly over the time; each is deleted after its life, wherever it has got to. */
async function comeAndGo(prefix: string, count: number, ms: number): Promise<void> {
  const random = seededRandom(7);
  const began = performance.now();
  const lives: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    await sleep(Math.max(0, began + (index * ms) / count - performance.now()));
    const lifeMs = LIFE_MS[0] + random() * (LIFE_MS[1] - LIFE_MS[0]);
    lives.push(live(`${prefix}-${index}`, Math.min(lifeMs, Math.max(0, began + ms - performance.now()))));
  }
  await Promise.all(lives);
}

async function live(name: string, ms: number): Promise<void> {
  await create(name);
  await sleep(ms);
  await remove(name);
}

/** One of the two is out of reach, every 5 s the other one. */
async function flap(signal: AbortSignal): Promise<number> {
  let flaps = 0;
  for (; !signal.aborted; flaps += 1) {
    const [down, up] = flaps % 2 === 0 ? [paths[0]!, paths[1]!] : [paths[1]!, paths[0]!];
    up.heal();
    down.cut();
    await sleep(FLAP_MS, undefined, { signal }).catch(() => undefined);
  }
  for (const path of paths) path.heal();
  return flaps;
}

describe(`${COUNT} pods that come and go while targets flap every ${FLAP_MS / 1_000} s for ${SECONDS} s`, () => {
  it('leave nothing behind, none has run twice, and the heaps are what they were', async () => {
    // with faults: the code that they take is compiled once, and no round after the first adds to it
    const warm = new AbortController();
    const warming = flap(warm.signal);
    await comeAndGo('warm-up', WARM_UP, 30_000);
    warm.abort();
    await warming;
    await untilEmpty();
    await sleep(REST_MS);
    const before = await processes.heaps();
    const done = new AbortController();
    const from = performance.now();
    const flapping = flap(done.signal);
    await comeAndGo('pod', COUNT, SECONDS * 1_000);
    done.abort();
    const flaps = await flapping;
    const calm = performance.now();
    await untilEmpty();
    const cleanMs = performance.now() - calm;
    await sleep(REST_MS);
    const after = await processes.heaps();
    const ran = new Set(world.targets.flatMap(
      ({ pods }) => pods.history.filter(({ after: pod }) => pod !== undefined && isRunning(pod))
        .map(({ after: pod }) => pod!.metadata.labels?.[PARENT_UID_LABEL]),
    ));
    const growth = growthOf(before, after);
    process.stdout.write(
      `${JSON.stringify({ pods: COUNT, flaps, seconds: Math.round((calm - from) / 1_000), delegatesThatRan: ran.size, emptyAfterS: Math.round(cleanMs / 100) / 10, heaps: growth })}\n`,
    );
    assertInvariants(world, { outages: [{ from, until: calm + 60_000 }] });
    assert.ok(ran.size > COUNT / 3, `only ${ran.size} ever ran`);
    for (const { process: name, ratio } of growth) {
      assert.ok(ratio <= 1.1, `the heap of ${name} is ${ratio} of what it was`);
    }
  });
});
