// Pods that fit nowhere, on real API servers and schedulers: one target whose nodes Karpenter makes gets them, without
// a declaration.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION } from '../../../api/objects/keys.ts';
import { LEASES, NODES, PODS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { isNotFound, unless } from '../../../kubernetes/flow/api-error.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { inNamespace, isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';

const NAMESPACE = 'growing';
const MADE_NODE = 'made-by-karpenter';
const POOL = { 'karpenter.sh/nodepool': 'default' };

const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;
describe('a target that grows', () => {
  before(async () => {
    ({ world } = shared());
    await makeNamespace(world, NAMESPACE);
  }, { timeout: 300_000 });
  after(async () => {
    await leaveWorld(world);
    await world.targets[1].client.delete(NODES, { name: MADE_NODE });
    await labelNodes({ 'karpenter.sh/nodepool': null });
  });

  async function labelNodes(labels: Readonly<Record<string, string | null>>): Promise<void> {
    const { client } = world.targets[1];
    for (const { metadata: { name = '' } } of await client.list(NODES)) {
      await client.patch(NODES, { name }, { patchType: 'merge', patch: { metadata: { labels } } });
    }
  }

  /**
   * Makes a node in the second target as Karpenter does: tainted until its kubelet has registered. kwok would pass over
   * a pod that is bound before it knows that it holds the node's Lease.
   */
  async function makeNode(): Promise<void> {
    const { client } = world.targets[1];
    const name = MADE_NODE;
    const [like] = await client.list(NODES);
    assert.ok(like !== undefined);
    const { metadata: { labels = {}, annotations = {} }, spec, ...rest } = like;
    const node: Node = {
      ...rest,
      metadata: { name, annotations, labels: { ...labels, 'kubernetes.io/hostname': 'made' } },
      spec: { ...spec, taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] },
    };
    await client.create(NODES, node);
    const isRegistered = () =>
      client.get(LEASES, { namespace: 'kube-node-lease', name }).then(() => true, unless(isNotFound));
    assert.ok(await pollUntil(isRegistered, { forMs: 60_000, everyMs: 100 }, world.signal), 'its kubelet registers');
    await client.patch(NODES, { name }, { patchType: 'merge', patch: { spec: { taints: [] } } });
  }

  async function createPod(name: string, cpu: string): Promise<void> {
    const resources = { requests: { cpu } };
    const pod: Pod = {
      metadata: { namespace: NAMESPACE, name, annotations: { [ELECT_ANNOTATION]: '' } },
      spec: { containers: [{ name: 'main', image: 'example/main:1', resources }] },
    };
    await world.source.client.create(PODS, pod);
  }

  const proxy = (name: string): Pod | undefined =>
    inNamespace(world.source.pods.objects, NAMESPACE).find(({ metadata }) => metadata.name === name);
  const told = (name: string): string => findCondition(proxy(name)?.status?.conditions, 'PodScheduled')?.message ?? '';
  /** So much that each node has room for one such pod and no second one: two thirds of a node. */
  let most: string;

  describe('a pod that fits nowhere', () => {
    before(async () => {
      const [node] = await world.targets[0].client.list(NODES);
      most = `${Math.floor(Number(node?.status?.allocatable?.['cpu']) * 666)}m`;
      await Promise.all([createPod('first', most), createPod('second', most)]);
      await world.source.pods.until('both targets are full', (pods) =>
        inNamespace(pods, NAMESPACE).filter(isRunning).length === 2, 60_000);
    });

    it('is told why where no target shows an autoscaler', async () => {
      await createPod('waits', most);
      await world.source.pods.until('it is told', () => /InsufficientResources/.test(told('waits')), 60_000);
      assert.equal(proxy('waits')?.spec.nodeName, undefined);
      await world.source.client.delete(PODS, { namespace: NAMESPACE, name: 'waits' });
    });

    it('goes to the one target whose nodes Karpenter makes, and waits there for a node', async () => {
      await labelNodes(POOL);
      await createPod('grows', most);
      const made = await world.targets[1].pods.until('its candidate waits in the target that grows', (pods) =>
        inNamespace(pods, NAMESPACE).some((pod) => pod.metadata.name?.startsWith('grows-') === true
          && findCondition(pod.status?.conditions, 'PodScheduled')?.reason === 'Unschedulable'), 60_000);
      assert.ok(made.length > 0);
      const elsewhere = inNamespace((await world.targets[0].pods.caughtUp()).objects, NAMESPACE);
      assert.deepEqual(elsewhere.filter(({ metadata }) => metadata.name?.startsWith('grows-') === true), []);
      // an image that changes before the bind is one that changed since the delegate was made
      await world.source.client.patch(PODS, { namespace: NAMESPACE, name: 'grows' }, {
        patchType: 'strategic', patch: { spec: { containers: [{ name: 'main', image: 'example/main:2' }] } },
      });
      await makeNode();
      await world.source.pods.until('it runs', () => {
        const pod = proxy('grows');
        return pod !== undefined && isRunning(pod)
          && pod.spec.nodeName === virtualNodeName({ kind: 'ClusterTarget', name: 'target-2' });
      }, 90_000);
      await world.targets[1].pods.until('it has the image that the pod got while it waited', (pods) =>
        inNamespace(pods, NAMESPACE).some(({ metadata, spec }) =>
          metadata.name?.startsWith('grows-') === true && spec.containers[0]?.image === 'example/main:2'), 60_000);
    });

    it('leaves a target where it waits for a node when that is cordoned, which a drain begins with', async () => {
      const name = virtualNodeName({ kind: 'ClusterTarget', name: 'target-2' });
      const cordon = (unschedulable: true | null) =>
        world.source.client.patch(NODES, { name }, { patchType: 'merge', patch: { spec: { unschedulable } } });
      const there = () => inNamespace(world.targets[1].pods.objects, NAMESPACE)
        .filter(({ metadata }) => metadata.name?.startsWith('late-') === true);
      await createPod('late', most);
      await world.targets[1].pods.until('its candidate waits', () => there().some(
        ({ status }) => findCondition(status?.conditions, 'PodScheduled')?.reason === 'Unschedulable',
      ), 60_000);
      await cordon(true);
      await world.targets[1].pods.until('its candidate is gone', () => there().length === 0, 60_000);
      await world.source.pods.until('it is told', () => /target-2: Cordoned/.test(told('late')), 60_000);
      await cordon(null);
      await world.targets[1].pods.until('it waits there again', () => there().length === 1, 60_000);
    });

    it('that no such node would hold stays where it is', async () => {
      await createPod('huge', '100000');
      const isTold = () => /nor would a node that its autoscaler may add/.test(told('huge'));
      await world.source.pods.until('it is told', isTold, 60_000);
      const followed = await Promise.all(world.targets.map(({ pods }) => pods.caughtUp()));
      const anywhere = followed.flatMap(({ objects }) => inNamespace(objects, NAMESPACE));
      assert.deepEqual(anywhere.filter(({ metadata }) => metadata.name?.startsWith('huge') === true), []);
    });
  });
});
