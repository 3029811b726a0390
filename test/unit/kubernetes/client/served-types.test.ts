import assert from 'node:assert/strict';
import { it } from 'node:test';
import { servedTypes } from '../../../../kubernetes/client/served-types.ts';
import { ScriptedApiServer, status } from '../../../support/doubles/scripted-api-server.ts';

const resource = (plural: string, kind: string, scope: string, verbs: readonly string[]) =>
  ({ resource: plural, responseKind: { kind }, scope, verbs, subresources: [{ subresource: 'status' }] });
const CORE = {
  metadata: {},
  versions: [{ version: 'v1', resources: [resource('pods', 'Pod', 'Namespaced', ['delete', 'list'])] }],
};
const WIDGETS = {
  metadata: { name: 'example.com' },
  versions: [
    { version: 'v2', resources: [resource('widgets', 'Widget', 'Cluster', ['list'])] },
    { version: 'v1', resources: [resource('widgets', 'Widget', 'Cluster', ['list'])] },
  ],
};
/** An aggregated API server that does not answer. */
const STALE = { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', freshness: 'Stale' }] };

it('lists each kind once, in the version that the server prefers', async (t) => {
  const server = await ScriptedApiServer.start();
  t.after(() => server.stop());
  const types = servedTypes(server.client, new AbortController().signal);
  for (let i = 0; i < 2; i += 1) {
    const call = await server.next();
    assert.match(String(call.headers['accept']), /as=APIGroupDiscoveryList/);
    call.answer(200, { kind: 'APIGroupDiscoveryList', items: call.path === '/api' ? [CORE] : [WIDGETS, STALE] });
  }
  assert.deepEqual(await types, [
    { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true, verbs: ['delete', 'list'] },
    { group: 'example.com', version: 'v2', plural: 'widgets', kind: 'Widget', namespaced: false, verbs: ['list'] },
  ]);
});

it('fails where discovery is denied: no kind counts as absent', async (t) => {
  const server = await ScriptedApiServer.start();
  t.after(() => server.stop());
  const denied = assert.rejects(servedTypes(server.client, new AbortController().signal), { status: 403 });
  for (let i = 0; i < 2; i += 1) (await server.next()).answer(403, status(403, 'Forbidden', 'no'));
  await denied;
});
