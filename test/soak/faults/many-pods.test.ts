// `npm run soak -- many-pods`: fault 50 of the table (docs/results/faults.md). 10,000 elected pods run in two targets
// and are deleted at once: no delegate and no finalizer is left, the work queues are empty, and the heaps are what they
// were. Before that, as a warm-up, pods that are deleted wherever they have got to. MANY_PODS makes a smaller one of
// it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../../api/resource-types.ts';
import { atOnce } from '../../support/processes/at-once.ts';
import { eventually } from '../../support/history/eventually.ts';
import { tell } from '../../support/faults/fault-world.ts';
import { growthOf, InspectedProcesses } from '../../support/processes/inspected-process.ts';
import { isRunning, makeNamespace, startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { assertInvariants } from '../../support/history/world-invariants.ts';

const COUNT = Number(process.env['MANY_PODS'] ?? 10_000);
/** As many as it takes for the code that is used often to be compiled, which counts in the heaps. */
const WARM_UP = 2_000;
/** Of each of two targets; a node takes 110 pods. */
const NODES = Math.ceil((Math.max(COUNT, WARM_UP) * 0.55) / 110) + 1;
const NAMESPACE = 'many-pods';
/** Beyond it something is broken, not slow. */
const TIMEOUT_MS = 1_500_000;
/** Idle connections are closed and what is remembered for a minute is forgotten by then. */
const REST_MS = 90_000;

let world: IsthmusWorld;
let processes: InspectedProcesses;

before(async () => {
  world = await startWorld({ targets: 2, nodes: NODES, clientQps: 2_000 });
  await makeNamespace(world, NAMESPACE);
  processes = await InspectedProcesses.start(world);
  await eventually('the webhook', () => world.source.client.create(PODS, aPod('probe-0')));
  await world.source.pods.until(
    'the probe is seen', (pods) => pods.some(({ metadata }) => metadata.name === 'probe-0'), TIMEOUT_MS,
  );
  await removeAll('probe', 1);
  await untilEmpty();
});
after(async () => {
  await processes?.stop();
  await world?.stop();
});

function aPod(name: string): Pod {
  const resources = { requests: { cpu: '10m', memory: '16Mi' } };
  return {
    metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', resources }] },
  };
}

const namesOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
const createAll = (prefix: string, count: number) =>
  atOnce(namesOf(prefix, count), (name) => world.source.client.create(PODS, aPod(name)));
const removeAll = (prefix: string, count: number) =>
  atOnce(namesOf(prefix, count), (name) => world.source.client.delete(PODS, { namespace: NAMESPACE, name }));

/**
 * What the watches of all clusters still have of pods and chaperons: nothing that has a finalizer or is a delegate can
 * be missing in it.
 */
function left(): KubernetesObject[] {
  const ours = <T extends KubernetesObject>(objects: readonly T[]) =>
    objects.filter(({ metadata }) => metadata.namespace === NAMESPACE);
  return [world.source, ...world.targets].flatMap(
    ({ pods, chaperons }) => [...ours(pods.objects), ...ours(chaperons.objects)],
  );
}

const untilEmpty = () => eventually('nothing is left', async () => left().length === 0, TIMEOUT_MS);

/** Seconds that something took. */
async function timed(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await act();
  return Math.round((performance.now() - from) / 100) / 10;
}

describe(`${COUNT} pods that run and are deleted at once`, () => {
  it('50: leave no delegate and no finalizer, the queues drain, and the heaps are what they were', async () => {
    await createAll('warm-up', WARM_UP);
    await removeAll('warm-up', WARM_UP);
    await untilEmpty();
    await sleep(REST_MS);
    const before = await processes.heaps();

    const created = await timed(() => createAll('pod', COUNT));
    const running = await timed(() => eventually(
      'all run', async () => world.source.pods.objects.filter(isRunning).length === COUNT, TIMEOUT_MS,
    ));
    const full = growthOf(before, await processes.heaps());
    const gone = await timed(async () => {
      await removeAll('pod', COUNT);
      await untilEmpty();
    });
    const drained =
      await timed(() => eventually('the queues are empty', async () => (await processes.queuedKeys()) === 0));
    tell({
      row: '50', pods: COUNT, createdS: created, thenRunningS: running, goneS: gone, drainedS: drained,
      heapsWhileTheyRan: full,
    });
    // What the servers say themselves, beside the watches.
    const stored = await Promise.all([world.source, ...world.targets].flatMap(
      ({ client }) =>
        [client.list(PODS, { namespace: NAMESPACE }), client.list(POD_CHAPERONS, { namespace: NAMESPACE })],
    ));
    assert.deepEqual(stored.map((objects) => objects.length), stored.map(() => 0));

    await sleep(REST_MS);
    const growth = growthOf(before, await processes.heaps());
    tell({ row: '50: heaps', growth });
    assertInvariants(world);
    for (const { process: name, ratio } of growth) {
      assert.ok(ratio <= 1.1, `the heap of ${name} is ${ratio} of what it was`);
    }
  });
});
