// The DNS server's answers. A Service with a cluster IP resolves to that of the import, behind which the preferred
// endpoints are (import-objects.ts); a headless one to its ready endpoints, local ones first, unless the local Service
// prefers otherwise. Unhealthy endpoints are never returned: those not ready, and those of unreachable clusters. A name
// that exists without healthy endpoints gives an empty answer, not NXDOMAIN.
import type { ServicePort } from '../../api/objects/core.ts';
import type { ExportedEndpoint, ImportType } from '../../api/kinds/service-discovery.ts';
import type { EndpointPort } from '../../api/objects/endpoint-slice.ts';
import { isDnsLabel } from '../../model/naming/label-syntax.ts';
import type { ImportView } from '../imports/import-objects.ts';
import { parseName, serviceName, type ServiceName } from './dns-names.ts';
import type { Preference } from '../imports/preference.ts';
import { isDraining, reachableSlices } from '../imports/reachable-slices.ts';

/** An endpoint at the address by which this cluster reaches it. */
export interface DnsEndpoint extends ExportedEndpoint {
  readonly ports: readonly EndpointPort[];
}

/** An import, as DNS needs it. */
export interface DnsService {
  readonly namespace: string;
  readonly name: string;
  readonly type: ImportType;
  readonly ports: readonly ServicePort[];
  /** Cluster IPs of the import, one of each family. */
  readonly ips: readonly string[];
  /** Cluster IPs of the local Service, if it is exported. */
  readonly localIps: readonly string[];
  readonly preference: Preference;
  readonly clusters: readonly {
    readonly id: string; readonly isLocal: boolean; readonly endpoints: readonly DnsEndpoint[]
  }[];
}

/** The records of IPv4 and of IPv6 addresses. */
type AddressType = 'A' | 'AAAA';
const FAMILIES: readonly AddressType[] = ['A', 'AAAA'];

/** A resource record. */
export type DnsRecord =
  | { readonly type: AddressType; readonly name: string; readonly address: string }
  | { readonly type: 'SRV'; readonly name: string; readonly target: string; readonly port: number }
  | { readonly type: 'TXT'; readonly name: string; readonly text: string };

/** An answer (RFC 1035, response codes). */
export interface DnsAnswer {
  readonly code: 'NOERROR' | 'SERVFAIL' | 'NXDOMAIN' | 'REFUSED';
  readonly records: readonly DnsRecord[];
  /** Additional section: addresses of SRV targets. */
  readonly additional: readonly DnsRecord[];
}

/** TTL in seconds: a dead cluster must disappear soon. */
export const TTL_SECONDS = 5;
/** At most so many endpoints, and records, in an answer: it must fit a message over TCP; clients try a few. */
const MAX_RECORDS = 256;
const MAX_PORT = 65_535;
/** Version of the names and records (Multicluster DNS specification, 2.2). */
const SCHEMA_VERSION = '1.0.0';
/** Longest name, without its dot at the end (RFC 1035, 3.1). */
const MAX_NAME = 253;

const EMPTY: DnsAnswer = { code: 'NOERROR', records: [], additional: [] };

/** The answer before the caches have synced. Resolvers try another server after SERVFAIL; they cache NXDOMAIN. */
export function notSyncedAnswer({ name }: { readonly name: string }): DnsAnswer {
  return { ...EMPTY, code: parseName(name).kind === 'outside' ? 'REFUSED' : 'SERVFAIL' };
}

/** Answers a question of any type; `find` looks up an import by namespace and name. */
export function answerQuestion(
  question: { readonly name: string; readonly type: string },
  find: (namespace: string, name: string) => DnsService | undefined,
): DnsAnswer {
  const asked = parseName(question.name);
  if (asked.kind === 'outside') return { ...EMPTY, code: 'REFUSED' };
  if (asked.kind === 'empty') return EMPTY;
  if (asked.kind === 'version') return { ...EMPTY, records: versionRecords(question) };
  const service = asked.kind === 'service' ? find(asked.namespace, asked.name) : undefined;
  if (asked.kind === 'unknown' || service === undefined || !exists(asked, service)) {
    return { ...EMPTY, code: 'NXDOMAIN' };
  }
  if (isAddressType(question.type) && asked.port === undefined) {
    const { type } = question;
    const records = addressRecords(question.name, addressesOf(asked, service, [type]));
    return { ...EMPTY, records: records.filter((record) => record.type === type) };
  }
  if (question.type === 'SRV' && asked.host === undefined) return serviceRecords(question.name, asked, service);
  return EMPTY;
}

function versionRecords({ name, type }: { readonly name: string; readonly type: string }): readonly DnsRecord[] {
  return type === 'TXT' ? [{ type, name, text: SCHEMA_VERSION }] : [];
}

/** Whether the name exists, healthy or not. */
function exists({ cluster, host, port, protocol }: ServiceName, { clusters, ports, type }: DnsService): boolean {
  const named = clusters.filter(({ id }) => cluster === undefined || id === cluster);
  if (cluster !== undefined && named.length === 0) return false;
  if (host !== undefined && !named.some(({ endpoints }) => endpoints.some((endpoint) => hostOf(endpoint) === host))) {
    return false;
  }
  if (port === undefined) return true;
  const known = type === 'Headless' ? portLists(named.flatMap(({ endpoints }) => endpoints)) : [ports];
  return known.some((list) => list.some((one) => isPort(one, port, protocol)));
}

/** The ports of each slice once: with many ports, looking at those of each endpoint would hold up everybody else. */
function portLists(endpoints: readonly DnsEndpoint[]): readonly (readonly EndpointPort[])[] {
  return [...new Set(endpoints.map(({ ports }) => ports))];
}

function addressesOf(asked: ServiceName, service: DnsService, families = FAMILIES): readonly string[] {
  const { cluster, host } = asked;
  const { type, ips, localIps, clusters } = service;
  // kube-proxy refuses connections to an address of a family without endpoints
  if (type === 'ClusterSetIP' && cluster === undefined) return ips.filter((ip) => clusters.some(({ endpoints }) =>
    endpoints.some((one) => typeOf(one.address) === typeOf(ip) && (one.ready || isDraining(one)))));
  const ready = healthy(asked, service, families).map(({ endpoint }) => endpoint.address);
  if (type === 'Headless' || host !== undefined) return ready;
  const isHere = clusters.some(({ id, isLocal }) => isLocal && id === cluster);
  return isHere && localIps.length > 0 ? localIps : ready;
}

function isAddressType(type: string): type is AddressType {
  return type === 'A' || type === 'AAAA';
}

function typeOf(address: string): AddressType {
  return address.includes(':') ? 'AAAA' : 'A';
}

const ORDER: Readonly<Record<Preference, number>> = { local: 1, none: 0, remote: -1 };

/** Ready endpoints of the name, preferred ones first, as many as an answer may have. */
function healthy(
  { cluster, host }: ServiceName, { clusters, preference }: DnsService, families = FAMILIES,
): readonly { readonly id: string; readonly endpoint: DnsEndpoint }[] {
  return clusters
    .filter(({ id }) => cluster === undefined || id === cluster)
    .toSorted((one, other) => ORDER[preference] * (Number(other.isLocal) - Number(one.isLocal)))
    .flatMap(
      ({ id, endpoints }) => endpoints
        .filter((one) => one.ready && families.includes(typeOf(one.address)))
        .filter((one) => host === undefined || hostOf(one) === host)
        .map((endpoint) => ({ id, endpoint })),
    )
    .slice(0, MAX_RECORDS);
}

function addressRecords(
  name: string, addresses: readonly string[],
): readonly (DnsRecord & { readonly type: AddressType })[] {
  return [...new Set(addresses)].map((address) => ({ type: typeOf(address), name, address }));
}

function serviceRecords(name: string, asked: ServiceName, service: DnsService): DnsAnswer {
  const { namespace, port, protocol } = asked;
  const wanted = (one: EndpointPort) => port === undefined || isPort(one, port, protocol);
  if (service.type === 'ClusterSetIP' && asked.cluster === undefined) {
    const addresses = addressesOf(asked, service);
    const target = serviceName({ namespace, name: asked.name });
    const served = addresses.length === 0 ? [] : service.ports.filter(wanted).slice(0, MAX_RECORDS);
    const records = distinct(served.map(({ port: number }) => ({ type: 'SRV', name, target, port: number })));
    return { ...EMPTY, records, additional: addressRecords(target, addresses) };
  }
  const found = healthy(asked, service).map(({ id, endpoint }) => (
    { endpoint, target: serviceName({ namespace, name: asked.name, cluster: id, host: hostOf(endpoint) }) }
  ));
  const served = new Map(portLists(found.map(({ endpoint }) => endpoint)).map((list) => [list, list.filter(wanted)]));
  const records: (DnsRecord & { readonly type: 'SRV' })[] = [];
  for (const { endpoint, target } of found) {
    const left = MAX_RECORDS - records.length;
    for (const { port: number = 0 } of served.get(endpoint.ports)?.slice(0, left) ?? []) {
      records.push({ type: 'SRV', name, target, port: number });
    }
  }
  return {
    ...EMPTY,
    records: distinct(records),
    additional: found.filter(({ target }) => target.length <= MAX_NAME)
      .flatMap(({ endpoint, target }) => addressRecords(target, [endpoint.address])),
  };
}

/**
 * Without duplicates (RFC 2181, section 5): TCP and UDP may share a port number. Without ports and names that do not
 * fit into a DNS message: EndpointSlices and other clusters may have them.
 */
function distinct(records: readonly (DnsRecord & { readonly type: 'SRV' })[]): readonly DnsRecord[] {
  const valid = records.filter(({ target, port }) => port > 0 && port <= MAX_PORT && target.length <= MAX_NAME);
  return [...new Map(valid.map((record) => [`${record.target}:${record.port}`, record])).values()];
}

function isPort(one: EndpointPort, port: string, protocol: string | undefined): boolean {
  return (one.name ?? '').toLowerCase() === port && (one.protocol ?? 'TCP') === protocol;
}

/** An endpoint without a valid host name is named by its address with dashes, as in cluster DNS. */
function hostOf({ hostname = '', address }: DnsEndpoint): string {
  const label = hostname.toLowerCase();
  return isDnsLabel(label) ? label : address.replaceAll(/[.:]/g, '-');
}

/** An import in the form that DNS needs. `localIps` are the cluster IPs of the local Service. */
export function toDnsService(view: ImportView, localIps: readonly string[]): DnsService {
  const { namespace, name, settings, contributors } = view.merged;
  const clusters = contributors.map((one) => ({
    id: one.spec.clusterID, isLocal: one.spec.clusterID === view.clusterId,
    endpoints: reachableSlices(one, view).flatMap(
      ({ endpoints, ports }) => endpoints.map((endpoint) => ({ ...endpoint, ports })),
    ),
  }));
  return {
    namespace, name, type: settings.type, ports: settings.ports, ips: view.ips, localIps,
    preference: view.preference ?? 'local', clusters,
  };
}
