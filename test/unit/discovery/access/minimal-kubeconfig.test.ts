import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { connectionProblem, minimalKubeconfig } from '../../../../discovery/access/minimal-kubeconfig.ts';
import { readKubeconfig, type ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';

const connection: ClusterConnection = {
  server: new URL('https://eu.example:6443/base'), certificateAuthority: 'CA', serverName: 'api.eu', insecure: false,
  credentials: { kind: 'token', token: 'T' },
};

describe('the kubeconfig that is kept', () => {
  const rows: readonly (readonly [string, ClusterConnection])[] = [
    ['a token', connection],
    ['a certificate', { ...connection, credentials: { kind: 'certificate', certificate: 'C', key: 'K' } }],
    ['a token and a certificate for a proxy before the API server', {
      ...connection, credentials: { kind: 'token', token: 'T', client: { certificate: 'C', key: 'K' } },
    }],
  ];
  for (const [what, of] of rows) {
    it(`with ${what} is the same connection again`, async () => {
      assert.deepEqual(await readKubeconfig({ text: minimalKubeconfig(of), author: 'registry' }), of);
    });
  }

  it('may name the server\'s certificate, which a tenant may not', async () => {
    await assert.rejects(readKubeconfig({ text: minimalKubeconfig(connection), author: 'tenant' }), /tls-server-name/);
  });

  it('is the same text for the same connection, whatever else it was read with', () => {
    const { credentials, ...rest } = connection;
    assert.equal(minimalKubeconfig({ credentials, ...rest, namespace: 'x' }), minimalKubeconfig(connection));
  });

  it('has a token or a certificate', () => {
    assert.equal(connectionProblem(connection), undefined);
    for (const credentials of [
      { kind: 'none' }, { kind: 'basic', username: 'u', password: 'p' }, { kind: 'token-file', path: '/x' },
    ] as const) {
      assert.match(connectionProblem({ ...connection, credentials }) ?? '', /neither a token nor a client certificate/);
    }
    for (const token of ['T\r\nX: 1', 'a b', 'ü', '']) {
      assert.match(connectionProblem({ ...connection, credentials: { kind: 'token', token } }) ?? '', /its token has/);
    }
    assert.match(connectionProblem({ ...connection, certificateAuthority: '' }) ?? '', /authority is empty/);
  });
});
