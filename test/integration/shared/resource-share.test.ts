// What a target lends to a source: refused by the API server when it makes no sense, enforced when delegates are made,
// shown to the source.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ClusterSummary } from '../../../api/kinds/cluster-summary.ts';
import type { ResourceShare, ResourceShareSpec } from '../../../api/kinds/resource-share.ts';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { CLUSTER_SUMMARIES, NODES, PODS, RESOURCE_SHARES } from '../../../api/resource-types.ts';
import { ApiError } from '../../../kubernetes/flow/api-error.ts';
import { readClusterId } from '../../../kubernetes/client/cluster-id.ts';
import { inNamespace, isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';

const NAMESPACE = 'shares';
const TIMEOUT_MS = 60_000;
const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;
let nodes: WatchedCollection<Node>;
let shares: WatchedCollection<ResourceShare>;
let sourceId: string;

const share = (name: string, spec: Partial<ResourceShareSpec>): ResourceShare =>
  ({ metadata: { name }, spec: { source: sourceId, ...spec } });
const lend = (index: 0 | 1, name: string, spec: Partial<ResourceShareSpec>) =>
  world.targets[index].client.apply(RESOURCE_SHARES, share(name, spec), 'isthmus-test');
const elected = (name: string, cpu: string): Pod => ({
  metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
  spec: { containers: [{ name: 'main', image: 'example/main:1', resources: { requests: { cpu } } }] },
});
const shown = (all: Node[], index: 1 | 2): Node | undefined =>
  all.find(({ metadata }) => metadata.labels?.['multicluster.admiralty.io/cluster-target-name'] === `target-${index}`);

describe('what a target lends', () => {
  before(async () => {
    ({ world } = shared());
    sourceId = await readClusterId(world.source.client, world.signal);
    nodes = await new WatchedCollection(world.source.client, NODES).start(world.signal);
    shares = await new WatchedCollection(world.targets[0].client, RESOURCE_SHARES).start(world.signal);
    await makeNamespace(world, NAMESPACE);
  });
  after(async () => {
    await world.targets[0].client.delete(RESOURCE_SHARES, { name: 'small' });
    await world.targets[1].client.delete(RESOURCE_SHARES, { name: 'none' });
    await leaveWorld(world);
  });

  describe('a ResourceShare', () => {
    const wrong: Record<string, Partial<ResourceShareSpec>> = {
      'that says nothing': {},
      'with more than everything': { percentage: 101 },
      'that enforces in a way of its own': { percentage: 10, enforcement: 'Strict' as 'Hard' },
    };
    for (const [what, spec] of Object.entries(wrong)) {
      it(`${what} is refused`, () => assert.rejects(
        lend(0, 'wrong', spec), (error) => error instanceof ApiError && error.status === 422,
      ));
    }

    it('is the allocatable of the virtual node', async () => {
      await lend(0, 'small', { limits: { cpu: '1500m', pods: '5' } });
      await lend(1, 'none', { cordoned: true });
      const all = await nodes.until(
        'both shares are shown',
        (objects) =>
          shown(objects, 1)?.status?.allocatable?.['cpu'] === '1500m'
            && shown(objects, 2)?.status?.allocatable?.['pods'] === '0',
        TIMEOUT_MS,
      );
      assert.equal(shown(all, 1)?.status?.allocatable?.['pods'], '5');
      assert.notEqual(shown(all, 1)?.status?.capacity?.['cpu'], '1500m');
    });

    it('is never passed: what does not fit waits with the reason of each target', async () => {
      await Promise.all(['a', 'b', 'c'].map((name) => world.source.client.create(PODS, elected(name, '700m'))));
      const waits = (pod: Pod) => pod.status?.conditions?.some(
        ({ type, message = '' }) => type === 'PodScheduled' &&
          message.includes('small, requested: cpu=700m, used: cpu=1400m, limited: cpu=1500m') &&
          message.includes('none is cordoned'),
      ) ?? false;
      const pods = await world.source.pods.until('two run and one waits', (all) => {
        const ours = inNamespace(all, NAMESPACE);
        return ours.filter(isRunning).length === 2 && ours.some(waits);
      }, TIMEOUT_MS);
      assert.equal(inNamespace(pods, NAMESPACE).length, 3);
      const delegates =
        await Promise.all(world.targets.map(({ client }) => client.list(PODS, { namespace: NAMESPACE })));
      assert.deepEqual(delegates.map(({ length }) => length), [2, 0]);
      await shares.until(
        'its use is shown',
        (all) => all.some(({ status }) => status?.used?.['cpu'] === '1400m' && status.used['pods'] === '2'),
        TIMEOUT_MS,
      );
    });

    it('takes the next pod when it has grown', async () => {
      await lend(0, 'small', { limits: { cpu: '3', pods: '5' } });
      await world.source.pods.until(
        'all run', (all) => inNamespace(all, NAMESPACE).filter(isRunning).length === 3, TIMEOUT_MS * 2,
      );
    });
  });

  describe('a target all of whose nodes are cordoned', () => {
    it('says that it has nothing, and what it has when they are back', async () => {
      const { client } = world.targets[0];
      const summaries = await new WatchedCollection(client, CLUSTER_SUMMARIES).start(world.signal);
      const free = ([summary]: readonly ClusterSummary[]) => summary?.free?.['cpu'];
      await summaries.until('it has something', (all) => free(all) !== undefined, TIMEOUT_MS);
      const cordon = async (unschedulable: boolean) => {
        for (const { metadata: { name = '' } } of await client.list(NODES)) {
          await client.patch(NODES, { name }, { patchType: 'merge', patch: { spec: { unschedulable } } });
        }
      };
      await cordon(true);
      const [empty] = await summaries.until('it has nothing', (all) => free(all) === undefined, TIMEOUT_MS);
      assert.deepEqual(
        [empty?.capacity, empty?.allocatable, empty?.free, empty?.largestFree, empty?.nodeGroups], [{}, {}, {}, {}, []],
      );
      await cordon(false);
      await summaries.until('it has something again', (all) => free(all) !== undefined, TIMEOUT_MS);
    });
  });
});
