// Hints of DNS become access only by what an administrator has written.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { X509Certificate } from 'node:crypto';
import type { DnsService } from '../../../../discovery/entry/dns-service.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { readRegistry, secretOf } from '../../../support/objects/registry-objects.ts';

const SERVICE: DnsService =
  { name: 'eu', address: 'api.eu.example:6443', clusterId: 'id-eu', authority: undefined };
let certificate: string;
let fingerprint: string;
before(async () => {
  certificate = (await createAuthority('eu', 1, new Date())).keyPair.certificate;
  fingerprint = new X509Certificate(certificate).fingerprint256.replaceAll(':', '').toLowerCase();
});

function read(service: Partial<DnsService>, texts?: Readonly<Record<string, string>>, unread?: string) {
  const [entry, ...more] = readRegistry({
    from: { dns: { domain: 'clusters.example' } }, services: [{ ...SERVICE, ...service }], namespace: 'clusters',
    secrets: texts === undefined ? [] : [secretOf('clusters/eu', texts)], ...(unread !== undefined && { unread }),
  });
  assert.equal(more.length, 0);
  return entry!;
}

const told = (...given: Parameters<typeof read>) => {
  const { access } = read(...given);
  return `${access.kind}: ${'message' in access ? access.message : ''}`;
};

describe('a cluster that DNS announces', () => {
  it('is a hint that tells what is announced and what to do', () => {
    const { entry, name, hint } = read({ authority: 'ab' });
    assert.deepEqual([entry, name], ['Service eu', 'eu']);
    assert.equal(hint, 'DNS, which is not authenticated, announces it at api.eu.example:6443, as cluster id-eu, with ' +
      'authority sha256:ab. To use it, write its token and ca.crt into Secret clusters/eu and its name into spec.approved');
    const { hint: bare = '' } = read({ address: undefined, clusterId: undefined });
    assert.match(bare, /^DNS, which is not authenticated, announces it without an address\./);
  });

  it('is reached with the token and authority of the Secret, at the address of DNS', () => {
    const { access } = read({ authority: fingerprint }, { token: 'T', 'ca.crt': certificate });
    assert.ok(access.kind === 'kubeconfig');
    for (const part of ['server: https://api.eu.example:6443', 'token: T', 'certificate-authority-data: LS0t']) {
      assert.ok(access.text.includes(part), access.text);
    }
  });

  it('waits for all that is needed', () => {
    assert.match(told({}), /^waiting: Secret clusters\/eu does not exist/);
    assert.match(told({}, undefined, 'forbidden'), /^waiting: Secret clusters\/eu cannot be read: forbidden/);
    assert.match(told({}, { 'ca.crt': certificate }), /^waiting: its Secret has no key token/);
    assert.match(told({}, { token: 'T' }), /^waiting: its Secret has no key ca\.crt; .*any server/);
    assert.match(told({ address: undefined }, { token: 'T', 'ca.crt': certificate }), /^waiting: DNS has no address/);
  });

  it('is refused where DNS announces another authority than the Secret has', () => {
    for (const authority of ['00'.repeat(32), fingerprint.slice(0, -1)]) {
      assert.match(told({ authority }, { token: 'T', 'ca.crt': certificate }), /^refused: DNS announces another/);
    }
    assert.match(told({ authority: fingerprint }, { token: 'T', 'ca.crt': 'x' }), /^refused: DNS announces another/);
  });

  it('has no credentials out of DNS', () => {
    const forged = { ...SERVICE, token: 'FORGED', 'ca.crt': 'FORGED' } as DnsService;
    assert.doesNotMatch(JSON.stringify(read(forged, { token: 'T', 'ca.crt': certificate })), /FORGED/);
  });
});
