// Builds the published form of a ServiceExport: the Service of the same name and its endpoints. An invalid export gets
// a reason of the MCS API (`multicluster.x-k8s.io/v1beta1`, condition Valid).
import type { Service, ServicePort } from '../../api/objects/core.ts';
import {
  MAX_EXPORTED_ENDPOINTS, MCS_SERVICE_NAME_LABEL, OWN_EXPORT_LABEL, type ExportedService, type ExportedSlice, type
  ServiceExport, type ServiceSettings,
} from '../../api/kinds/service-discovery.ts';
import type { EndpointPort, EndpointSlice } from '../../api/objects/endpoint-slice.ts';
import { exportedServiceName, MAX_EXPORTED_PORTS } from '../../model/network/gateway-names.ts';

/** Inputs for one export. */
export interface ExportFacts {
  readonly clusterId: string;
  /** Namespace of ExportedServices. */
  readonly installNamespace: string;
  readonly serviceExport: ServiceExport;
  readonly service: Service | undefined;
  /** All EndpointSlices with the Service's name. */
  readonly slices: readonly EndpointSlice[];
}

/** How many are beyond {@link MAX_EXPORTED_ENDPOINTS} and {@link MAX_EXPORTED_PORTS}. */
export interface LeftOut {
  readonly endpoints: number;
  readonly ports: number;
}

/** What to publish, or why not. */
export type Export =
  | { readonly kind: 'exported'; readonly object: ExportedService; readonly leftOut: LeftOut }
  | { readonly kind: 'invalid'; readonly reason: 'NoService' | 'InvalidServiceType'; readonly message: string };

/** Builds the export. */
export function toExport({ clusterId, installNamespace, serviceExport, service, slices }: ExportFacts): Export {
  const { namespace = '', name = '', creationTimestamp = '' } = serviceExport.metadata;
  if (service === undefined) return {
    kind: 'invalid', reason: 'NoService',
    message: `there is no Service ${namespace}/${name}; create it, or delete this export`,
  };
  if (service.spec?.type === 'ExternalName') return {
    kind: 'invalid', reason: 'InvalidServiceType',
    message: 'a Service of type ExternalName cannot be exported; use type ClusterIP',
  };
  const settings = settingsOf(service);
  const { slices: exported, leftOut } = toExportedSlices(slices, settings, service);
  const { exportedLabels, exportedAnnotations } = serviceExport.spec ?? {};
  const object: ExportedService = {
    apiVersion: 'isthmus.dev/v1alpha1', kind: 'ExportedService',
    metadata: {
      namespace: installNamespace, name: exportedServiceName(clusterId, namespace, name),
      labels: { [OWN_EXPORT_LABEL]: 'true' },
    },
    spec: {
      clusterID: clusterId, namespace, name, exportedAt: creationTimestamp, ...settings,
      ...(exportedLabels !== undefined && { labels: exportedLabels }),
      ...(exportedAnnotations !== undefined && { annotations: exportedAnnotations }),
      slices: exported,
    },
  };
  const ports = portsOf(service).length - settings.ports.length;
  return { kind: 'exported', object, leftOut: { endpoints: leftOut, ports } };
}

function portsOf({ spec }: Service): readonly ServicePort[] {
  return spec?.ports ?? [];
}

function settingsOf(service: Service): ServiceSettings {
  const {
    clusterIP, sessionAffinity = 'None', sessionAffinityConfig, internalTrafficPolicy, trafficDistribution,
  } = service.spec ?? {};
  return {
    type: clusterIP === 'None' ? 'Headless' : 'ClusterSetIP',
    ports: portsOf(service).slice(0, MAX_EXPORTED_PORTS).map(({ name, protocol = 'TCP', appProtocol, port }) => (
      { ...(name !== undefined && { name }), protocol, ...(appProtocol !== undefined && { appProtocol }), port }
    )),
    sessionAffinity,
    ...(sessionAffinityConfig !== undefined && sessionAffinityConfig !== null && { sessionAffinityConfig }),
    ...(internalTrafficPolicy !== undefined && { internalTrafficPolicy }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
  };
}

/**
 * Only the Service's own slices: imported ones are published by their owners. Sorted by name, so that equal states give
 * equal objects.
 */
function toExportedSlices(slices: readonly EndpointSlice[], { ports }: ServiceSettings, { spec }: Service): {
  readonly slices: readonly ExportedSlice[]; readonly leftOut: number
} {
  const names = new Set(ports.map(({ name = '' }) => name));
  const isPublished = ({ name }: EndpointPort) => names.size < MAX_EXPORTED_PORTS || names.has(name ?? '');
  const own = slices.filter(
    ({ metadata, addressType }) => metadata.labels?.[MCS_SERVICE_NAME_LABEL] === undefined && addressType !== 'FQDN',
  );
  let room = MAX_EXPORTED_ENDPOINTS;
  let leftOut = 0;
  const exported: ExportedSlice[] = [];
  for (const slice of own.toSorted(byName)) {
    const all = endpointsOf(slice, spec?.publishNotReadyAddresses === true);
    const endpoints = all.slice(0, room);
    room -= endpoints.length;
    leftOut += all.length - endpoints.length;
    if (endpoints.length > 0) {
      const published = (slice.ports ?? []).filter(isPublished).slice(0, MAX_EXPORTED_PORTS).map(toPort);
      const { addressType, metadata: { name = '' } } = slice;
      exported.push({ name, addressType, ports: published, endpoints });
    }
  }
  return { slices: exported, leftOut };
}

/** Consumers only use the first address of an endpoint (`discovery.k8s.io/v1` Endpoint.addresses). */
function endpointsOf({ endpoints }: EndpointSlice, publishNotReady: boolean): ExportedSlice['endpoints'] {
  return (endpoints ?? []).flatMap(({ addresses: [address], hostname, conditions }) => {
    const ready = publishNotReady || conditions?.ready !== false;
    const { serving = ready, terminating = false } = conditions ?? {};
    return address === undefined ? [] : [{
      address, ...(hostname !== undefined && hostname !== null && { hostname }), ready,
      ...(serving !== ready && { serving }), ...(terminating && { terminating }),
    }];
  });
}

function toPort({ name, protocol, port, appProtocol }: EndpointPort): EndpointPort {
  return {
    ...(name !== undefined && { name }), ...(protocol !== undefined && { protocol }),
    ...(typeof port === 'number' && { port }), ...(typeof appProtocol === 'string' && { appProtocol }),
  };
}

function byName(one: EndpointSlice, other: EndpointSlice): number {
  return (one.metadata.name ?? '') < (other.metadata.name ?? '') ? -1 : 1;
}
