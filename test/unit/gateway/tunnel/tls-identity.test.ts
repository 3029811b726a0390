import assert from 'node:assert/strict';
import type { TLSSocket } from 'node:tls';
import { describe, it } from 'node:test';
import type { Failure } from '../../../../gateway/protocol/failure-cause.ts';
import { readPeer, type KnownPeer } from '../../../../gateway/tunnel/tls-identity.ts';
import { gatewayName } from '../../../../model/network/gateway-names.ts';

/** A socket after the handshake of a peer, with this certificate. */
function socketOf(remoteAddress: string | undefined, certificate: object, error?: string): TLSSocket {
  return {
    remoteAddress, authorized: error === undefined, authorizationError: error, getPeerCertificate: () => certificate,
  } as unknown as TLSSocket;
}

describe('a peer that is rejected', () => {
  const valid = { valid_to: 'Jan  1 10:00:00 2030 GMT', subjectaltname: 'DNS:elsewhere' };
  for (const [what, certificate, error] of [
    ['presents no certificate', {}], ['has an invalid certificate', valid, 'CERT_HAS_EXPIRED'],
    ['names no cluster', valid],
  ] as const) {
    it(`that ${what} is named by its own address`, () => {
      for (const [seen, named] of [
        ['::ffff:10.0.0.1', '10.0.0.1'], ['10.0.0.1', '10.0.0.1'], ['fd00::1', 'fd00::1'], [undefined, 'peer'],
      ] as const) {
        const peer = readPeer(socketOf(seen, certificate, error));
        assert.ok('message' in peer);
        assert.ok(peer.message.startsWith(named), peer.message);
      }
    });
  }

  it('resumes a TLS session that was verified while its certificate was valid', () => {
    const subjectaltname = `DNS:${gatewayName('eu')}`;
    const ended = { valid_to: 'Jan  1 10:00:00 2020 GMT', subjectaltname, serialNumber: 'AA' };
    assert.equal((readPeer(socketOf('10.0.0.1', ended)) as Failure).cause, 'certificate');
    const { valid_to } = valid;
    assert.equal((readPeer(socketOf('10.0.0.1', { ...ended, valid_to })) as KnownPeer).clusterId, 'eu');
  });
});
