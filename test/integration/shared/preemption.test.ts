// A delegate for which the scheduler of its target stops a pod of lower priority, on real API servers and schedulers.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION } from '../../../api/objects/keys.ts';
import { PODS } from '../../../api/resource-types.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { isBound, isTerminating } from '../../../model/pod/pod.ts';
import { HOST_NAME_LABEL } from '../../../scheduler/snapshot/virtual-node-info.ts';
import { inNamespace, isRunning, makeNamespace, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';

const NAMESPACE = 'preempting';
const VICTIM = { namespace: NAMESPACE, name: 'victim' };
const CONTAINERS = [{ name: 'main', image: 'example/main:1' }];
/** The first target. */
const HOST = { [HOST_NAME_LABEL]: virtualNodeName({ kind: 'ClusterTarget', name: 'target-1' }) };

const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;
describe('a pod that its target makes room for', () => {
  before(async () => {
    ({ world } = shared());
    await makeNamespace(world, NAMESPACE);
    // its finalizer stands for a grace period: it is not gone at once
    const metadata = { ...VICTIM, labels: { app: 'victim' }, finalizers: ['example.com/stops-slowly'] };
    const victim: Pod = { metadata, spec: { containers: CONTAINERS } };
    await world.targets[0].client.create(PODS, victim);
    await world.targets[0].pods.until('it has its node', (pods) => inNamespace(pods, NAMESPACE).some(isBound), 60_000);
  }, { timeout: 300_000 });
  after(() => leaveWorld(world));

  it('gets that room with the one delegate that it was made for', async () => {
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: HOST_NAME_LABEL, labelSelector: { matchLabels: { app: 'victim' } } },
    ] };
    const annotations =
      { [ELECT_ANNOTATION]: '', [PROXY_CONSTRAINTS_ANNOTATION]: JSON.stringify({ nodeSelector: HOST }) };
    const important: Pod = {
      metadata: { namespace: NAMESPACE, name: 'important', annotations },
      spec: { containers: CONTAINERS, priorityClassName: 'system-cluster-critical', affinity: { podAntiAffinity } },
    };
    await world.source.client.create(PODS, important);
    const { client, pods } = world.targets[0];
    const delegate = ({ metadata, status }: Pod) =>
      metadata.name !== VICTIM.name && (status?.nominatedNodeName ?? '') !== '';
    const nominated = (await pods.until('a pod is stopped for it', (all) =>
      inNamespace(all, NAMESPACE).some(delegate) && inNamespace(all, NAMESPACE).some(isTerminating), 60_000))
      .find(delegate);
    await client.patch(PODS, VICTIM, { patchType: 'merge', patch: { metadata: { finalizers: null } } });
    await world.source.pods.until('it runs', (all) => inNamespace(all, NAMESPACE).some(isRunning), 60_000);
    const running = inNamespace((await pods.caughtUp()).objects, NAMESPACE).find(isRunning);
    assert.equal(running?.metadata.uid, nominated?.metadata.uid);
  });
});
