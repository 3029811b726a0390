// What the source watches for its pods, as their candidates come and go.
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import { CONFIG_MAPS, SERVICES } from '../../../../api/resource-types.ts';
import { toCopy } from '../../../../delegate-controller/copies/followed-copy.ts';
import { FOLLOWED_KINDS, type FollowedKind } from '../../../../delegate-controller/copies/followed-kinds.ts';
import { startFollow } from '../../../../delegate-controller/follow/follow-controller.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { FakeCluster } from '../../../support/doubles/fake-cluster.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

type Told = (key: string, before: undefined, after: { readonly parentKey: string }) => void;

const kindOf = (wanted: ResourceType): FollowedKind =>
  FOLLOWED_KINDS.find(({ type }) => type === wanted) ?? assert.fail(wanted.plural);

/** A source with one pod, in the target or on its way there. */
function following(t: TestContext, { nodeName, ...needs }: {
  readonly nodeName?: string; readonly references: readonly string[]; readonly labels: object
}) {
  const [source, remote, stop] = [new FakeCluster(), new FakeCluster(), new AbortController()];
  t.after(async () => {
    stop.abort();
    await source.settled();
  });
  const [told, notes]: [Told[], string[]] = [[], []];
  const session = {
    client: remote.client, signal: stop.signal, synced: Promise.resolve(), hasSynced: true, failure: undefined,
    find: () => ({ chaperon: {}, delegate: undefined }),
    chaperons: { onChange: (hear: Told) => void told.push(hear) }, delegates: { onChange: () => undefined },
  };
  const ref = { kind: 'ClusterTarget', name: 'c' };
  const target = { key: 'ClusterTarget/c', ref, nodeName: 'c', clusterId: 't', session };
  const targets = new Map([[target.key, target]]);
  const proxies = {
    synced: Promise.resolve(), onChange: () => undefined, by: () => [],
    get: () => ({ key: 'shop/web', namespace: 'shop', name: 'web', phase: 'Pending', needs, nodeName }),
  };
  const heard: { sessionOpened(...of: unknown[]): void; removed(of: unknown): void }[] = [];
  const quiet = { onChange: () => undefined };
  startFollow({
    source: source.client, sourceId: 's', logger: SILENT, proxies,
    events: { record: ({ note }: { readonly note: string }) => void notes.push(note) },
    rules: { ...quiet, allow: () => false }, podPlane: { ...quiet, known: Promise.resolve(), isThere: false },
    targets: {
      listen: (listener: (typeof heard)[number]) => void heard.push(listener), get: (key: string) => targets.get(key),
      byNode: (name: string) => [...targets.values()].find((one) => one.nodeName === name), object: () => undefined,
      untilSynced: async () => undefined,
    },
  } as never, stop.signal);
  const arrive = () => {
    heard[0]?.sessionOpened(target, session);
    told[0]?.('shop/web', undefined, { parentKey: 'shop/web' });
  };
  const leave = () => {
    targets.clear();
    heard[0]?.removed(target);
  };
  return { source, remote, notes, arrive, leave };
}

it('a target that is removed leaves nothing that its candidates needed', async (t) => {
  const { source, arrive, leave } = following(t, { references: ['secrets/key'], labels: {} });
  const watchesSecrets = () => [...source.watched.values()].some((path) => path.endsWith('/namespaces/shop/secrets'));
  arrive();
  await source.settled();
  assert.ok(watchesSecrets());
  leave();
  await source.settled();
  assert.ok(!watchesSecrets());
});

it('a Service that loses its selector leaves the target', async (t) => {
  const { source, remote, arrive } = following(t, { nodeName: 'c', references: [], labels: { app: 'web' } });
  const kind = kindOf(SERVICES);
  const selecting = (selector: object): KubernetesObject =>
    ({ metadata: { namespace: 'shop', name: 'web', uid: 'u' }, spec: { selector } }) as KubernetesObject;
  const copy = toCopy(kind, selecting({ app: 'web' }), 's');
  source.put(SERVICES, selecting({ app: 'web' }));
  remote.put(SERVICES, { ...copy, metadata: { ...copy.metadata, uid: 'c' } });
  arrive();
  await source.settled();
  assert.deepEqual(remote.takeWrites(), []);
  source.put(SERVICES, selecting({}));
  await source.settled();
  assert.deepEqual(remote.takeWrites(), ['delete services shop/web']);
});

it('a copy of another source is in the way of one, and is not said to be nobody\'s', async (t) => {
  const { source, remote, notes, arrive } =
    following(t, { nodeName: 'c', references: ['configmaps/settings'], labels: {} });
  const settings: KubernetesObject = { metadata: { namespace: 'shop', name: 'settings', uid: 'u' } };
  source.put(CONFIG_MAPS, settings);
  remote.put(CONFIG_MAPS, toCopy(kindOf(CONFIG_MAPS), settings, 'another source'));
  remote.failures.push(new ApiError(409, 'AlreadyExists', 'it is there'));
  arrive();
  await source.settled();
  await source.settled();
  assert.deepEqual(notes, [
    'ConfigMap settings does not follow into target c: an object of that name exists there that this source did not ' +
      'create; rename one of the two, or delete that one',
  ]);
});

const INVALID = new ApiError(422, 'Invalid', 'it is not valid');
for (const [what, created, asked] of [
  ['is made anew where the target takes no change of it', new ApiError(409, 'AlreadyExists', 'it is there'), 'delete'],
  ['stays where the target would not take a new one either', INVALID, undefined],
] as const) it(`a copy ${what}`, async (t) => {
  const { source, remote, notes, arrive } =
    following(t, { nodeName: 'c', references: ['configmaps/settings'], labels: {} });
  const settings = (data: object): KubernetesObject =>
    ({ metadata: { namespace: 'shop', name: 'settings', uid: 'u' }, data }) as KubernetesObject;
  const copy = toCopy(kindOf(CONFIG_MAPS), settings({ color: 'red' }), 's');
  source.put(CONFIG_MAPS, settings({ color: 'blue' }));
  remote.put(CONFIG_MAPS, { ...copy, metadata: { ...copy.metadata, uid: 'c' } });
  remote.failures.push(INVALID, created);
  arrive();
  for (let turn = 0; turn < 4; turn += 1) await source.settled();
  assert.deepEqual(
    remote.takeWrites(), ['patch', 'create', ...(asked === undefined ? [] : [asked])].map(
      (verb) => `${verb} configmaps shop/settings`,
    ),
  );
  assert.equal(notes.length, asked === undefined ? 1 : 0);
});
