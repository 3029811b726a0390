// Finds the endpoints of an exported Service for a peer that requests one of its ports. Only Services with a
// ServiceExport are found, and only endpoints that are pods of this cluster: anyone who may write EndpointSlices must
// not be able to direct the gateway elsewhere.
import {
  OWN_EXPORT_LABEL, type ExportedEndpoint, type ExportedService, type ExportedSlice,
} from '../../api/kinds/service-discovery.ts';
import { exportedServiceName, parseExportedPort } from '../../model/network/gateway-names.ts';
import { isInAny } from '../../model/network/ip-range.ts';
import type { ServiceAddress } from './allowed-services.ts';

/** Addresses to dial, one of these; or why there are none, with an HTTP status. */
export type FoundService = { readonly kind: 'found'; readonly addresses: readonly ServiceAddress[] }
  | { readonly kind: 'refused'; readonly status: 403 | 503; readonly reason: string };

/** What is known of this cluster. */
export interface ExporterFacts {
  readonly clusterId: string;
  /** Its announced pod CIDRs. */
  readonly ranges: readonly string[];
  /** An ExportedService of the install namespace by its name. */
  readonly find: (name: string) => ExportedService | undefined;
}

const MAX_PORT = 65_535;

/** Endpoints for a stream's authority; undefined when it names no exported Service. */
export function findExported(asked: string, { clusterId, ranges, find }: ExporterFacts): FoundService | undefined {
  const wanted = parseExportedPort(asked);
  if (wanted === undefined) return undefined;
  const { namespace, name, port } = wanted;
  const exported = find(exportedServiceName(clusterId, namespace, name));
  const refused = (status: 403 | 503, reason: string): FoundService => ({ kind: 'refused', status, reason });
  if (exported?.metadata.labels?.[OWN_EXPORT_LABEL] !== 'true' || exported.spec.clusterID !== clusterId) {
    return refused(403, `${namespace}/${name} is not exported by that cluster`);
  }
  const served = exported.spec.ports.find((one) => one.port === port && isTcp(one));
  if (served === undefined) return refused(403, `${namespace}/${name} has no TCP port ${port}`);
  if (ranges.length === 0) {
    return refused(503, 'that cluster has announced no pod range; let it join with --cluster-cidr');
  }
  const [ready = [], draining = []] = [isReady, isDraining].map((isUsed) =>
    exported.spec.slices.flatMap((slice) => addressesOf(slice, served.name ?? '', { ranges, isUsed })));
  const addresses = ready.length > 0 ? ready : draining; // as kube-proxy does
  return addresses.length === 0
    ? refused(503, `no pod behind ${namespace}/${name} is ready in the ranges that its cluster announced`)
    : { kind: 'found', addresses };
}

function isReady({ ready }: ExportedEndpoint): boolean {
  return ready;
}

function isDraining({ serving, terminating }: ExportedEndpoint): boolean {
  return serving === true && terminating === true;
}

function addressesOf(
  { ports, endpoints }: ExportedSlice, portName: string,
  { ranges, isUsed }: {
    readonly ranges: readonly string[]; readonly isUsed: (endpoint: ExportedEndpoint) => boolean
  },
): readonly ServiceAddress[] {
  const port = ports.find((one) => (one.name ?? '') === portName && isTcp(one))?.port;
  if (port === undefined || port < 1 || port > MAX_PORT) return []; // an API server takes any number here
  return endpoints.filter((one) => isUsed(one) && isInAny(ranges, one.address))
    .map(({ address: host }) => ({ host, port }));
}

function isTcp({ protocol = 'TCP' }: { readonly protocol?: string }): boolean {
  return protocol === 'TCP';
}
