// How calls look on the wire.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { toRequest, toStreamHeaders, type RequestBase } from '../../../../kubernetes/http/call-request.ts';
import type { Call } from '../../../../kubernetes/http/pending-call.ts';

const BASE: RequestBase = { origin: 'https://api:6443', basePath: '/k8s', userAgent: 'isthmus/1',
  identity: { authorization: 'Bearer t' } };
const GET: Call = { method: 'GET', path: '/api/v1/pods' };

describe('the request of a call', () => {
  it('has the base path before its own, and no query without parameters', () => {
    assert.equal(toRequest(BASE, GET).path, '/k8s/api/v1/pods');
    assert.equal(toRequest(BASE, { ...GET, query: {} }).path, '/k8s/api/v1/pods');
    assert.equal(toRequest(BASE, { ...GET, query: { limit: undefined } }).path, '/k8s/api/v1/pods');
  });
  it('has parameters that a server reads as they were meant, whatever they contain', () => {
    fc.assert(fc.property(fc.dictionary(fc.stringMatching(/^[a-zA-Z]{1,6}$/), fc.string(), { noNullPrototype: true }),
      (query) => {
      const { path } = toRequest(BASE, { ...GET, query });
      const url = new URL(path, BASE.origin);
      assert.equal(url.pathname, '/k8s/api/v1/pods');
      assert.deepEqual(Object.fromEntries(url.searchParams), query);
    }));
  });
  it('has a body of JSON where there is one, an empty one included', () => {
    for (const body of [{}, null, [], '', 0, false, { a: 'ü' }]) {
      const { body: sent, headers } = toRequest(BASE, { ...GET, method: 'POST', body });
      assert.deepEqual([JSON.parse(String(sent)), headers['content-type']], [body, 'application/json']);
    }
  });
  it('has the type of its body, as patches need, and none without a body', () => {
    const patch = { method: 'PATCH', path: '/x', body: {}, contentType: 'application/merge-patch+json' } as const;
    assert.equal(toRequest(BASE, patch).headers['content-type'], 'application/merge-patch+json');
    const { headers, body } = toRequest(BASE, { ...GET, contentType: 'application/json' });
    assert.deepEqual([Object.hasOwn(headers, 'content-type'), body], [false, undefined]);
  });
  it('asks for JSON unless the call wants another form', () => {
    assert.equal(toRequest(BASE, GET).headers['accept'], 'application/json');
    assert.equal(toRequest(BASE, { ...GET, accept: 'text/plain' }).headers['accept'], 'text/plain');
  });
  it('has no authorization without credentials, rather than an empty one', () =>
    assert.equal(Object.hasOwn(toRequest({ ...BASE, identity: {} }, GET).headers, 'authorization'), false));
});

describe('the same request as an HTTP/2 stream', () => {
  it('has its method and path as pseudo headers before all others, and says the same', () => {
    const request = toRequest(BASE, { ...GET, query: { watch: 'true' } });
    const headers = toStreamHeaders(request);
    assert.deepEqual(Object.keys(headers).slice(0, 2), [':method', ':path']);
    assert.deepEqual(headers, { ':method': 'GET', ':path': '/k8s/api/v1/pods?watch=true', ...request.headers });
  });
  it('has lower-case names only, as HTTP/2 wants them', () => {
    for (const name of Object.keys(toStreamHeaders(toRequest(BASE, GET)))) assert.equal(name, name.toLowerCase());
  });
});
