import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import { toFailure, toRefusal, type FailureCause } from '../../../../gateway/protocol/failure-cause.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

describe('the cause of a failure', () => {
  const codes: Record<string, FailureCause> = {
    ECONNREFUSED: 'refused', ENOTFOUND: 'name',
    EAI_AGAIN: 'name', ETIMEDOUT: 'unreachable', EHOSTUNREACH: 'unreachable', ENETUNREACH: 'unreachable',
    CERT_NOT_YET_VALID: 'clock', CERT_HAS_EXPIRED: 'certificate',
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate', SELF_SIGNED_CERT_IN_CHAIN: 'certificate',
    ERR_TLS_CERT_ALTNAME_INVALID: 'identity',
    ECONNRESET: 'closed', EPIPE: 'closed', ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: 'certificate',
    ERR_SSL_WRONG_VERSION_NUMBER: 'protocol', ERR_SSL_BAD_RECORD_TYPE: 'protocol', SOMETHING_NEW: 'closed',
  };
  for (const [code, cause] of Object.entries(codes)) {
    it(`${code} is ${cause}, with the place and the code in the message`, () => {
      const failure = toFailure({ code, message: 'x' }, 'hub:443');
      assert.equal(failure.cause, cause);
      assert.match(failure.message, new RegExp(`^hub:443: .+ \\(${code}\\)$`));
    });
  }
  it('keeps the words of an error without a code', () => assert.match(
    toFailure({ message: 'odd' }, 'hub:443').message, /\(odd\)$/,
  ));
});

describe('the words of a peer that refuses us', () => {
  it('are read', () => assert.deepEqual(
    toRefusal('revoked: the certificate was revoked'),
    { cause: 'revoked', message: 'the peer refuses us: the certificate was revoked' },
  ));
  it('that we do not know are not taken over', () => assert.equal(toRefusal('drop table: x').cause, 'refused'));
  it('draw nothing in a terminal and stay short, whatever they are', () => {
    fc.assert(fc.property(fc.oneof(
      fc.string({ unit: codePoint }), fc.string({ unit: codePoint }).map((text) => `limit: ${text}`),
    ), (words) => {
      const { message } = toRefusal(words);
      assert.ok(message.length < 300 && /^[\x20-\x7e]*$/.test(message));
    }));
  });
});
