// Objects that make an import usable in a cluster: the ServiceImport, a Service without selector for its cluster IP (so
// that any kube-proxy balances over the endpoints of all clusters), and its EndpointSlices with the labels of the MCS
// API.
import type { KubernetesObject, Service, ServicePort } from '../../api/objects/core.ts';
import {
  MANAGED_BY_LABEL, MCS_SERVICE_NAME_LABEL, MCS_SOURCE_CLUSTER_LABEL,
  SERVICE_DISCOVERY_MANAGER, SERVICE_NAME_LABEL, type EndpointSlice, type ExportedService, type ExportedSlice,
  type ServiceImport,
} from '../../api/kinds/service-discovery.ts';
import { joinName, MAX_LABEL_LENGTH } from '../../model/naming/names.ts';
import type { MergedExports } from './merge-exports.ts';
import type { Preference } from './preference.ts';
import { reachedSlices, type ClustersetView } from './reached-slices.ts';

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
  return {
    serviceImport: toServiceImport(view), service: merged.settings.type === 'Headless' ? undefined : toService(merged),
    slices: preferredContributors(view).flatMap((one) => toSlices(one, view)),
  };
}

/**
 * Exports whose endpoints back the cluster IP: local ones are excluded where remote ones are preferred and one of them
 * is ready.
 */
function preferredContributors(view: ImportView): readonly ExportedService[] {
  const { contributors } = view.merged;
  const others = contributors.filter(({ spec }) => spec.clusterID !== view.clusterId);
  const isReady = (one: ExportedService) =>
    reachedSlices(one, view).some(({ endpoints }) => endpoints.some(({ ready }) => ready));
  return view.preference === 'remote' && others.some(isReady) ? others : contributors;
}

function ownLabels(name: string) {
  return { [MANAGED_BY_LABEL]: SERVICE_DISCOVERY_MANAGER, [MCS_SERVICE_NAME_LABEL]: name };
}

function toServiceImport({ merged, ips }: ImportView): ServiceImport {
  const { namespace, name, labels, annotations, settings } = merged;
  return {
    apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceImport',
    metadata: { namespace, name, labels: { ...labels, ...ownLabels(name) }, annotations },
    spec: { ...settings, ...(settings.type === 'ClusterSetIP' && ips.length > 0 && { ips }) },
  };
}

function toService({ namespace, name, settings }: MergedExports): Service {
  const { ports, type: _type, ...policies } = settings;
  return {
    apiVersion: 'v1', kind: 'Service', metadata: { namespace, name: importServiceName(name), labels: ownLabels(name) },
    spec: { type: 'ClusterIP', ports, ...policies },
  };
}

function toSlices(exported: ExportedService, view: ImportView): readonly EndpointSlice[] {
  const { clusterID } = exported.spec;
  const { namespace, name, settings } = view.merged;
  const labels = {
    ...ownLabels(name), [MCS_SOURCE_CLUSTER_LABEL]: clusterID,
    ...(settings.type === 'ClusterSetIP' && { [SERVICE_NAME_LABEL]: importServiceName(name) }),
  };
  return reachedSlices(exported, view).flatMap((slice) => {
    const endpoints = slice.endpoints.map(({ address, hostname, ready }) => (
      { addresses: [address], conditions: { ready }, ...(hostname !== undefined && { hostname }) }
    ));
    const ports = servedPorts(slice, settings.ports);
    if (ports.length === 0 && settings.ports.length > 0) return [];
    const metadata =
      { namespace, name: joinName([{ constant: 'imported' }, name, clusterID, slice.key], MAX_LABEL_LENGTH), labels };
    return [{
      apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, addressType: slice.addressType, ports,
      endpoints,
    }];
  });
}

/** Endpoint ports match Service ports by name. */
function servedPorts({ ports }: ExportedSlice, served: readonly ServicePort[]): ExportedSlice['ports'] {
  return ports.filter(({ name = '' }) => served.some((one) => (one.name ?? '') === name));
}

/** Whether service discovery created an object; others are never changed or deleted. */
export function isImported(object: KubernetesObject): boolean {
  return object.metadata.labels?.[MANAGED_BY_LABEL] === SERVICE_DISCOVERY_MANAGER;
}
