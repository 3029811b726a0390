import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { act } from '../../../dashboard/act.ts';
import { AppError } from '../../../process/errors.ts';
import { ScriptedApiServer, status } from '../../support/doubles/scripted-api-server.ts';

describe('what a viewer asks for', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  const signal = new AbortController().signal;
  const discovery = (resourceVersion: string, approved?: readonly string[]) => ({
    metadata: { name: 'argo', resourceVersion }, spec: { from: { argoCD: {} }, policy: 'Propose', approved },
    status: { clusters: [{ entry: 'Secret argocd/eu', name: 'eu', state: 'Proposed' }] },
  });
  const approve = (entry = 'Secret argocd/eu') =>
    act(server.client, { kind: 'approve', discovery: 'argo', cluster: 'eu', entry }, signal);

  it('is approved on the version that was read, beside what others approve meanwhile', async () => {
    const approved = approve();
    (await server.next()).answer(200, discovery('7'));
    const first = await server.next();
    assert.deepEqual(JSON.parse(first.body), { metadata: { resourceVersion: '7' }, spec: { approved: ['eu'] } });
    first.answer(409, status(409, 'Conflict', 'the object has been modified'));
    (await server.next()).answer(200, discovery('8', ['us']));
    const second = await server.next();
    assert.deepEqual(JSON.parse(second.body), { metadata: { resourceVersion: '8' }, spec: { approved: ['us', 'eu'] } });
    assert.equal(second.method, 'PATCH');
    second.answer(200, discovery('9', ['us', 'eu']));
    assert.equal(await approved, 'eu is approved. It becomes a target once its credentials can be used.');
  });

  it('changes nothing where it was done before', async () => {
    const approved = approve();
    (await server.next()).answer(200, discovery('7', ['eu']));
    assert.equal(await approved, 'eu is approved already.');
  });

  it('is refused where nothing proposes it, and in the words of the API server', async () => {
    const refused = assert.rejects(approve(), (error) => (
      error instanceof AppError && error.code === 'BadInput' && error.message.includes('does not propose')
    ));
    (await server.next()).answer(200, { ...discovery('7'), status: {} });
    await refused;
    const another = assert.rejects(approve('Secret argocd/old'), (error) => (
      error instanceof AppError && error.code === 'BadInput' && error.message.includes('not what you were shown')
    ));
    (await server.next()).answer(200, discovery('7'));
    await another;
    const missing = assert.rejects(approve(), (error) => error instanceof AppError && error.code === 'NotFound');
    (await server.next()).answer(404, status(404, 'NotFound', 'no such object'));
    await missing;
    const forbidden = assert.rejects(approve(), /ann cannot patch/);
    (await server.next()).answer(200, discovery('7'));
    (await server.next()).answer(403, status(403, 'Forbidden', 'ann cannot patch targetdiscoveries'));
    await forbidden;
  });

  for (const [what, action] of [
    ['a namespace', { kind: 'move', namespace: '../kube-system', name: 'web', target: 'eu' }],
    ['a pod', { kind: 'move', namespace: 'shop', name: 'web/eviction', target: 'eu' }],
    ['a target', { kind: 'move', namespace: 'shop', name: 'web', target: 'a/b/c' }],
    ['a TargetDiscovery', { kind: 'approve', discovery: '../nodes/x', cluster: 'eu', entry: 'Secret argocd/eu' }],
    ['a target to cordon', { kind: 'cordon', target: '..' }],
  ] as const) {
    it(`asks the API server for nothing by what is no name of ${what}`, async () => {
      const before = server.requests;
      await assert.rejects((async () => act(server.client, action, signal))(), (error) => (
        error instanceof AppError && error.code === 'BadInput'
      ));
      assert.equal(server.requests, before);
    });
  }
});
