// What the source watches for its pods, as their candidates come and go.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startFollow } from '../../../../delegate-controller/follow/follow-controller.ts';
import { HeldCluster } from '../../../support/held-cluster.ts';
import { SILENT } from '../../../support/scripted-api-server.ts';

type Told = (key: string, before: undefined, after: { readonly parentKey: string }) => void;

it('a target that is removed leaves nothing that its candidates needed', async (t) => {
  const [source, remote, stop] = [new HeldCluster(), new HeldCluster(), new AbortController()];
  t.after(async () => {
    stop.abort();
    await source.settled();
  });
  const told: Told[] = [];
  const session = {
    client: remote.client, signal: stop.signal, synced: Promise.resolve(), hasSynced: true, failure: undefined,
    find: () => ({ chaperon: {}, delegate: undefined }),
    chaperons: { onChange: (hear: Told) => void told.push(hear) }, delegates: { onChange: () => undefined },
  };
  const ref = { kind: 'ClusterTarget', name: 'c' };
  const removable = { key: 'ClusterTarget/c', ref, nodeName: 'c', clusterId: 't', session };
  const targets = new Map([[removable.key, removable]]);
  const needs = { references: ['secrets/key'], labels: {} };
  const proxies = {
    synced: Promise.resolve(), onChange: () => undefined, by: () => [],
    get: () => ({ key: 'shop/web', namespace: 'shop', name: 'web', phase: 'Pending', needs }),
  };
  const heard: { sessionOpened(...of: unknown[]): void; removed(of: unknown): void }[] = [];
  const quiet = { onChange: () => undefined };
  startFollow({
    source: source.client, sourceId: 's', logger: SILENT, proxies, events: { record: () => undefined },
    rules: { ...quiet, allow: () => false }, podPlane: { ...quiet, known: Promise.resolve(), isThere: false },
    targets: {
      listen: (listener: (typeof heard)[number]) => void heard.push(listener), get: (key: string) => targets.get(key),
      byNode: () => undefined, object: () => undefined, untilSynced: async () => undefined,
    },
  } as never, stop.signal);
  const watchesSecrets = () => [...source.watched.values()].some((path) => path.endsWith('/namespaces/shop/secrets'));
  heard[0]?.sessionOpened(removable, session);
  told[0]?.('shop/web', undefined, { parentKey: 'shop/web' });
  await source.settled();
  assert.ok(watchesSecrets());
  targets.clear();
  heard[0]?.removed(removable);
  await source.settled();
  assert.ok(!watchesSecrets());
});
