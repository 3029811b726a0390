// The serving certificate of the kubelet API: the request to the cluster's signer, and its renewal time.
import { isIP } from 'node:net';
import {
  CERTIFICATE_SIGNING_REQUESTS, apiVersionOf, type CertificateSigningRequest,
} from '../../api/resource-types.ts';
import { PART_OF } from '../../model/access/rbac-objects.ts';

/** Subject of the server: kubelet signers accept only node names, and API servers check only the addresses. */
export const KUBELET_SUBJECT =
  { commonName: 'system:node:isthmus-virtual-nodes', organizations: ['system:nodes'] } as const;

/** The subject alternative names of a certificate for `address`, an IP address or a DNS name. */
export function subjectNamesOf(address: string): {
  readonly ipAddresses: readonly string[]; readonly dnsNames: readonly string[]
} {
  return isIP(address) === 0 ? { ipAddresses: [], dnsNames: [address] } : { ipAddresses: [address], dnsNames: [] };
}

/** The CertificateSigningRequest for a request (PEM). */
export function toSigningRequest(request: string, signerName: string): CertificateSigningRequest
  & { readonly spec: object } {
  return {
    apiVersion: apiVersionOf(CERTIFICATE_SIGNING_REQUESTS),
    kind: CERTIFICATE_SIGNING_REQUESTS.kind,
    metadata: { generateName: 'isthmus-kubelet-', labels: PART_OF },
    spec: {
      request: Buffer.from(request, 'utf8').toString('base64'), signerName,
      usages: ['digital signature', 'server auth'],
    },
  };
}

/** State of a request. */
export type SigningOutcome = { readonly kind: 'waiting' } | { readonly kind: 'issued'; readonly certificate: string }
  | { readonly kind: 'refused'; readonly message: string };

/** The state from the request's status. */
export function signingOutcome({ status = {} }: CertificateSigningRequest): SigningOutcome {
  const refusal = status.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
  if (refusal !== undefined) {
    return { kind: 'refused', message: `${refusal.type}: ${refusal.message ?? refusal.reason ?? 'no reason given'}` };
  }
  const { certificate } = status;
  if (certificate === undefined || certificate === '') return { kind: 'waiting' };
  return { kind: 'issued', certificate: Buffer.from(certificate, 'base64').toString('utf8') };
}

/** When to request the next certificate, in ms since the epoch: after two thirds of this one's lifetime. */
export function renewalTime(
  { notBefore, notAfter }: { readonly notBefore: number; readonly notAfter: number },
): number {
  return notBefore + ((notAfter - notBefore) * 2) / 3;
}
