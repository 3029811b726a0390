// A pod that needs eight GPUs on one node, and two real targets: one with eight free on eight nodes, one with a whole
// node (`npm run soak -- node-fit`; npm test has the same on two nodes).
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ELECT_ANNOTATION, TARGET_ANNOTATION } from '../../../api/objects/keys.ts';
import { CLUSTER_SUMMARIES, CLUSTER_TARGETS, PODS } from '../../../api/resource-types.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';
import {
  inNamespace, isRunning, makeNamespace, startWorld, type IsthmusWorld,
} from '../../support/worlds/isthmus-world.ts';

const GPU = 'nvidia.com/gpu';
const NAMESPACE = 'gpus';
const NODES = 8;
let world: IsthmusWorld;

before(async () => {
  world = await startWorld({ nodes: NODES, gpus: 8 });
  await makeNamespace(world, NAMESPACE);
});
after(() => world?.stop());

function gpuPod(name: string, gpus: number, annotations: Record<string, string> = {}) {
  const resources = { requests: { [GPU]: `${gpus}` }, limits: { [GPU]: `${gpus}` } };
  return {
    metadata: { namespace: NAMESPACE, name, annotations },
    spec: { containers: [{ name: 'app', image: 'app:1', resources }] },
  };
}

describe('fragmented GPUs', () => {
  it('go to no pod that needs eight on one node', async () => {
    const [scattered, whole] = world.targets;
    // Seven of eight are taken on each node of the first target; on all nodes but one of the second, all eight.
    await Promise.all(Array.from({ length: NODES }, (_, i) => scattered.client.create(PODS, gpuPod(`seven-${i}`, 7))));
    await Promise.all(Array.from({ length: NODES - 1 }, (_, i) => whole.client.create(PODS, gpuPod(`eight-${i}`, 8))));
    const largest = async ({ client }: typeof scattered, most: number) => {
      const summaries = await new WatchedCollection(client, CLUSTER_SUMMARIES).start(world.signal);
      await summaries.until(
        `8 GPUs are free, ${most} on one node`,
        ([summary]) => summary?.gpus?.[0]?.free === 8 && summary.gpus[0].largest === most, 60_000,
      );
    };
    await Promise.all([largest(scattered, 1), largest(whole, 8)]);
    const known = await new WatchedCollection(world.source.client, CLUSTER_TARGETS).start(world.signal);
    await known.until(
      'the source has read both summaries',
      (targets) => targets.length === 2 && targets.every(({ status }) => status?.free?.gpu === '8'), 90_000,
    );
    await world.source.client.create(PODS, gpuPod('trainer', 8, { [ELECT_ANNOTATION]: '' }));
    const pods =
      await world.source.pods.until('the pod runs', (all) => inNamespace(all, NAMESPACE).some(isRunning), 60_000);
    assert.equal(inNamespace(pods, NAMESPACE)[0]?.metadata.annotations?.[TARGET_ANNOTATION], 'ClusterTarget/target-2');
    const asked = scattered.chaperons.history.filter(({ key }) => key.startsWith(`${NAMESPACE}/`));
    assert.deepEqual(asked, []);
  });
});
