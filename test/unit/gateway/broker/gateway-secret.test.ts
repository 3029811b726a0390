import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readGatewaySecret, renewalTime, toGatewaySecret } from '../../../../gateway/broker/gateway-secret.ts';
import { identityOf, makeAuthority } from '../../../support/doubles/gateway-world.ts';

describe('the Secret of a member', () => {
  it('gives back what was put in, with the life of the certificate', async () => {
    const identity = await identityOf(await makeAuthority(), 'east');
    const member = {
      clusterId: 'east', ...identity, brokerUrl: 'https://broker:8443', addresses: ['10.0.0.1:443', '[fd00::1]:443'],
    };
    const parsed = readGatewaySecret(toGatewaySecret('isthmus', member).data ?? {});
    assert.ok(parsed.kind === 'credentials');
    const { notBeforeMs, notAfterMs, ...rest } = parsed.credentials;
    assert.deepEqual(rest, { ...member, key: `${member.key.trim()}\n` });
    assert.ok(notBeforeMs < Date.now() && notAfterMs > Date.now());
  });
  it('may do without a broker and addresses', async () => {
    const parsed = readGatewaySecret(
      toGatewaySecret(
        'isthmus', { clusterId: 'east', ...(await identityOf(await makeAuthority(), 'east')), addresses: [] },
      ).data ?? {},
    );
    assert.ok(
      parsed.kind === 'credentials' && parsed.credentials.brokerUrl === undefined
        && parsed.credentials.addresses.length === 0,
    );
  });
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const wrong: Record<string, [data: Record<string, string>, says: RegExp]> = {
    'that is empty': [{}, /cluster-id/], 'without a certificate': [{ 'cluster-id': encode('east') }, /tls\.crt/],
    'whose certificate is none': [
      { 'cluster-id': encode('east'), 'tls.crt': encode('x'), 'tls.key': encode('x'), 'ca.crt': encode('x') },
      /not a valid certificate/,
    ],
    'whose cluster ID is none': [{ 'cluster-id': encode('East.1') }, /DNS label/],
  };
  for (const [what, [data, says]] of Object.entries(wrong)) {
    it(`${what} is refused with what to do`, () => {
      const parsed = readGatewaySecret(data);
      assert.ok(parsed.kind === 'invalid');
      assert.match(parsed.message, says);
      assert.match(parsed.message, /isthmus gateway join/);
    });
  }
});

it('a certificate is renewed at two thirds of its life', () => assert.equal(
  renewalTime({ notBeforeMs: -4_200_000, notAfterMs: 86_400_000 }), 57_600_000,
));
