// A registry as it is followed: its kinds from the moment that they are served, in the version that is, and of Secrets
// those alone that its objects name. What cannot be read is never taken for what is not there.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import { CUSTOM_RESOURCE_DEFINITIONS, SECRETS } from '../../../../api/resource-types.ts';
import type { RegisteredCluster } from '../../../../discovery/entry/registered-cluster.ts';
import type { Registry } from '../../../../discovery/entry/registry.ts';
import { RegistryFollower, type FollowedRegistry } from '../../../../discovery/watch/registry-follower.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { FakeCluster, watchedPath } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

const kind = { group: 'g.example', plural: 'clusters', kind: 'Cluster', namespaced: true, versions: ['v2', 'v1'] };
const OTHER = { ...kind, plural: 'fleets', kind: 'Fleet', namespaced: false, versions: ['v1'] };
const typeOf = (version: string, { group, plural, kind: name, namespaced } = kind): ResourceType =>
  ({ group, version, plural, kind: name, namespaced });
/** The definition of a kind with these versions, served or not. */
const definition = (served: Readonly<Record<string, boolean>>, { plural, group } = kind): KubernetesObject => ({
  metadata: { name: `${plural}.${group}` },
  spec: { versions: Object.entries(served).map(([name, isServed]) => ({ name, served: isServed })) },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
}) as KubernetesObject;
/** A cluster of the registry, whose access is in a Secret of this name. */
const registered = (name: string, secret = name, labels = {}, namespace = 'reg'): KubernetesObject =>
  ({ metadata: { namespace, name, labels }, spec: { secret } }) as KubernetesObject;
const aSecret = (name: string, more: object = {}): KubernetesObject =>
  ({ metadata: { namespace: 'reg', name, ...more }, data: { token: 'dA==' } }) as KubernetesObject;

const placeIn = (object: KubernetesObject) => ({
  namespace: object.metadata.namespace ?? '',
  name: (object as { readonly spec?: { readonly secret?: string } }).spec?.secret ?? '',
});

/** A registry whose objects name a Secret each; the text of an access says what is known of that. */
const REGISTRY: Registry = {
  kinds: [kind],
  namedSecrets: (object) => [placeIn(object)],
  read: ({ objects, secret }) => [...objects.values()].flat().map((object) => {
    const { name = '', labels = {} } = object.metadata;
    const found = secret(placeIn(object));
    const message = found.kind === 'unread' ? `unread: ${found.message}` : found.kind;
    return { entry: name, name, labels, access: { kind: 'waiting', message } };
  }),
};

let cluster: FakeCluster;
let follower: RegistryFollower;
let changes = 0;

async function followed(
  registry: Registry = REGISTRY, spec: Partial<FollowedRegistry['spec']> = { namespaces: ['reg'] },
): Promise<void> {
  follower = new RegistryFollower(
    { client: cluster.client, logger: SILENT, changed: () => (changes += 1) },
    { registry, spec: { from: {}, ...spec } },
  );
  await cluster.settled();
}

/** What is known of each cluster, a line each; or why nothing is. */
function reading(): readonly string[] {
  const read = follower.reading();
  if (read.kind === 'unread') return [`${read.reason}: ${read.message}`];
  const said = ({ name, access }: RegisteredCluster) => `${name} ${access.kind === 'waiting' ? access.message : ''}`;
  return read.clusters.map(said).toSorted();
}

const isComplete = (): boolean => {
  const read = follower.reading();
  return read.kind === 'read' && read.isComplete;
};
const watches = (): readonly string[] =>
  [...cluster.watched.values()].filter((path) => !path.includes('customresourcedefinitions')).toSorted();

describe('a registry', () => {
  beforeEach(() => {
    [cluster, changes] = [new FakeCluster(), 0];
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(async () => {
    follower.stop();
    mock.timers.reset();
    await cluster.settled();
  });

  describe('whose kind', () => {
    it('is not served is asked for nothing but its definition', async () => {
      await followed();
      assert.match(reading()[0] ?? '', /^NotServed: clusters\.g\.example is not served here in a version/);
      assert.deepEqual(watches(), []);
    });

    it('is served from now on is read from now on, without being asked again', async () => {
      cluster.put(typeOf('v2'), registered('eu'));
      cluster.put(SECRETS, aSecret('eu'));
      await followed();
      changes = 0;
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v2: true }));
      await cluster.settled();
      assert.deepEqual([reading(), isComplete()], [['eu found'], true]);
      assert.ok(changes > 0);
    });

    it('is served in an older version is watched in that, and in the newer once that is served', async () => {
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v1: true, v2: false }));
      await followed();
      assert.deepEqual(watches(), [watchedPath(typeOf('v1'), 'reg')]);
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v1: true, v2: true }));
      await cluster.settled();
      assert.deepEqual(watches(), [watchedPath(typeOf('v2'), 'reg')]);
    });

    it('is served no more is not read any more, and its Secrets are not in memory', async () => {
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v2: true }));
      cluster.put(typeOf('v2'), registered('eu'));
      await followed();
      assert.equal(watches().length, 2);
      cluster.remove(CUSTOM_RESOURCE_DEFINITIONS, 'clusters.g.example');
      await cluster.settled();
      assert.match(reading()[0] ?? '', /^NotServed/);
      assert.deepEqual(watches(), []);
    });

    it('has a definition that may not be read says so', async () => {
      cluster.refused.set('customresourcedefinitions', new ApiError(403, 'Forbidden', 'it is forbidden'));
      await followed();
      assert.match(reading()[0] ?? '', /^Forbidden: it is forbidden; bind ClusterRole/);
    });

    for (const [what, error, says] of [
      ['is not allowed to be listed', new ApiError(403, 'Forbidden', 'it is forbidden'), /^Forbidden: /],
      ['cannot be listed', new ApiError(500, 'InternalError', 'x'), /^Unreadable: the registry cannot be read: /],
    ] as const) it(what, async () => {
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v2: true }));
      cluster.refused.set('clusters', error);
      await followed();
      assert.match(reading()[0] ?? '', says);
    });

    it('is one of several, of which any will do', async () => {
      const registry = { ...REGISTRY, kinds: [kind, OTHER], needsAnyKind: true };
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v1: true }, OTHER));
      cluster.put(typeOf('v1', OTHER), { metadata: { name: 'all' }, spec: { secret: 'x' } } as KubernetesObject);
      await followed(registry);
      assert.equal(reading().length, 1);
      assert.ok(watches().includes(watchedPath(typeOf('v1', OTHER))), 'it has no namespaces, whatever is named');
    });

    it('is one of several, of which all are needed', async () => {
      cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v1: true }, OTHER));
      await followed({ ...REGISTRY, kinds: [kind, OTHER] });
      assert.match(reading()[0] ?? '', /^NotServed: clusters\.g\.example is not served/);
    });
  });

  describe('with objects', () => {
    beforeEach(() => cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v2: true })));

    it('is read in the namespaces that are named', async () => {
      for (const namespace of ['reg', 'more', 'other']) {
        cluster.put(typeOf('v2'), registered(`in-${namespace}`, 'x', {}, namespace));
      }
      await followed(REGISTRY, { namespaces: ['reg', 'more'] });
      assert.deepEqual(reading(), ['in-more missing', 'in-reg missing']);
    });

    it('is read everywhere where a star stands among them, and where none is named', async () => {
      cluster.put(typeOf('v2'), registered('eu', 'x', {}, 'other'));
      for (const spec of [{ namespaces: ['reg', '*'] }, {}]) {
        await followed(REGISTRY, spec);
        assert.deepEqual(reading(), ['eu missing'], JSON.stringify(spec));
        follower.stop();
        await cluster.settled();
      }
    });

    it('gives those that the selector takes', async () => {
      cluster.put(typeOf('v2'), registered('eu', 'eu', { tier: 'gold' }));
      cluster.put(typeOf('v2'), registered('us', 'us', { tier: 'tin' }));
      await followed(REGISTRY, { namespaces: ['reg'], selector: { matchLabels: { tier: 'gold' } } });
      assert.deepEqual(reading(), ['eu missing']);
    });

    it('is not complete while a watch is broken, so that nothing has left', async () => {
      cluster.put(typeOf('v2'), registered('eu'));
      await followed();
      assert.equal(isComplete(), true);
      cluster.lose(typeOf('v2'), 'reg/eu');
      cluster.refused.set('clusters', new ApiError(503, 'ServiceUnavailable', '-'));
      cluster.endWatches(typeOf('v2'), { code: 410, reason: 'Expired' });
      await cluster.settled();
      assert.deepEqual([reading(), isComplete()], [['eu missing'], false]);
    });

    it('is not complete while its definitions cannot be watched', async () => {
      await followed();
      cluster.refused.set('customresourcedefinitions', new ApiError(503, 'ServiceUnavailable', '-'));
      cluster.endWatches(CUSTOM_RESOURCE_DEFINITIONS, { code: 410, reason: 'Expired' });
      await cluster.settled();
      assert.deepEqual([reading(), isComplete()], [[], false]);
    });
  });

  describe('whose objects name Secrets', () => {
    beforeEach(() => cluster.put(CUSTOM_RESOURCE_DEFINITIONS, definition({ v2: true })));
    const secretWatches = (): readonly string[] => watches().filter((path) => path.includes('/secrets'));
    const path = (name: string) => `${watchedPath(SECRETS, 'reg')} metadata.name=${name}`;

    it('reads each by its name, once, and no other', async () => {
      for (const [name, secret] of [['eu', 'one'], ['us', 'one'], ['ap', 'two']] as const) {
        cluster.put(typeOf('v2'), registered(name, secret));
      }
      for (const name of ['one', 'two', 'three']) cluster.put(SECRETS, aSecret(name));
      await followed();
      assert.deepEqual(secretWatches(), [path('one'), path('two')]);
      assert.deepEqual(reading(), ['ap found', 'eu found', 'us found']);
    });

    it('forgets one that is named no more', async () => {
      cluster.put(typeOf('v2'), registered('eu', 'one'));
      await followed();
      cluster.put(typeOf('v2'), registered('eu', 'two'));
      await cluster.settled();
      assert.deepEqual(secretWatches(), [path('two')]);
      cluster.remove(typeOf('v2'), 'reg/eu');
      await cluster.settled();
      assert.deepEqual(secretWatches(), []);
    });

    it('says of one that cannot be read why, and not that it is missing', async () => {
      cluster.put(typeOf('v2'), registered('eu'));
      cluster.refused.set('secrets', new ApiError(403, 'Forbidden', 'secrets "eu" is forbidden'));
      await followed();
      assert.deepEqual(reading(), ['eu unread: secrets "eu" is forbidden']);
      assert.equal(isComplete(), true, 'the other entries are known');
    });

    it('tells of one that comes, changes and goes', async () => {
      cluster.put(typeOf('v2'), registered('eu'));
      await followed();
      const seen: string[] = [];
      for (const change of [
        () => cluster.put(SECRETS, aSecret('eu')), () => cluster.put(SECRETS, aSecret('eu', { labels: { a: 'b' } })),
        () => cluster.remove(SECRETS, 'reg/eu'),
      ]) {
        changes = 0;
        change();
        await cluster.settled();
        seen.push(`${reading().join()} ${changes}`);
      }
      assert.deepEqual(seen, ['eu found 1', 'eu found 1', 'eu missing 1']);
    });
  });

  describe('of Secrets', () => {
    it('keeps those alone that it wants in memory', async () => {
      const read: Registry['read'] = ({ secrets, secret }) => secrets.map(({ metadata: { name = '' } }) => ({
        entry: name, name, labels: {},
        access: { kind: 'waiting', message: secret({ namespace: 'reg', name: 'unwanted' }).kind },
      }));
      for (const name of ['wanted', 'unwanted']) cluster.put(SECRETS, aSecret(name));
      await followed({
        kinds: [], secretSelector: 'a=b', keepsSecret: ({ metadata }) => metadata.name === 'wanted', read,
      });
      assert.deepEqual(reading(), ['wanted missing']);
    });

    it('is unread before they are listed, and asks for nothing once it is stopped', async () => {
      cluster.refused.set('secrets', new ApiError(403, 'Forbidden', '-'));
      await followed({ kinds: [], secretSelector: 'a=b', read: () => [] });
      assert.match(reading()[0] ?? '', /^Forbidden/);
      cluster.refused.clear();
      follower.stop();
      mock.timers.tick(60_000);
      await cluster.settled();
      assert.deepEqual(watches(), []);
    });
  });
});
