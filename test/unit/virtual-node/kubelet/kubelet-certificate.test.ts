import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import type { CertificateSigningRequest } from '../../../../api/resource-types.ts';
import { lifeOf } from '../../../../process/crypto/certificate-authority.ts';
import {
  renewalTime, signingOutcome, subjectNamesOf, toSigningRequest,
} from '../../../../virtual-node/kubelet/kubelet-certificate.ts';
import { selfSignedCertificate } from '../../../../virtual-node/kubelet/kubelet-certificate-controller.ts';

describe('the serving certificate of the kubelet API', () => {
  it('is asked for as kubelets ask', () => {
    const { apiVersion, spec } = toSigningRequest('PEM', 'kubernetes.io/kubelet-serving');
    assert.equal(apiVersion, 'certificates.k8s.io/v1');
    assert.deepEqual(spec, {
      request: 'UEVN', signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'],
    });
  });

  it('holds the address as what it is', () => {
    assert.deepEqual(subjectNamesOf('10.0.0.7'), { ipAddresses: ['10.0.0.7'], dnsNames: [] });
    assert.deepEqual(subjectNamesOf('fd00::7'), { ipAddresses: ['fd00::7'], dnsNames: [] });
    assert.deepEqual(subjectNamesOf('kubelet.isthmus'), { ipAddresses: [], dnsNames: ['kubelet.isthmus'] });
  });

  it('signed by itself is a server of that address, and renewed at two thirds', async () => {
    const { certificate } = await selfSignedCertificate('10.0.0.7');
    const read = new X509Certificate(certificate);
    assert.equal(read.checkIP('10.0.0.7'), '10.0.0.7');
    assert.match(read.subject, /CN=system:node:isthmus-virtual-nodes/);
    assert.deepEqual(read.keyUsage, ['1.3.6.1.5.5.7.3.1']); // server, not client
    const { notBefore, notAfter } = lifeOf(certificate);
    assert.equal(Math.round((renewalTime({ notBefore, notAfter }) - notBefore) / 86_400_000), 60);
  });
});

describe('a signing request', () => {
  const rows: Record<string, readonly [status: CertificateSigningRequest['status'], outcome: object]> = {
    'that nobody has looked at waits': [undefined, { kind: 'waiting' }],
    'that is approved and not signed waits': [{ conditions: [{ type: 'Approved' }] }, { kind: 'waiting' }],
    'that is signed is taken up':
      [{ conditions: [{ type: 'Approved' }], certificate: 'UEVN' }, { kind: 'issued', certificate: 'PEM' }],
    'that is denied says why':
      [{ conditions: [{ type: 'Denied', message: 'no' }] }, { kind: 'refused', message: 'Denied: no' }],
    'that failed says why': [
      { conditions: [{ type: 'Approved' }, { type: 'Failed', reason: 'SignerValidationFailure' }] },
      { kind: 'refused', message: 'Failed: SignerValidationFailure' },
    ],
  };
  for (const [what, [status, outcome]] of Object.entries(rows)) {
    it(what, () => assert.deepEqual(signingOutcome({ metadata: {}, ...(status && { status }) }), outcome));
  }
});
