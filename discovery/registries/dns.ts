// DNS-SD: API servers that a domain announces. A hint and no more: it has no credentials, nothing is sent before an
// administrator has approved it, and then only to a server with a certificate of the authority in the Secret that the
// administrator has written.
import { X509Certificate } from 'node:crypto';
import type { Secret } from '../../api/objects/core.ts';
import { composeKubeconfig } from '../entry/composed-kubeconfig.ts';
import type { DnsService } from '../entry/dns-service.ts';
import { bySecret, secretText } from '../entry/registry-fields.ts';
import { refused, waiting, type RegisteredAccess } from '../entry/registered-cluster.ts';
import type { Registry } from '../entry/registry.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';

/** The registry. */
export const DNS: Registry = {
  kinds: [],
  domain: ({ dns }) => dns,
  namedService: secretRefOf,
  read: ({ services = [], secret, namespace = '' }) => services.map((service) => ({
    entry: `Service ${service.name}`, name: service.name, labels: {},
    hint: hintOf(service, secretRefOf(service, namespace)),
    access: accessOf(service, secretRefOf(service, namespace), secret),
  })),
};

function secretRefOf({ name }: DnsService, namespace: string): NamespacedName {
  return { namespace, name };
}

function hintOf({ address, clusterId, authority }: DnsService, { namespace, name }: NamespacedName): string {
  const announced = [
    address === undefined ? 'without an address' : `at ${address}`,
    ...(clusterId === undefined ? [] : [`as cluster ${clusterId}`]),
    ...(authority === undefined ? [] : [`with authority sha256:${authority}`]),
  ].join(', ');
  return `DNS, which is not authenticated, announces it ${announced}. To use it, write its token and ca.crt into ` +
    `Secret ${namespace}/${name} and its name into spec.approved`;
}

function accessOf(
  service: DnsService, ref: NamespacedName, secret: Parameters<Registry['read']>[0]['secret'],
): RegisteredAccess {
  const { address } = service;
  if (address === undefined) return waiting('DNS has no address for it');
  return bySecret(secret(ref), ref, (found) => bySecretOf(found, service, address));
}

function bySecretOf(secret: Secret, { authority }: DnsService, address: string): RegisteredAccess {
  const token = secretText(secret, 'token');
  const certificate = secretText(secret, 'ca.crt');
  if (token === undefined) return waiting('its Secret has no key token');
  if (certificate === undefined) {
    return waiting('its Secret has no key ca.crt; without it any server could say to be the cluster');
  }
  if (authority !== undefined && authority !== fingerprintOf(certificate)) {
    return refused('DNS announces another authority for it than its Secret has');
  }
  return composeKubeconfig({
    server: `https://${address}`, token,
    certificateAuthorityData: Buffer.from(certificate, 'utf8').toString('base64'),
  });
}

/** SHA-256 of the first certificate in hexadecimal; undefined when there is none. */
function fingerprintOf(pem: string): string | undefined {
  try {
    return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
  } catch {
    return undefined;
  }
}
