// Published profiles and decisions as they are followed: nothing is concluded before a kind is known to be served.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { CLUSTER_MANAGER } from '../../../../api/placement/cluster-inventory.ts';
import { CLUSTER_PROFILES, PLACEMENT_DECISIONS } from '../../../../api/resource-types.ts';
import { pathOf } from '../../../../kubernetes/client/cluster-client.ts';
import { ClusterInventory } from '../../../../scheduler/publishing/cluster-inventory.ts';
import { startClusterProfiles } from '../../../../scheduler/publishing/cluster-profile-controller.ts';
import { publishedTarget } from '../../../support/objects/published-profiles.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';
import { StoredObjects } from '../../../support/doubles/stored-objects.ts';

const NAMESPACE = 'kueue-system';
const profileAt = (name: string, namespace = NAMESPACE): string => pathOf(CLUSTER_PROFILES, { namespace, name });
const sliceAt = (name: string): string => pathOf(PLACEMENT_DECISIONS, { namespace: NAMESPACE, name });
const profile = (name: string, manager = CLUSTER_MANAGER): KubernetesObject => ({
  metadata: {
    namespace: NAMESPACE, name,
    ownerReferences: [{ apiVersion: 'x', kind: 'ClusterTarget', name, uid: `uid-${name}` }],
  },
  spec: { displayName: name, clusterManager: { name: manager } },
}) as KubernetesObject;

async function follow(
  t: TestContext, objects: Readonly<Record<string, KubernetesObject>>, namespaces: readonly string[] = [NAMESPACE],
) {
  const stored = await StoredObjects.start(t, objects);
  const ending = new AbortController();
  t.after(() => ending.abort());
  const inventory = new ClusterInventory({ source: stored.client, logger: SILENT }, namespaces);
  let changed: () => void = () => undefined;
  inventory.onChange(() => changed());
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => { changed = resolve; });
  };
  return { stored, inventory, until, signal: ending.signal };
}

describe('what is published', { timeout: 60_000 }, () => {
  it('is not known before it was listed: neither profiles nor decisions are none', async (t) => {
    const { inventory, until, signal } = await follow(t, {});
    assert.deepEqual([inventory.profileNames(NAMESPACE), inventory.slicesIn(NAMESPACE)], [undefined, undefined]);
    assert.equal(inventory.knowsProfiles(NAMESPACE), false);
    inventory.run(signal);
    await until(() => inventory.slicesIn(NAMESPACE) !== undefined && inventory.knowsProfiles(NAMESPACE));
    assert.deepEqual([inventory.profileNames(NAMESPACE), inventory.slicesIn(NAMESPACE)], [new Set(), []]);
  });
  it('names the profiles that are ours, and finds any', async (t) => {
    const { inventory, until, signal } =
      await follow(t, { [profileAt('eu')]: profile('eu'), [profileAt('theirs')]: profile('theirs', 'fleet') });
    inventory.run(signal);
    await until(() => inventory.knowsProfiles(NAMESPACE));
    assert.deepEqual(inventory.profileNames(NAMESPACE), new Set(['eu']));
    assert.equal(inventory.profile(`${NAMESPACE}/theirs`)?.metadata.name, 'theirs');
    assert.equal(inventory.profile(`${NAMESPACE}/none`), undefined);
    assert.equal(inventory.profile('elsewhere/eu'), undefined);
  });
  it('is told of as it changes', async (t) => {
    const { stored, inventory, until, signal } = await follow(t, { [profileAt('eu')]: profile('eu') });
    inventory.run(signal);
    await until(() => inventory.profileNames(NAMESPACE)?.has('eu') === true);
    stored.remove(profileAt('eu'));
    await until(() => inventory.profileNames(NAMESPACE)?.size === 0);
    stored.put(sliceAt('web-0'), { metadata: { namespace: NAMESPACE, name: 'web-0' } });
    await until(() => inventory.slicesIn(NAMESPACE)?.length === 1);
  });
  it('is nothing where no namespace is named, and nothing of namespaces that are not', async (t) => {
    const { inventory } = await follow(t, {}, []);
    assert.equal(inventory.isEmpty, true);
    assert.deepEqual([...inventory.namespaces], []);
    assert.equal(inventory.knowsProfiles(NAMESPACE), false);
    assert.deepEqual([inventory.profileNames(NAMESPACE), inventory.slicesIn(NAMESPACE)], [undefined, undefined]);
  });
});

type ProfileOptions = Parameters<typeof startClusterProfiles>[0];
type Listener = Partial<Record<'changed' | 'removed' | 'sessionOpened', (target: object) => void>>;

describe('the controller of profiles', { timeout: 60_000 }, () => {
  /** Targets of these names, of which `gone` says that they were deleted. */
  async function start(
    t: TestContext, names: readonly string[], objects: Readonly<Record<string, KubernetesObject>> = {},
  ) {
    const followed = await follow(t, objects);
    const present = new Set(names);
    const listeners: Listener[] = [];
    const { labels, spec, availability, endpoint, clusterId } = publishedTarget();
    const refOf = (name: string) => ({ kind: 'ClusterTarget', name });
    const targetOf = (name: string) => ({ ref: refOf(name), availability, endpoint, clusterId, session: undefined });
    const targets = {
      untilSynced: async () => undefined,
      all: () => [...present].map(targetOf),
      get: (key: string) => [...present].filter((name) => key === name || key.endsWith(`/${name}`)).map(targetOf)[0],
      object: ({ name }: { readonly name: string }) =>
        (present.has(name) ? { ref: refOf(name), uid: `uid-${name}`, labels, spec, status: {} } : undefined),
      listen: (listener: Listener) => void listeners.push(listener),
    };
    startClusterProfiles({
      source: followed.stored.client, inventory: followed.inventory, installNamespace: 'isthmus-system',
      logger: SILENT, targets: targets as unknown as ProfileOptions['targets'],
    }, followed.signal);
    followed.inventory.run(followed.signal);
    const remove = (name: string): void => {
      present.delete(name);
      for (const { removed } of listeners) removed?.(targetOf(name));
    };
    return { ...followed, remove };
  }

  it('makes a profile for each target, fills it, and leaves it alone from then on', async (t) => {
    const { stored, inventory, until } = await start(t, ['eu', 'us']);
    const isFilled = (name: string): boolean => inventory.profile(`${NAMESPACE}/${name}`)?.spec.displayName === name;
    await until(() => isFilled('eu') && isFilled('us'));
    await stored.until((writes) => writes.filter(({ method }) => method === 'POST').length === 2);
    assert.deepEqual(new Set(stored.writes.filter(({ method }) => method === 'POST').map(({ path }) => path)),
      new Set([profileAt('eu'), profileAt('us')]));
    await stored.until((writes) => ['eu', 'us'].every((name) =>
      writes.some(({ path }) => path === `${profileAt(name)}/status`)));
  });
  it('deletes the profile of a target that was removed, and no profile of others', async (t) => {
    const { stored, inventory, remove } =
      await start(t, ['eu'], { [profileAt('theirs')]: profile('theirs', 'fleet'), [profileAt('old')]: profile('old') });
    await stored.until(() => stored.deletes.includes(profileAt('old')));
    await stored.until((writes) => writes.some(({ path }) => path === `${profileAt('eu')}/status`));
    remove('eu');
    await stored.until(() => stored.deletes.includes(profileAt('eu')));
    assert.equal(stored.deletes.includes(profileAt('theirs')), false);
    assert.equal(inventory.profile(`${NAMESPACE}/theirs`)?.metadata.name, 'theirs');
  });
});
