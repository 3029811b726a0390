// The Secret with a cluster's membership: its ID, certificate and key, the clusterset's CA, and the broker's URL. All
// gateways of a cluster share it; a renewed certificate is written there and loaded by all.
import { X509Certificate } from 'node:crypto';
import type { Secret } from '../../api/objects/core.ts';
import { isClusterId } from '../../model/network/gateway-names.ts';

/** Name of the Secret in the install namespace. */
export const GATEWAY_SECRET = 'isthmus-gateway';

/** What the Secret holds. */
export interface MemberCredentials {
  readonly clusterId: string;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
  /** https URL; missing when ClustersetMember and ClustersetEndpoint objects are managed by hand. */
  readonly brokerUrl?: string | undefined;
  /** `host:port` where peers reach the gateways of this cluster; empty when it can only dial out. */
  readonly addresses: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The credentials, or what is wrong with the Secret. */
export type ParsedCredentials = { readonly kind: 'credentials'; readonly credentials: MemberCredentials }
  | { readonly kind: 'invalid'; readonly message: string };

/** Reads the Secret. */
export function readGatewaySecret(data: Readonly<Record<string, string>>): ParsedCredentials {
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8').trim();
  const clusterId = text('cluster-id');
  const [certificate, key, authority] = [text('tls.crt'), text('tls.key'), text('ca.crt')];
  if (!isClusterId(clusterId)) {
    return { kind: 'invalid', message: 'cluster-id is missing or is not a DNS label; run "isthmus gateway join"' };
  }
  if (certificate === '' || key === '' || authority === '') {
    return { kind: 'invalid', message: 'tls.crt, tls.key or ca.crt is missing; run "isthmus gateway join"' };
  }
  const validity = readValidity(certificate);
  if (validity === undefined) {
    return { kind: 'invalid', message: 'tls.crt is not a valid certificate; run "isthmus gateway join"' };
  }
  const brokerUrl = text('broker-url');
  const addresses = text('addresses').split(',').filter((address) => address !== '');
  return {
    kind: 'credentials',
    credentials: {
      clusterId, certificate: `${certificate}\n`, key: `${key}\n`, authority: `${authority}\n`, addresses,
      ...(brokerUrl !== '' && { brokerUrl }), ...validity,
    },
  };
}

/** The Secret of a member. */
export function toGatewaySecret(
  namespace: string, member: Omit<MemberCredentials, 'notBeforeMs' | 'notAfterMs'>,
): Secret {
  const texts = {
    'cluster-id': member.clusterId, 'tls.crt': member.certificate, 'tls.key': member.key,
    'ca.crt': member.authority, 'broker-url': member.brokerUrl ?? '', addresses: member.addresses.join(','),
  };
  const data =
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')]));
  return {
    apiVersion: 'v1', kind: 'Secret',
    metadata: { namespace, name: GATEWAY_SECRET, labels: { 'app.kubernetes.io/part-of': 'isthmus' } }, type: 'Opaque',
    data,
  };
}

function readValidity(certificate: string): { readonly notBeforeMs: number; readonly notAfterMs: number } | undefined {
  try {
    const { validFrom, validTo } = new X509Certificate(certificate);
    return { notBeforeMs: Date.parse(validFrom), notAfterMs: Date.parse(validTo) };
  } catch {
    return undefined;
  }
}

/** Our CA backdates certificates by this much for clocks that are behind; it does not count as lifetime. */
const BACKDATED_MS = 70 * 60_000;

/**
 * When to renew a certificate, in ms since the epoch: at two thirds of its lifetime, which leaves a third for broker
 * outages.
 */
export function renewalTime(
  { notBeforeMs, notAfterMs }: Pick<MemberCredentials, 'notBeforeMs' | 'notAfterMs'>,
): number {
  const issuedMs = Math.min(notBeforeMs + BACKDATED_MS, notAfterMs);
  return issuedMs + ((notAfterMs - issuedMs) * 2) / 3;
}
