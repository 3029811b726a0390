// Registries that change under load, on real API servers: credentials that are replaced again and again, nearly all
// clusters gone at once, and one that never answers. `npm run soak -- discovery` does the same for longer, and more.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { REMOVALS_HELD, type TargetDiscovery } from '../../../api/registry/target-discovery.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../../api/objects/keys.ts';
import { NAMESPACES, SECRETS } from '../../../api/resource-types.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { auditedSession } from '../../support/history/audited-session.ts';
import { CreateStream } from '../../support/history/create-stream.ts';
import {
  discover, makeRegistryNamespace, startDiscoveryWorld, untilEntry, untilReady, writeSecret, type DiscoveryWorld,
} from '../../support/worlds/discovery-world.ts';
import { RotatedAccess } from '../../support/worlds/rotated-access.ts';
import { startSimulatedClusters, type SimulatedClusters } from '../../support/doubles/simulated-clusters.ts';

const TEN = { from: { kubeconfigSecrets: {} }, namespaces: ['ten'] };
const REGISTERED = { 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true' };

let world: DiscoveryWorld;
before(async () => {
  world = await startDiscoveryWorld(1, { audit: true });
});
after(() => world?.stop());

describe('credentials that are replaced under a stream of pods', () => {
  let access: RotatedAccess;
  let readyAt: string | undefined;
  const readySince = () => JSON.stringify(
    findCondition(world.clusterTargets.get('eu-west')?.status?.conditions, 'Ready'),
  );
  before(async () => {
    const labels = { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE };
    await world.source.create(NAMESPACES, { metadata: { name: 'shop', labels } });
    await world.targets[0]!.client.create(NAMESPACES, { metadata: { name: 'shop' } });
    await makeRegistryNamespace(world, 'argocd');
    await discover(world, 'argo', { from: { argoCD: {} }, namespaces: ['argocd'], target: { delegation: 'Pod' } });
    access = await RotatedAccess.begin(world);
    await untilReady(world, 'eu-west');
  });

  it('interrupt nothing: no create fails, nothing is listed again, the target stays Ready', async () => {
    const from = Date.now();
    const stream = new CreateStream({ client: world.source }, ['shop']);
    await world.pods.until('a first pod runs', () => stream.waits.length > 0, 60_000);
    readyAt = readySince();
    for (let times = 0; times < 3; times += 1) {
      const { length } = stream.waits;
      await access.rotate();
      await world.pods.until('a pod runs with them', () => stream.waits.length > length, 60_000);
    }
    await stream.stop();
    assert.deepEqual([stream.refused, stream.vanished], [[], []]);
    const audited = auditedSession(await readFile(world.sandbox.clusters[1]?.auditLog ?? '', 'utf8'), from);
    assert.deepEqual([audited.failed, audited.lists], [[], []]);
    assert.ok(audited.creates >= 3 && audited.resumed >= 3, JSON.stringify(audited));
    assert.equal(readySince(), readyAt);
  });

  it('are kept as they were while the registry has some that the API server does not accept', async () => {
    await access.write({ bearerToken: 'of-nobody' });
    const { message = '' } = await untilEntry(world, 'argo', 'it says so', (entry) => entry.message !== undefined);
    assert.match(message, /^the credentials before are kept: .* does not accept the credentials/);
    assert.equal(readySince(), readyAt);
    await access.rotate();
    await untilEntry(world, 'argo', 'all is well again', ({ state, message: told }) =>
      state === 'Target' && told === undefined);
  });
});

describe('ten clusters in a registry', () => {
  let clusters: SimulatedClusters;
  const held = (all: readonly TargetDiscovery[]) => findCondition(
    all.find(({ metadata }) => metadata.name === 'ten')?.status?.conditions, REMOVALS_HELD,
  );
  before(async () => {
    clusters = await startSimulatedClusters(10, 1);
    clusters.silence([0]);
    await makeRegistryNamespace(world, 'ten');
    await Promise.all(clusters.kubeconfigs.map((kubeconfig, index) =>
      writeSecret(world, { namespace: 'ten', name: `ten-${index}`, labels: REGISTERED }, { kubeconfig })));
    await discover(world, 'ten', { ...TEN, removal: { afterSeconds: 1 } });
  });
  after(() => clusters?.stop());

  it('are targets, but for the one that accepts connections and answers nothing', async () => {
    await Promise.all(Array.from({ length: 9 }, (_, index) => untilReady(world, `ten-${index + 1}`)));
    const { message = '' } = await untilEntry(
      world, 'ten', 'one is Unreachable', ({ name, state }) => name === 'ten-0' && state === 'Unreachable',
    );
    assert.match(message, /does not answer as an API server/);
    assert.equal(world.clusterTargets.get('ten-0'), undefined);
  });

  it('are held back when nine leave within a second, and the status says which', async () => {
    await Promise.all(Array.from({ length: 9 }, (_, index) =>
      world.source.delete(SECRETS, { namespace: 'ten', name: `ten-${index + 1}` }, {})));
    const all = await world.discoveries.until('all nine are held back', (objects) => {
      const { status, message = '' } = held(objects) ?? {};
      return status === 'True' && message.startsWith('9 ');
    });
    const { message = '' } = held(all) ?? {};
    assert.match(message, /^9 targets have left the registry at once, .*ten-1, ten-2.* spec\.removal\.confirmed/);
    const states = all.find(({ metadata }) => metadata.name === 'ten')?.status?.clusters ?? [];
    assert.equal(states.filter(({ state }) => state === 'Held').length, 9);
    assert.deepEqual(readyTargets(), [1, 2, 3, 4, 5, 6, 7, 8, 9].map((index) => `ten-${index}`));
  });

  it('leave when an administrator confirms it, and only those', async () => {
    await discover(world, 'ten', { ...TEN, removal: { afterSeconds: 1, confirmed: ['ten-1', 'ten-2'] } });
    await world.clusterTargets.until(
      'the confirmed ones are gone',
      (all) => !all.some(({ metadata: { name = '' } }) => name === 'ten-1' || name === 'ten-2'), 60_000,
    );
    assert.deepEqual(readyTargets(), [3, 4, 5, 6, 7, 8, 9].map((index) => `ten-${index}`));
  });
});

function readyTargets(): readonly string[] {
  return world.clusterTargets.objects
    .filter(({ metadata: { name = '' }, status }) =>
      name.startsWith('ten-') && findCondition(status?.conditions, 'Ready')?.status === 'True')
    .map(({ metadata: { name = '' } }) => name).toSorted();
}
