// What the DNS server of a cluster answers. A Service with one address is answered with that of the local Service while it has ready endpoints here,
// else with that of the import; a headless one with its ready endpoints, those of this cluster first, unless the local Service says otherwise. What is unhealthy is never answered: endpoints
// that are not ready, and clusters that no cable reaches. A name that exists and has nothing healthy is an empty answer, not "no such name".
import type { ServicePort } from '../../api/objects/core.ts';
import type { EndpointPort, ImportType } from '../../api/kinds/service-discovery.ts';
import type { ImportView } from '../imports/import-objects.ts';
import { parseName, serviceName, type ServiceName } from './dns-names.ts';
import type { Preference } from '../imports/preference.ts';
import { reachedSlices } from '../imports/reached-slices.ts';

/** An endpoint under the address that this cluster reaches it at. */
export interface DnsEndpoint {
  readonly address: string;
  readonly hostname?: string;
  readonly ready: boolean;
  readonly ports: readonly EndpointPort[];
}

/** An import, as names are answered from it. */
export interface DnsService {
  readonly namespace: string;
  readonly name: string;
  readonly type: ImportType;
  readonly ports: readonly ServicePort[];
  /** Address of the import in this cluster. */
  readonly ip: string | undefined;
  /** Address of the Service of this cluster, where it exports. */
  readonly localIp: string | undefined;
  readonly preference: Preference;
  readonly clusters: readonly { readonly id: string; readonly isLocal: boolean; readonly endpoints: readonly DnsEndpoint[] }[];
}

/** A record of an answer. */
export type DnsRecord =
  | { readonly type: 'A'; readonly name: string; readonly address: string }
  | { readonly type: 'SRV'; readonly name: string; readonly target: string; readonly port: number };

/** An answer (RFC 1035, response codes). */
export interface DnsAnswer {
  readonly code: 'NOERROR' | 'NXDOMAIN' | 'REFUSED';
  readonly records: readonly DnsRecord[];
  /** Addresses of the targets of SRV records. */
  readonly additional: readonly DnsRecord[];
}

/** How long an answer may be kept, in seconds: a dead cluster must be out of sight soon. */
export const TTL_SECONDS = 5;
/** More endpoints than this are not answered: an answer must fit a message over TCP, and clients try a few. */
const MAX_RECORDS = 256;

const EMPTY: DnsAnswer = { code: 'NOERROR', records: [], additional: [] };

/** The answer to a question of any type; `find` gives an import by namespace and name. */
export function answerQuestion(question: { readonly name: string; readonly type: string }, find: (namespace: string, name: string) => DnsService | undefined): DnsAnswer {
  const asked = parseName(question.name);
  if (asked.kind === 'outside') return { ...EMPTY, code: 'REFUSED' };
  if (asked.kind === 'empty') return EMPTY;
  const service = asked.kind === 'service' ? find(asked.namespace, asked.name) : undefined;
  if (asked.kind === 'unknown' || service === undefined || !exists(asked, service)) return { ...EMPTY, code: 'NXDOMAIN' };
  if (question.type === 'A' && asked.port === undefined) return { ...EMPTY, records: addressRecords(question.name, addressesOf(asked, service)) };
  if (question.type === 'SRV' && asked.host === undefined) return serviceRecords(question.name, asked, service);
  return EMPTY;
}

/** Whether there is something of this name, healthy or not. */
function exists({ cluster, host, port, protocol }: ServiceName, { clusters, ports, type }: DnsService): boolean {
  const named = clusters.filter(({ id }) => cluster === undefined || id === cluster);
  if (cluster !== undefined && named.length === 0) return false;
  if (host !== undefined && !named.some(({ endpoints }) => endpoints.some((endpoint) => hostOf(endpoint) === host))) return false;
  const known = type === 'Headless' ? named.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.ports)) : ports;
  return port === undefined || known.some((one) => isPort(one, port, protocol));
}

function addressesOf(asked: ServiceName, service: DnsService): readonly string[] {
  const { cluster, host } = asked;
  if (service.type === 'ClusterSetIP' && host === undefined) {
    const [local] = service.clusters.filter(({ isLocal }) => isLocal);
    if (service.localIp !== undefined && local !== undefined && (cluster === undefined ? comesFirst(local, service) : cluster === local.id)) return [service.localIp];
    if (cluster === undefined) return service.ip !== undefined && healthy(asked, service).length > 0 ? [service.ip] : [];
  }
  return healthy(asked, service).map(({ endpoint }) => endpoint.address);
}

/** Whether this cluster's own part is the answer for all. */
function comesFirst(local: DnsService['clusters'][number], { preference }: DnsService): boolean {
  return preference === 'local' && local.endpoints.some(({ ready }) => ready);
}

const ORDER: Readonly<Record<Preference, number>> = { local: 1, none: 0, remote: -1 };

/** Ready endpoints of the name, those that are preferred first. */
function healthy({ cluster, host }: ServiceName, { clusters, preference }: DnsService): readonly { readonly id: string; readonly endpoint: DnsEndpoint }[] {
  return clusters
    .filter(({ id }) => cluster === undefined || id === cluster)
    .toSorted((one, other) => ORDER[preference] * (Number(other.isLocal) - Number(one.isLocal)))
    .flatMap(({ id, endpoints }) => endpoints.filter((endpoint) => endpoint.ready && (host === undefined || hostOf(endpoint) === host)).map((endpoint) => ({ id, endpoint })))
    .slice(0, MAX_RECORDS);
}

function addressRecords(name: string, addresses: readonly string[]): readonly DnsRecord[] {
  return [...new Set(addresses)].map((address) => ({ type: 'A', name, address }));
}

function serviceRecords(name: string, asked: ServiceName, service: DnsService): DnsAnswer {
  const { namespace, port, protocol } = asked;
  const wanted = (one: EndpointPort) => port === undefined || isPort(one, port, protocol);
  if (service.type === 'ClusterSetIP' && asked.cluster === undefined) {
    const addresses = addressesOf(asked, service);
    const target = serviceName({ namespace, name: asked.name });
    const records = addresses.length === 0 ? [] : service.ports.filter(wanted).map((one) => ({ type: 'SRV', name, target, port: one.port }) as const);
    return { ...EMPTY, records, additional: addressRecords(target, addresses) };
  }
  const found = healthy(asked, service).map(({ id, endpoint }) => ({ endpoint, target: serviceName({ namespace, name: asked.name, cluster: id, host: hostOf(endpoint) }) }));
  return {
    ...EMPTY,
    records: found.flatMap(({ endpoint, target }) => endpoint.ports.filter(wanted).flatMap((one) => (one.port === undefined ? [] : [{ type: 'SRV', name, target, port: one.port } as const]))),
    additional: found.flatMap(({ endpoint, target }) => addressRecords(target, [endpoint.address])),
  };
}

function isPort(one: EndpointPort, port: string, protocol: string | undefined): boolean {
  return (one.name ?? '').toLowerCase() === port && (one.protocol ?? 'TCP') === protocol;
}

/** An endpoint without a host name is called by its address, with dashes, as in a cluster's own DNS. */
function hostOf({ hostname, address }: DnsEndpoint): string {
  return hostname?.toLowerCase() ?? address.replaceAll('.', '-');
}

/** An import as names are answered from it. `localIp` is the address of this cluster's own Service. */
export function toDnsService(view: ImportView, localIp: string | undefined): DnsService {
  const { namespace, name, settings, contributors } = view.merged;
  const clusters = contributors.map((one) => ({
    id: one.spec.clusterID, isLocal: one.spec.clusterID === view.clusterId,
    endpoints: reachedSlices(one, view).flatMap(({ endpoints, ports }) => endpoints.map((endpoint) => ({ ...endpoint, ports }))),
  }));
  return { namespace, name, type: settings.type, ports: settings.ports, ip: view.ips[0], localIp, preference: view.preference ?? 'local', clusters };
}
