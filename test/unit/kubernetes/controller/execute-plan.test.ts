import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CLUSTER_TARGETS, NODES, PODS } from '../../../../api/resource-types.ts';
import { isConflict } from '../../../../kubernetes/flow/api-error.ts';
import { executePlan } from '../../../../kubernetes/controller/execute-plan.ts';
import { NOTHING, type Command, type Plan } from '../../../../model/objects/plan.ts';
import { ScriptedApiServer, status } from '../../../support/doubles/scripted-api-server.ts';

const CREATE: Command = { kind: 'create', type: PODS, object: { metadata: { namespace: 'a', name: 'b' } } };
const DELETE: Command = {
  kind: 'delete', type: PODS, at: { namespace: 'a', name: 'b' }, preconditions: { uid: 'u', resourceVersion: '7' },
  propagation: 'Foreground',
};

describe('executePlan', () => {
  let server: ScriptedApiServer;
  const stop = new AbortController();
  const run = (plan: Plan, signal = stop.signal) => executePlan(server.client, plan, signal);
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
  });
  afterEach(() => server.stop());

  const calls: Record<string, { command: Command; method: string; path: string; contentType: string; body: object }> = {
    'creates an object': {
      command: CREATE,
      method: 'POST', path: '/api/v1/namespaces/a/pods', contentType: 'application/json',
      body: { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'a', name: 'b' } },
    },
    'binds a pod, annotations and all': {
      command: {
        kind: 'bind',
        binding: {
          metadata: { namespace: 'a', name: 'b', uid: 'u', annotations: { x: 'y' } },
          target: { apiVersion: 'v1', kind: 'Node', name: 'n' },
        },
      },
      method: 'POST', path: '/api/v1/namespaces/a/pods/b/binding', contentType: 'application/json',
      body: {
        metadata: { namespace: 'a', name: 'b', uid: 'u', annotations: { x: 'y' } },
        target: { apiVersion: 'v1', kind: 'Node', name: 'n' },
      },
    },
    'applies an object': {
      command: { kind: 'apply', type: NODES, object: { metadata: { name: 'n' } }, fieldManager: 'm' },
      method: 'PATCH', path: '/api/v1/nodes/n', contentType: 'application/apply-patch+yaml',
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } },
    },
    'patches an object by merge': {
      command: {
        kind: 'patch', type: CLUSTER_TARGETS, at: { name: 't', subresource: 'status' }, patchType: 'merge',
        patch: { status: { a: null } },
      },
      method: 'PATCH', path: '/apis/multicluster.admiralty.io/v1alpha1/clustertargets/t/status',
      contentType: 'application/merge-patch+json',
      body: { status: { a: null } },
    },
    'patches an object strategically': {
      command:
        { kind: 'patch', type: NODES, at: { name: 'n' }, patchType: 'strategic', patch: { metadata: { uid: 'u' } } },
      method: 'PATCH', path: '/api/v1/nodes/n', contentType: 'application/strategic-merge-patch+json',
      body: { metadata: { uid: 'u' } },
    },
    'deletes under preconditions': {
      command: DELETE,
      method: 'DELETE', path: '/api/v1/namespaces/a/pods/b', contentType: 'application/json',
      body: {
        kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'u', resourceVersion: '7' },
        propagationPolicy: 'Foreground',
      },
    },
  };
  for (const [what, { command, body, ...head }] of Object.entries(calls)) {
    it(what, async () => {
      const done = run([command]);
      const request = await server.next();
      assert.deepEqual(
        { method: request.method, path: request.path, contentType: request.headers['content-type'] }, head,
      );
      assert.deepEqual(JSON.parse(request.body), body);
      request.answer(200, {});
      await done;
    });
  }

  it('does nothing for the plan that does nothing', async () => {
    await run(NOTHING);
    assert.equal(server.requests, 0);
  });

  it('sends a command only after the one before was answered', async () => {
    const done = run([CREATE, DELETE]);
    const first = await server.next();
    assert.deepEqual([first.method, server.requests], ['POST', 1]);
    first.answer(201, {});
    const second = await server.next();
    assert.equal(second.method, 'DELETE');
    second.answer(200, {});
    await done;
  });

  it('takes a delete of what is already gone as done, and goes on', async () => {
    const done = run([DELETE, CREATE]);
    (await server.next()).answer(404, status(404, 'NotFound', 'pods "b" not found'));
    (await server.next()).answer(201, {});
    await done;
  });

  it('throws what a failing command threw, and does not try those after it', async () => {
    const failed = assert.rejects(run([DELETE, CREATE]), isConflict);
    (await server.next()).answer(409, status(409, 'Conflict', 'the UID in the precondition does not match'));
    await failed;
    assert.equal(server.requests, 1);
  });

  it('does not take another command’s 404 as done', async () => {
    const failed = assert.rejects(run([CREATE]), { name: 'ApiError', status: 404 });
    (await server.next()).answer(404, status(404, 'NotFound', 'namespaces "a" not found'));
    await failed;
  });

  it('sends nothing once the signal is aborted', async () => {
    const reason = new Error('shutting down');
    await assert.rejects(run([CREATE], AbortSignal.abort(reason)), reason);
    assert.equal(server.requests, 0);
  });

  it('tries no further command when the signal is aborted during one', async () => {
    const leaving = new AbortController();
    const failed = assert.rejects(run([CREATE, DELETE], leaving.signal), { name: 'AbortError' });
    (await server.next()).answer(201, {});
    leaving.abort();
    await failed;
    assert.equal(server.requests, 1);
  });
});
