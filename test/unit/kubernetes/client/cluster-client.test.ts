import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { ResourceType } from '../../../../api/objects/group-version.ts';
import {
  CLUSTER_TARGETS, NODES, POD_CHAPERONS, PODS, ROLE_BINDINGS, SERVICE_ACCOUNTS,
} from '../../../../api/resource-types.ts';
import { ClusterClient, pathOf, selectors } from '../../../../kubernetes/client/cluster-client.ts';
import type { ObjectRef } from '../../../../model/objects/plan.ts';
import type { Call, Transport } from '../../../../kubernetes/http/transport.ts';
import { haveOneHiddenClass } from '../../../support/rules/hidden-class.ts';
import { ScriptedApiServer, status } from '../../../support/doubles/scripted-api-server.ts';

const GROUP = '/apis/multicluster.admiralty.io/v1alpha1';

describe('calls', () => {
  it('have one hidden class: spreads give each its own, and make it slow to create and to read', () => {
    let sent: Call | undefined;
    const transport = { call: async (call: Call) => void (sent = call) } as unknown as Transport;
    const fence = { holds: () => true, msLeft: () => 1_000 };
    const client = new ClusterClient(transport, { fence }).withoutRateLimit(1_000).metadataOnly();
    assert(haveOneHiddenClass((index) => {
      void client.patch(NODES, { name: `n${index}` }, { patchType: 'merge', patch: { index } });
      assert(sent);
      return sent;
    }));
  });
});

describe('pathOf', () => {
  const paths: Record<string, readonly [type: ResourceType, at: Partial<ObjectRef>, path: string]> = {
    'a core object in a namespace': [PODS, { namespace: 'a', name: 'b' }, '/api/v1/namespaces/a/pods/b'],
    'a collection in a namespace': [PODS, { namespace: 'a' }, '/api/v1/namespaces/a/pods'],
    'a collection in all namespaces': [PODS, {}, '/api/v1/pods'],
    'a namespace that is undefined': [PODS, { namespace: undefined }, '/api/v1/pods'],
    'a cluster-scoped object': [NODES, { name: 'n' }, '/api/v1/nodes/n'],
    'a cluster-scoped object whose namespace is not used': [NODES, { namespace: 'a', name: 'n' }, '/api/v1/nodes/n'],
    'an object of a named group':
      [POD_CHAPERONS, { namespace: 'a', name: 'b' }, `${GROUP}/namespaces/a/podchaperons/b`],
    'a cluster-scoped object of a named group': [CLUSTER_TARGETS, { name: 't' }, `${GROUP}/clustertargets/t`],
    'a status': [NODES, { name: 'n', subresource: 'status' }, '/api/v1/nodes/n/status'],
    'a binding': [PODS, { namespace: 'a', name: 'b', subresource: 'binding' }, '/api/v1/namespaces/a/pods/b/binding'],
    'a token': [
      SERVICE_ACCOUNTS, { namespace: 'a', name: 'b', subresource: 'token' },
      '/api/v1/namespaces/a/serviceaccounts/b/token',
    ],
    'a name with a colon': [
      ROLE_BINDINGS, { namespace: 'a', name: 'system:x' },
      '/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/system%3Ax',
    ],
    'a name that would leave its place':
      [PODS, { namespace: 'a', name: '../../secrets' }, '/api/v1/namespaces/a/pods/..%2F..%2Fsecrets'],
    'a name that would add a query':
      [PODS, { namespace: 'a', name: 'b?dryRun=All#' }, '/api/v1/namespaces/a/pods/b%3FdryRun%3DAll%23'],
  };
  for (const [what, [type, at, path]] of Object.entries(paths)) {
    it(`gives the path of ${what}`, () => assert.equal(pathOf(type, at), path));
  }

  for (const name of ['', '.', '..']) {
    it(`refuses the name "${name}", which would mean another path`, () => assert.throws(
      () => pathOf(PODS, { namespace: 'a', name }), /is not a valid object name/,
    ));
    it(`refuses the namespace "${name}", which would mean another path`, () => assert.throws(
      () => pathOf(PODS, { namespace: name, name: 'b' }), /is not a valid object name/,
    ));
  }

  it('never lets a name change how many parts the path has', () => {
    const text = fc.string({ minLength: 1, unit: 'grapheme' }).filter((name) => name !== '.' && name !== '..');
    fc.assert(
      fc.property(text, text, (namespace, name) => {
        const url = new URL(pathOf(PODS, { namespace, name }), 'https://server');
        assert.deepEqual(
          url.pathname.split('/').map(decodeURIComponent), ['', 'api', 'v1', 'namespaces', namespace, 'pods', name],
        );
        assert.equal(url.search + url.hash, '');
      }),
    );
  });
});

describe('selectors', () => {
  it('leaves out what is not asked for', () => assert.deepEqual(
    selectors({ namespace: 'a' }), { labelSelector: undefined, fieldSelector: undefined },
  ));
  it('passes selectors on', () => {
    assert.deepEqual(
      selectors({ labelSelector: 'a=b', fieldSelector: 'c=d' }), { labelSelector: 'a=b', fieldSelector: 'c=d' },
    );
  });
});

describe('ClusterClient', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  it('reads all pages of a list and asks for each with the token of the one before', async () => {
    const all = server.client.list(PODS, { namespace: 'a', labelSelector: 'x=y' });
    const first = await server.next();
    assert.equal(first.path, '/api/v1/namespaces/a/pods');
    assert.deepEqual([...first.query], [['labelSelector', 'x=y'], ['limit', '500']]);
    first.answerPage('5', 'more', { metadata: { name: '1' } });
    const second = await server.next();
    assert.equal(second.query.get('continue'), 'more');
    second.answerPage('5', '', { metadata: { name: '2' } });
    assert.deepEqual((await all).map((pod) => pod.metadata.name), ['1', '2']);
  });

  it('reads a list at once when its next page has expired, and gives no object twice', async () => {
    const all = server.client.list(PODS);
    (await server.next()).answerPage('5', 'more', { metadata: { name: '1' } });
    (await server.next()).answer(410, status(410, 'Expired', 'The provided continue parameter is too old'));
    const whole = await server.list('9', { metadata: { name: '1' } }, { metadata: { name: '2' } });
    assert.deepEqual([...whole.query], [['limit', '0']]);
    assert.deepEqual((await all).map((pod) => pod.metadata.name), ['1', '2']);
  });

  it('adds kind and version to what it creates', async () => {
    const created = server.client.create(PODS, { metadata: { namespace: 'a', name: 'b' } });
    const request = await server.next();
    assert.deepEqual([request.method, request.path, request.headers['content-type']], [
      'POST', '/api/v1/namespaces/a/pods', 'application/json',
    ]);
    assert.deepEqual(
      JSON.parse(request.body), { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'a', name: 'b' } },
    );
    request.answer(201, { metadata: { name: 'b', uid: 'u' } });
    assert.equal((await created).metadata.uid, 'u');
  });

  it('asks for the metadata alone of what it writes as metadata only, and of nothing else', async () => {
    const brief = server.client.metadataOnly();
    const at = { namespace: 'a', name: 'b' };
    const partial = /^application\/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application\/json$/;
    const whole = /^application\/json$/;
    const calls: readonly (readonly [call: () => Promise<unknown>, accept: RegExp])[] = [
      [() => brief.create(PODS, { metadata: at }), partial],
      [() => brief.update(PODS, { metadata: at }), partial],
      [() => brief.patch(PODS, { ...at, subresource: 'status' }, { patchType: 'merge', patch: {} }), partial],
      [() => brief.apply(PODS, { metadata: at }, 'isthmus'), partial],
      // these may answer a Status, which an API server cannot give in that form
      [() => brief.post(PODS, { ...at, subresource: 'binding' }, {}), whole],
      [() => brief.delete(PODS, at), whole],
      [() => brief.get(PODS, at), whole],
      [() => server.client.create(PODS, { metadata: at }), whole],
    ];
    for (const [call, accept] of calls) {
      const answered = call();
      const request = await server.next();
      assert.match(String(request.headers.accept), accept, request.method);
      request.answer(200, { metadata: { uid: 'u' } });
      await answered;
    }
  });

  it('replaces an object as a whole', async () => {
    const updated = server.client.update(PODS, { metadata: { namespace: 'a', name: 'b', uid: 'u' } });
    const request = await server.next();
    assert.deepEqual([request.method, request.path, request.headers['content-type']], [
      'PUT', '/api/v1/namespaces/a/pods/b', 'application/json',
    ]);
    assert.deepEqual(
      JSON.parse(request.body), { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'a', name: 'b', uid: 'u' } },
    );
    request.answer(200, { metadata: { resourceVersion: '2' } });
    assert.equal((await updated).metadata.resourceVersion, '2');
    await assert.rejects(
      async () => server.client.update(PODS, { metadata: { namespace: 'a' } }), /is not a valid object name/,
    );
  });

  it('applies with its field manager and by force', async () => {
    const applied = server.client.apply(NODES, { metadata: { name: 'n' } }, 'isthmus');
    const request = await server.next();
    assert.deepEqual([request.method, request.path, request.headers['content-type']], [
      'PATCH', '/api/v1/nodes/n', 'application/apply-patch+yaml',
    ]);
    assert.deepEqual([...request.query], [['fieldManager', 'isthmus'], ['force', 'true']]);
    assert.deepEqual(JSON.parse(request.body), { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
    request.answer(200, {});
    await applied;
  });

  it('does not read the answer to a patch whose caller does not, but for what it is', async () => {
    const patch = { patchType: 'merge', patch: { spec: {} } } as const;
    const at = { namespace: 'a', name: 'b', subresource: 'status' } as const;
    const patched = server.client.patchUnread(PODS, at, patch);
    const request = await server.next();
    assert.deepEqual([request.method, request.path, request.headers['content-type'], request.body], [
      'PATCH', '/api/v1/namespaces/a/pods/b/status', 'application/merge-patch+json', '{"spec":{}}',
    ]);
    assert.match(String(request.headers.accept), /as=PartialObjectMetadata/);
    request.answer(200, '{ no JSON from here on');
    assert.equal(await patched, undefined);
    const refused = server.client.patchUnread(PODS, at, patch);
    (await server.next()).answer(200, '<html>log in</html>');
    await assert.rejects(refused, /no JSON object/);
  });

  it('takes no page of a proxy for the answer to a delete', async () => {
    const deleted = server.client.delete(PODS, { namespace: 'a', name: 'b' });
    (await server.next()).answer(200, '<html>log in</html>');
    await assert.rejects(deleted, /no JSON object/);
  });

  it('never sends a delete of an object without a name, which would empty the collection', async () => {
    const before = server.requests;
    await assert.rejects(server.client.delete(PODS, { namespace: 'a', name: '' }), /is not a valid object name/);
    assert.equal(server.requests, before);
  });
});
