// What a source could do beyond its own objects by ways that no verb of its own shows: by leaving, by names that the
// target reads, and by subresources.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import {
  CLUSTER_ROLE_BINDINGS, CLUSTER_SOURCES, POD_CHAPERONS, PODS, SOURCE_LEASES,
} from '../../../api/resource-types.ts';
import { PARENT_CLUSTER_LABEL } from '../../../api/objects/keys.ts';
import type { ClusterSource } from '../../../api/kinds/cluster-source.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { clusterRoleBinding } from '../../../model/access/rbac-objects.ts';
import {
  ADMIRALTY_SOURCE, confinedWorld, isDenied, OWN_LABELS, type ConfinedSource, type ConfinedWorld,
} from '../../support/worlds/confined-world.ts';

const spec = { containers: [{ name: 'c', image: 'image.example/c:1', resources: { requests: { cpu: '1m' } } }] };
const starting = confinedWorld();
let world: ConfinedWorld;
let peered: ConfinedSource;

before(async () => {
  world = await starting;
  peered = world.source('a peered source');
});

function until<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  return pollUntil(look, { forMs: 60_000, everyMs: 50 }, world.signal);
}

const named = (name: string) => ({ namespace: 'open', name });
const isThere = (type: ResourceType, name: string): Promise<boolean> =>
  world.admin.get(type, named(name)).then(() => true, () => false);

describe('a source that has left', () => {
  const clusterID = 'leaver';
  const account = { namespace: 'default', name: 'leaver' };
  const privileged = (name: string) => ({
    metadata: { ...named(name), labels: { [PARENT_CLUSTER_LABEL]: clusterID } }, spec: { ...spec, hostPID: true },
  });
  const refusal = async (name: string) => (
    await world.admin.get(POD_CHAPERONS, named(name))
  ).status?.conditions?.find(({ reason }) => reason === 'DelegateRejected')?.message;

  before(() => world.startDelegates());

  it('gets no pod that it was refused, and none of what it still asks for', async () => {
    // whoever has no cluster ID may have asked for anything
    await world.admin.delete(CLUSTER_SOURCES, { name: ADMIRALTY_SOURCE.metadata.name ?? '' });
    const leaver: ClusterSource = {
      metadata: { name: 'leaver' },
      spec: { serviceAccount: account, clusterID, namespaces: 'OptedIn', podSecurity: 'baseline' },
    };
    await world.admin.create(CLUSTER_SOURCES, leaver);
    const isReady = async () => (
      (await world.admin.get(CLUSTER_SOURCES, { name: 'leaver' })).status?.conditions?.some(
        ({ type, status }) => type === 'Ready' && status === 'True',
      ) === true ? true : undefined
    );
    assert.ok(await until(isReady));
    const client = await world.identity(account);
    await world.create(client, POD_CHAPERONS, privileged('before'), false);
    assert.match((await until(() => refusal('before'))) ?? '', /spec\.podSecurity of the source says so/);
    await client.delete(CLUSTER_SOURCES, { name: 'leaver' });
    // its permissions go a moment later than its ClusterSource
    await world.create(world.admin, POD_CHAPERONS, privileged('after'), false);
    for (const name of ['after', 'before']) {
      const end = await until(async () => {
        if (await isThere(PODS, name)) return 'a pod was made';
        const message = await refusal(name);
        return message?.includes('no ClusterSource or Source names its cluster leaver') === true ? message : undefined;
      });
      assert.match(end ?? '', /baseline: hostPID is set; no ClusterSource/, name);
    }
  });
});

describe('a source among others', () => {
  const lease = (name: string) => ({
    metadata: { ...named(name), labels: OWN_LABELS },
    spec: { holder: 'h', durationSeconds: 1, renewTime: '2026-01-01T00:00:00.000000Z' },
  });

  it('cannot let a lease of another one expire, which would stop its pods', async () => {
    for (const name of ['source-another', 'candidates-another']) {
      await assert.rejects(world.create(peered.client, SOURCE_LEASES, lease(name), false), isDenied, name);
    }
    for (const prefix of ['source-', 'candidates-']) {
      await world.create(peered.client, SOURCE_LEASES, lease(prefix + OWN_LABELS[PARENT_CLUSTER_LABEL]), true);
    }
  });

  it('cannot make a pod its own by its status, nor resize it, where it may write pods', async () => {
    const role = 'isthmus-source-pod-mode';
    await world.admin.apply(CLUSTER_ROLE_BINDINGS, clusterRoleBinding(role, role, [peered.account]), 'isthmus-test');
    await world.create(world.admin, PODS, { metadata: named('bystander'), spec }, false);
    await world.create(peered.client, PODS, { metadata: { ...named('mine'), labels: OWN_LABELS }, spec }, false);
    const writes = [
      ['status', { metadata: { labels: OWN_LABELS }, status: { message: 'taken' } }],
      ['resize', { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '9m' } } }] } }],
    ] as const;
    for (const [subresource, patch] of writes) {
      const write = (name: string) =>
        peered.client.patch(PODS, { ...named(name), subresource }, { patchType: 'strategic', patch });
      await assert.rejects(write('bystander'), isDenied, subresource);
      await write('mine');
    }
  });
});
