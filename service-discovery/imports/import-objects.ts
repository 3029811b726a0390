// Objects that make an import usable in a cluster: the ServiceImport, a Service without selector for its cluster IP (so
// that any kube-proxy balances over the endpoints of all clusters), and its EndpointSlices with the labels of the MCS
// API.
import type { KubernetesObject, Service, ServicePort } from '../../api/objects/core.ts';
import {
  IP_FAMILIES, MANAGED_BY_LABEL, MCS_SERVICE_NAME_LABEL, MCS_SOURCE_CLUSTER_LABEL, SERVICE_DISCOVERY_MANAGER,
  SERVICE_NAME_LABEL, type ExportedService, type IpFamily, type ServiceImport,
} from '../../api/kinds/service-discovery.ts';
import type { EndpointSlice } from '../../api/objects/endpoint-slice.ts';
import { acceptedAnnotations, acceptedLabels } from '../../model/naming/label-syntax.ts';
import { joinName, MAX_LABEL_LENGTH } from '../../model/naming/names.ts';
import type { MergedExports } from './merge-exports.ts';
import type { Preference } from './preference.ts';
import { reachableSlices, type ClustersetView } from './reachable-slices.ts';

/** An import as seen from this cluster. */
export interface ImportView extends ClustersetView {
  readonly merged: MergedExports;
  /** Cluster IPs of the import's Service; empty before they are allocated. */
  readonly ips: readonly string[];
  /** Preferred endpoints; local ones when missing. */
  readonly preference?: Preference;
}

/** The desired objects. */
export interface ImportObjects {
  readonly serviceImport: ServiceImport;
  /** Missing for headless imports. */
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** Name of the Service that provides an import's cluster IP, in the import's namespace. */
export function importServiceName(name: string): string {
  return joinName([{ constant: 'isthmus-import' }, name], MAX_LABEL_LENGTH);
}

/** All objects of one import. */
export function toImportObjects(view: ImportView): ImportObjects {
  const { merged } = view;
  const slices = slicesOf(view);
  return {
    serviceImport: toServiceImport(view, slices),
    service: merged.settings.type === 'Headless' ? undefined : toService(merged),
    slices,
  };
}

/** Whether an export has endpoints that are preferred in this cluster. */
function isPreferred({ spec }: ExportedService, { preference = 'local', clusterId }: ImportView): boolean {
  return preference === 'none' || (spec.clusterID === clusterId) === (preference === 'local');
}

/**
 * Slices that back the cluster IP. Of exports that are not preferred, only those ports that no ready endpoint of a
 * preferred one serves. A headless import tells all of its endpoints.
 */
function slicesOf(view: ImportView): readonly EndpointSlice[] {
  const { contributors, settings: { type, ports } } = view.merged;
  if (type === 'Headless') return contributors.flatMap((one) => toSlices(one, view, ports));
  const preferred = contributors.filter((one) => isPreferred(one, view));
  const first = preferred.flatMap((one) => toSlices(one, view, ports));
  const served = new Set(first.filter(isReady).flatMap((slice) => (slice.ports ?? []).map(({ name = '' }) => name)));
  const left = ports.filter(({ name = '' }) => !served.has(name));
  const others = contributors.filter((one) => left.length > 0 && !preferred.includes(one));
  return [...first, ...others.flatMap((one) => toSlices(one, view, left))];
}

function isReady({ endpoints }: EndpointSlice): boolean {
  return (endpoints ?? []).some(({ conditions }) => conditions?.ready === true);
}

function ownLabels(name: string) {
  return { [MANAGED_BY_LABEL]: SERVICE_DISCOVERY_MANAGER, [MCS_SERVICE_NAME_LABEL]: name };
}

function toServiceImport({ merged, ips }: ImportView, slices: readonly EndpointSlice[]): ServiceImport {
  const { namespace, name, labels, annotations, settings } = merged;
  const isOne = settings.type === 'ClusterSetIP';
  const ipFamilies = isOne ? ips.map((ip) => (ip.includes(':') ? 'IPv6' : 'IPv4')) : familiesOf(slices);
  return {
    apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceImport',
    metadata: {
      namespace, name, labels: { ...acceptedLabels(labels), ...ownLabels(name) },
      annotations: acceptedAnnotations(annotations),
    },
    spec: { ...settings, ...(isOne && ips.length > 0 && { ips }), ...(ipFamilies.length > 0 && { ipFamilies }) },
  };
}

/** A headless import has no address of its own: its families are those of its endpoints. */
function familiesOf(slices: readonly EndpointSlice[]): readonly IpFamily[] {
  return IP_FAMILIES.filter((family) => slices.some(({ addressType }) => addressType === family));
}

/**
 * An address of each family that the cluster has: endpoints may be of either. Not `trafficDistribution`, which does
 * nothing for these slices, and whose values an older API server may refuse.
 */
function toService({ namespace, name, settings }: MergedExports): Service {
  const { ports, type: _type, trafficDistribution: _distribution, ...policies } = settings;
  return {
    apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: importServiceName(name), labels: ownLabels(name) },
    spec: { type: 'ClusterIP', ipFamilyPolicy: 'PreferDualStack', ports, ...policies },
  };
}

/**
 * An export's slices with those of the import's ports that its cluster exposes: under the same name, number and
 * protocol. The number of a headless Service routes nothing.
 */
function toSlices(
  exported: ExportedService, view: ImportView, wanted: readonly ServicePort[],
): readonly EndpointSlice[] {
  const { clusterID } = exported.spec;
  const own = new Set(exported.spec.ports.map(portKey));
  const exposed = view.merged.settings.type === 'Headless' ? wanted : wanted.filter((port) => own.has(portKey(port)));
  const names = new Set(exposed.map(({ name: portName = '' }) => portName));
  const { namespace, name, settings } = view.merged;
  const labels = {
    ...ownLabels(name), [MCS_SOURCE_CLUSTER_LABEL]: clusterID,
    ...(settings.type === 'ClusterSetIP' && { [SERVICE_NAME_LABEL]: importServiceName(name) }),
  };
  return reachableSlices(exported, view).flatMap((slice) => {
    const endpoints = slice.endpoints.map(({ address, hostname, ready, serving = ready, terminating = false }) => ({
      addresses: [address], conditions: { ready, serving, terminating }, ...(hostname !== undefined && { hostname }),
    }));
    const ports = slice.ports.filter((port) => names.has(port.name ?? '')); // as of Service and endpoints: by name
    if (ports.length === 0 && settings.ports.length > 0) return [];
    const metadata =
      { namespace, name: joinName([{ constant: 'imported' }, name, clusterID, slice.key], MAX_LABEL_LENGTH), labels };
    return [{
      apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: slice.addressType, ports,
      endpoints,
    }];
  });
}

function portKey({ name = '', protocol = 'TCP', port }: ServicePort): string {
  return `${name}/${protocol}/${port}`;
}

/** Whether service discovery created an object; others are never changed or deleted. */
export function isImported(object: KubernetesObject): boolean {
  return object.metadata.labels?.[MANAGED_BY_LABEL] === SERVICE_DISCOVERY_MANAGER;
}
