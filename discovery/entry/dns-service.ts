// A service that DNS announces (DNS-SD, RFC 6763). It is untrusted: text of an
// invalid form counts as missing, so that it does no harm where people or programs read it.
import { isDnsLabel, isHostName } from '../../model/naming/label-syntax.ts';

/** An announced API server. */
export interface DnsService {
  /** The instance: a valid name of an object. */
  readonly name: string;
  /** Host name or address, and port; undefined when there are none, or none that are valid. */
  readonly address: string | undefined;
  /** UID of the cluster's kube-system Namespace, as announced. */
  readonly clusterId: string | undefined;
  /** SHA-256 of the certificate authority in hexadecimal, as announced. */
  readonly authority: string | undefined;
}

/** An address of a service (RFC 2782). */
export interface ServiceAddress {
  readonly name: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

/** Services that are browsed for. */
export const SERVICE_TYPE = '_isthmus._tcp';
/** Most services of one domain: the answers are small, and the rest of a larger one is ignored. */
export const MOST_SERVICES = 200;

const CLUSTER_ID = /^[\w-]{1,64}$/;
const AUTHORITY = /^sha256:([0-9a-f]{64})$/;

/** The instances that names of a PTR record set stand for, sorted, each once, without those that have no valid name. */
export function instancesOf(domain: string, names: readonly string[]): readonly string[] {
  const suffix = `.${SERVICE_TYPE}.${domain}`.toLowerCase();
  const instances = names.map((name) => name.toLowerCase().replace(/\.$/, '')).filter((name) => name.endsWith(suffix))
    .map((name) => name.slice(0, -suffix.length)).filter(isDnsLabel);
  return [...new Set(instances)].toSorted().slice(0, MOST_SERVICES);
}

/** A service out of its records; `texts` are the strings of its TXT records, `key=value`. */
export function toDnsService(
  name: string, addresses: readonly ServiceAddress[], texts: readonly string[],
): DnsService {
  return {
    name, address: addressOf(addresses),
    clusterId: textOf(texts, 'id', CLUSTER_ID), authority: textOf(texts, 'ca', AUTHORITY),
  };
}

/** That of the lowest priority, then of the highest weight: always the same of the same records. */
function addressOf(addresses: readonly ServiceAddress[]): string | undefined {
  const valid = addresses.flatMap(({ name, port, ...order }) => {
    const host = name.toLowerCase().replace(/\.$/, '');
    const isPort = Number.isInteger(port) && port > 0 && port < 65_536;
    return isPort && isHostName(host) ? [{ ...order, address: `${host}:${port}` }] : [];
  });
  const [first] = valid.toSorted((one, other) => (
    one.priority - other.priority || other.weight - one.weight || (one.address < other.address ? -1 : 1)
  ));
  return first?.address;
}

/** The first value of a key counts (RFC 6763, 6.4), if it has the form. */
function textOf(texts: readonly string[], key: string, form: RegExp): string | undefined {
  const prefix = `${key}=`;
  const given = texts.find((text) => text.toLowerCase().startsWith(prefix))?.slice(prefix.length);
  const [whole, part] = form.exec(key === 'ca' ? (given ?? '').toLowerCase() : (given ?? '')) ?? [];
  return part ?? whole;
}
