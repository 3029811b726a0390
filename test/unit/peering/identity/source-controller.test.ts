// The shell of sources against a scripted API server: what is made anew only while its source is there.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { SOURCE_ANNOTATION } from '../../../../api/objects/keys.ts';
import { startSources } from '../../../../peering/identity/source-controller.ts';
import { ScriptedApiServer, SILENT, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const SOURCE: KubernetesObject = {
  metadata: { name: 'berlin', uid: 'u1', resourceVersion: '5', generation: 1 },
  spec: { serviceAccount: { namespace: 'isthmus-system', name: 'berlin' }, clusterID: 'c1' },
} as KubernetesObject;
const LIVE = '/apis/multicluster.admiralty.io/v1alpha1/clustersources/berlin';

/**
 * Answers lists from what a cache behind its time would show; gives what was asked of the live source, and the writes
 * after it.
 */
async function callsOf(
  live: (exchange: Exchange) => void, until: (writes: readonly string[], asked: number) => boolean,
  lacksPolicies = false,
): Promise<{ asked: number; writes: readonly string[] }> {
  const server = await ScriptedApiServer.start();
  const stopped = new AbortController();
  const writes: string[] = [];
  let asked = 0;
  let changes: Exchange | undefined;
  startSources({ client: server.client, installNamespace: 'isthmus-system', logger: SILENT }, stopped.signal);
  while (!until(writes, asked)) {
    const exchange = await server.next();
    if (exchange.query.get('watch') === 'true') {
      exchange.open();
      if (exchange.path.endsWith('/clustersources')) changes = exchange;
    } else if (exchange.method !== 'GET') {
      writes.push(`${exchange.method} ${exchange.path}`);
      exchange.answer(200, exchange.body);
    } else if (lacksPolicies && /validatingadmissionpolicies\//.test(exchange.path)) {
      exchange.answer(404, { kind: 'Status', reason: 'NotFound', message: 'gone' });
    } else if (exchange.path === LIVE) {
      asked += 1;
      live(exchange);
      // looked at again once this round is over
      changes?.send('MODIFIED', { ...SOURCE, metadata: { ...SOURCE.metadata, resourceVersion: String(9 + asked) } });
    } else {
      const items = exchange.path.endsWith('/clustersources') ? [SOURCE] : [];
      exchange.answer(200, { metadata: { resourceVersion: '9' }, items });
    }
  }
  stopped.abort();
  await server.stop();
  return { asked, writes };
}

const answers = (metadata: object) =>
  (exchange: Exchange) => exchange.answer(200, { ...SOURCE, metadata: { ...SOURCE.metadata, ...metadata } });
const GONE: readonly [string, (exchange: Exchange) => void][] = [
  ['was removed', (exchange) => exchange.answer(404, { kind: 'Status', reason: 'NotFound', message: 'gone' })],
  ['is being removed', answers({ deletionTimestamp: '2026-11-21T00:00:00Z' })],
  ['was made anew by that name', answers({ uid: 'u2' })],
];

describe('the controller of sources', () => {
  for (const [what, live] of GONE) {
    it(`makes nothing for a source that ${what} while its cache still shows it`, async () => {
      const { writes } = await callsOf(live, (_writes, asked) => asked > 1);
      assert.deepEqual(writes, []);
    });
  }

  it('makes account and permissions of a source that is there', async () => {
    const { writes } =
      await callsOf(answers({}), (made) => made.some((write) => write.includes('clusterrolebindings')));
    assert.ok(writes.some((write) => write.includes('serviceaccounts')));
  });

  it('makes nothing while the policies are not there that limit sources', async () => {
    const { writes } = await callsOf(answers({}), (made) => made.some((write) => write.includes('/status')), true);
    assert.deepEqual(writes, [`PATCH ${LIVE}/status`]);
  });

  it('restores an object that somebody took the name of its source off', async () => {
    const server = await ScriptedApiServer.start();
    const stopped = new AbortController();
    const name = 'admiralty-cluster-source-berlin-leave';
    const at = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`;
    const annotations = { [SOURCE_ANNOTATION]: 'berlin' };
    const ours = { metadata: { name, uid: 'r1', resourceVersion: '5', annotations } };
    const writes: string[] = [];
    let [changes, isChanged]: [Exchange | undefined, boolean] = [undefined, false];
    startSources({ client: server.client, installNamespace: 'isthmus-system', logger: SILENT }, stopped.signal);
    while (!writes.some((write) => write.endsWith(` ${at}`))) {
      const exchange = await server.next();
      if (exchange.query.get('watch') === 'true') {
        exchange.open();
        if (exchange.path.endsWith('/clusterroles')) changes = exchange;
      } else if (exchange.method !== 'GET') {
        if (isChanged) writes.push(`${exchange.method} ${exchange.path}`);
        exchange.answer(200, exchange.body);
        if (!exchange.path.endsWith('/status')) continue;
        isChanged = true;
        changes?.send('MODIFIED', { metadata: { ...ours.metadata, resourceVersion: '10', annotations: {} } });
      } else if (exchange.path === LIVE) answers({})(exchange);
      else {
        const items = exchange.path.endsWith('/clustersources') ? [SOURCE] : [];
        if (exchange.path.endsWith('/clusterroles')) items.push(ours);
        exchange.answer(200, { metadata: { resourceVersion: '9' }, items });
      }
    }
    stopped.abort();
    await server.stop();
    assert.deepEqual(writes.filter((write) => write.endsWith(at)), [`PATCH ${at}`]);
  });

  it('takes no account from another source that names it too', async () => {
    const server = await ScriptedApiServer.start();
    const stopped = new AbortController();
    const accounts = '/api/v1/namespaces/isthmus-system/serviceaccounts';
    const another = { name: 'berlin', namespace: 'isthmus-system', uid: 'a1', resourceVersion: '5' };
    const account = { metadata: { ...another, annotations: { [SOURCE_ANNOTATION]: 'paris' } } };
    const paris = { ...SOURCE, metadata: { ...SOURCE.metadata, name: 'paris', uid: 'u2' } };
    const writes: string[] = [];
    startSources({ client: server.client, installNamespace: 'isthmus-system', logger: SILENT }, stopped.signal);
    while (!['berlin', 'paris'].every((name) => writes.some((write) => write.endsWith(`/${name}/status`)))) {
      const exchange = await server.next();
      const { method, path } = exchange;
      const named = [SOURCE, paris].find(({ metadata }) => path.endsWith(`/clustersources/${metadata.name}`));
      if (exchange.query.get('watch') === 'true') exchange.open();
      else if (method === 'POST') exchange.answer(409, { kind: 'Status', reason: 'AlreadyExists', message: 'there' });
      else if (method !== 'GET') exchange.answer(200, exchange.body);
      else if (named !== undefined) exchange.answer(200, named);
      else {
        const items = path.endsWith('/clustersources') ? [SOURCE, paris] : [];
        if (path.endsWith('/serviceaccounts')) items.push(account);
        exchange.answer(200, { metadata: { resourceVersion: '9' }, items });
      }
      if (method !== 'GET') writes.push(`${method} ${path}`);
    }
    stopped.abort();
    await server.stop();
    assert.deepEqual(writes.filter((write) => write.includes('/serviceaccounts')).toSorted(), [
      `PATCH ${accounts}/berlin`, `POST ${accounts}`, // of Paris, and of Berlin
    ]);
  });

  it('makes an account anew that has gone with another source that named it too', { timeout: 10_000 }, async (t) => {
    const server = await ScriptedApiServer.start();
    const stopped = new AbortController();
    t.after(async () => {
      stopped.abort();
      await server.stop();
    });
    const named = { name: 'berlin', namespace: 'isthmus-system', uid: 'a1', resourceVersion: '5' };
    const account = { metadata: { ...named, annotations: { [SOURCE_ANNOTATION]: 'paris' } } };
    let changes: Exchange | undefined;
    startSources({ client: server.client, installNamespace: 'isthmus-system', logger: SILENT }, stopped.signal);
    const listed = (path: string) =>
      [...(path.endsWith('/clustersources') ? [SOURCE] : []), ...(path.endsWith('/serviceaccounts') ? [account] : [])];
    /** Answers all requests until one of this method and path. */
    const untilAsked = async (what: string): Promise<void> => {
      for (;;) {
        const exchange = await server.next();
        const { method, path } = exchange;
        const isWatch = exchange.query.get('watch') === 'true';
        if (isWatch && path.endsWith('/serviceaccounts')) changes = exchange;
        if (isWatch) exchange.open();
        else if (method === 'POST') exchange.answer(409, { kind: 'Status', reason: 'AlreadyExists' });
        else if (method !== 'GET') exchange.answer(200, exchange.body);
        else exchange.answer(200, path === LIVE ? SOURCE : { metadata: { resourceVersion: '9' }, items: listed(path) });
        if (`${method} ${path}` === what) return;
      }
    };
    await untilAsked(`PATCH ${LIVE}/status`);
    changes?.send('DELETED', { metadata: { ...account.metadata, resourceVersion: '10' } });
    await untilAsked('POST /api/v1/namespaces/isthmus-system/serviceaccounts');
  });
});
