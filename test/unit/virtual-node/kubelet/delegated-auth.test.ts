// Who calls the kubelet API of a virtual node, and whether they may: without an answer of the API server nobody may.
import assert from 'node:assert/strict';
import type { TLSSocket } from 'node:tls';
import { describe, it } from 'node:test';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { identifyCaller, isAllowed } from '../../../../virtual-node/kubelet/delegated-auth.ts';
import type { ResourceAttributes } from '../../../../virtual-node/kubelet/request-attributes.ts';

const { signal } = new AbortController();

/** A source that answers reviews in turn, and what it was asked. */
function aSource(...answers: readonly unknown[]) {
  const asked: unknown[] = [];
  const create = async (_type: unknown, review: { readonly spec: unknown }) => {
    const answer = answers[asked.length];
    asked.push(review.spec);
    if (answer instanceof Error) throw answer;
    return { metadata: {}, status: answer };
  };
  return { source: { create } as unknown as ClusterClient, asked };
}

const aSocket = (authorized: boolean, subject?: object): TLSSocket =>
  ({ authorized, getPeerCertificate: () => (subject === undefined ? {} : { subject }) }) as unknown as TLSSocket;
const SUBJECT = { CN: 'kube-apiserver-kubelet-client', O: 'system:masters' };
const STRANGER = aSocket(false);

describe('a caller of the kubelet API', () => {
  it('is who its verified certificate says, and no token is looked at', async () => {
    const { source, asked } = aSource();
    const caller = await identifyCaller(aSocket(true, SUBJECT), 'Bearer x', { source, signal });
    assert.deepEqual(caller, { user: SUBJECT.CN, groups: ['system:masters', 'system:authenticated'] });
    assert.deepEqual(asked, []);
  });
  it('is not who a certificate says that was not verified', async () => {
    const { source } = aSource();
    assert.equal(await identifyCaller(aSocket(false, SUBJECT), undefined, { source, signal }), undefined);
  });
  it('is who the API server says the token is of', async () => {
    const { source, asked } = aSource({ authenticated: true, user: { username: 'ann', groups: ['dev'] } });
    const caller = await identifyCaller(STRANGER, 'Bearer abc.def', { source, signal });
    assert.deepEqual([caller?.user, caller?.groups], ['ann', ['dev']]);
    assert.deepEqual(asked, [{ token: 'abc.def' }]);
  });
  it('may write the scheme in any case, as RFC 9110 says', async () => {
    const { source } = aSource({ authenticated: true, user: { username: 'ann' } });
    assert.equal((await identifyCaller(STRANGER, 'bearer abc', { source, signal }))?.user, 'ann');
  });
  it('is nobody when the API server does not say that it is authenticated', async () => {
    for (const answer of [undefined, {}, { authenticated: false, user: { username: 'ann' } },
      { user: { username: 'ann' } }]) {
      const { source } = aSource(answer);
      assert.equal(await identifyCaller(STRANGER, 'Bearer abc', { source, signal }), undefined, JSON.stringify(answer));
    }
  });
  for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Bearer a b', 'Basic YTpi', 'Bearer a\r\nx: y', 'abc',
    ' Bearer abc']) {
    it(`is nobody by ${JSON.stringify(header)}, and nobody is asked`, async () => {
      const { source, asked } = aSource({ authenticated: true, user: { username: 'ann' } });
      assert.equal(await identifyCaller(STRANGER, header, { source, signal }), undefined);
      assert.deepEqual(asked, []);
    });
  }
  it('is unknown, not nobody, when the API server does not answer', async () => {
    const { source } = aSource(new Error('away'));
    await assert.rejects(identifyCaller(STRANGER, 'Bearer abc', { source, signal }), /away/);
  });
});

describe('a caller may', () => {
  const caller = { user: 'ann', groups: ['dev'] } as Parameters<typeof isAllowed>[1];
  const wanted: readonly ResourceAttributes[] = ['log', 'proxy'].map((subresource) =>
    ({ verb: 'get', group: '', resource: 'nodes', subresource, name: 'n' }) as unknown as ResourceAttributes);

  const rows: readonly (readonly [what: string, answers: readonly unknown[], may: boolean, reviews: number])[] = [
    ['what the first review allows, without another one', [{ allowed: true }], true, 1],
    ['what only the second allows', [{ allowed: false }, { allowed: true }], true, 2],
    ['nothing when none allows', [{ allowed: false }, { allowed: false }], false, 2],
    ['nothing by an answer without a decision', [{}, undefined], false, 2],
    ['nothing by a text that looks like one', [{ allowed: 'true' }, { allowed: 1 }], false, 2],
  ];
  for (const [what, answers, may, reviews] of rows) {
    it(what, async () => {
      const { source, asked } = aSource(...answers);
      assert.equal(await isAllowed(source, caller, wanted, signal), may);
      assert.equal(asked.length, reviews);
    });
  }
  it('nothing without anything wanted', async () => {
    const { source } = aSource();
    assert.equal(await isAllowed(source, caller, [], signal), false);
  });
  it('be known only by an answer: an error is not a refusal, and no permission', async () => {
    const { source } = aSource({ allowed: false }, new Error('away'));
    await assert.rejects(isAllowed(source, caller, wanted, signal), /away/);
  });
});
