// What a kubeconfig in a Secret may not make this process do.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { refuseLinkLocal, refuseLocalAccess } from '../../../../kubernetes/credentials/tenant-kubeconfig.ts';
import { AppError } from '../../../../process/errors.ts';

/** Why it is refused; undefined when it is not. */
function refusal(act: () => void): string | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === 'KubeconfigRefused');
    return error.message;
  }
}

const OF_CLUSTER = ['certificate-authority', 'proxy-url', 'insecure-skip-tls-verify'];
const OF_USER = [
  'exec', 'auth-provider', 'tokenFile', 'client-certificate', 'client-key', 'username', 'password', 'as', 'as-uid',
  'as-groups', 'as-user-extra',
];
const EMBEDDED = { cluster: { server: 'https://a', 'certificate-authority-data': 'x' }, user: { token: 't' } };

describe('a kubeconfig in a Secret', () => {
  it('may embed its authority, and a token or a certificate', () => {
    for (const user of [{ token: 't' }, { 'client-certificate-data': 'c', 'client-key-data': 'k' }, {}]) {
      assert.equal(refusal(() => refuseLocalAccess(EMBEDDED.cluster, user)), undefined);
    }
  });
  for (const author of ['tenant', 'registry'] as const) {
    for (const field of OF_CLUSTER) {
      it(`of a ${author} may not have ${field} of its cluster, and is told so`, () =>
        assert.match(refusal(() => refuseLocalAccess({ [field]: 'x' }, {}, author)) ?? '',
          new RegExp(`uses ${field},`)));
    }
    for (const field of OF_USER) {
      it(`of a ${author} may not have ${field} of its user, with any value`, () => {
        for (const value of ['', null, {}, false, 'x']) {
          const message = refusal(() => refuseLocalAccess({}, { [field]: value }, author)) ?? '';
          assert.match(message, new RegExp(`uses ${field},`));
        }
      });
    }
  }
  it('names all fields that it may not have, and no value of them', () => {
    fc.assert(fc.property(fc.subarray(OF_CLUSTER), fc.subarray(OF_USER), (ofCluster, ofUser) => {
      const canary = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, 'canary']));
      const message = refusal(() => refuseLocalAccess(canary(ofCluster), canary(ofUser)));
      assert.equal(message !== undefined, ofCluster.length + ofUser.length > 0);
      for (const field of [...ofCluster, ...ofUser]) assert.ok(message?.includes(field));
      assert.equal(message?.includes('canary') ?? false, false);
    }));
  });
  it('may say that it verifies certificates, which is the default', () =>
    assert.equal(refusal(() => refuseLocalAccess({ 'insecure-skip-tls-verify': false }, {})), undefined));
  it('may choose the name in the certificate where a registry wrote it, not where a tenant did', () => {
    const cluster = { 'tls-server-name': 'x' };
    assert.equal(refusal(() => refuseLocalAccess(cluster, {}, 'registry')), undefined);
    assert.match(refusal(() => refuseLocalAccess(cluster, {}, 'tenant')) ?? '', /tls-server-name/);
  });
  it('is said to work for an administrator exactly where it does', () => {
    const advice = /let an administrator make a ClusterTarget/;
    assert.match(refusal(() => refuseLocalAccess({}, { exec: {} })) ?? '', advice);
    assert.doesNotMatch(refusal(() => refuseLocalAccess({}, { username: 'a' })) ?? '', advice);
  });
});

describe('the server of such a kubeconfig', () => {
  const refused = [
    'https://169.254.169.254', 'http://169.254.0.1:8080', 'https://2852039166', 'https://0xa9fea9fe',
      'https://169.254.43518', 'https://169.254.169.254.nip.example',
    'https://0251.0376.0251.0376', 'https://[fe80::1]', 'https://[febf::1]', 'https://[::ffff:169.254.169.254]',
    'https://[::ffff:a9fe:1]', 'https://[fd00:ec2::254]', 'https://[fd00:0ec2:0:0::254]',
      'https://metadata.google.internal',
    'https://METADATA.google.internal.', 'https://metadata.google.internal:443/x', 'https://user@169.254.1.1',
  ];
  for (const url of refused) {
    it(`may not be ${url}`, () =>
      assert.match(refusal(() => refuseLinkLocal(new URL(url))) ?? '', /link-local or metadata address/));
  }
  const allowed = [
    'https://10.0.0.1', 'https://169.253.1.1', 'https://[fd00:ec2::253]',
      'https://[fec0::1]',
    'https://metadata.google.internal.example.com', 'https://[fd00::1]', 'https://1.169.254.1',
      'https://[::ffff:10.0.0.1]',
  ];
  for (const url of allowed) {
    it(`may be ${url}`, () => assert.equal(refusal(() => refuseLinkLocal(new URL(url))), undefined));
  }
  it('may be no link-local address in any form that the URL parser knows', () => {
    fc.assert(fc.property(fc.nat({ max: 255 }), fc.nat({ max: 255 }), (third, last) => {
      const number = ((169 * 256 + 254) * 256 + third) * 256 + last;
      for (const host of [`169.254.${third}.${last}`, String(number), `0x${number.toString(16)}`,
        `[::ffff:169.254.${third}.${last}]`]) {
        assert.notEqual(refusal(() => refuseLinkLocal(new URL(`https://${host}`))), undefined, host);
      }
    }), { numRuns: 100 });
  });
});
