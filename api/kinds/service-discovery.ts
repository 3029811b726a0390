// The parts of the Multi-Cluster Services API (KEP-1645, `multicluster.x-k8s.io`) that Isthmus uses, and our own
// ExportedService, which describes one cluster's export to the others. Service discovery writes it; gateways and broker
// transport it.
import type { Condition, KubernetesObject, ServicePort, StringMap } from '../objects/core.ts';
import type { EndpointPort } from '../objects/endpoint-slice.ts';
import { ISTHMUS_GROUP, type ResourceType } from '../objects/group-version.ts';
import {
  conditionColumn, CONDITIONS, flag, int32, int64, listOf, objectOf, recordOf, text, time, type KindDefinition,
  type Schema,
} from '../objects/schema.ts';

/** API group of the Multi-Cluster Services API. */
export const MCS_GROUP = 'multicluster.x-k8s.io';
/** Both versions have the same fields; `v1beta1` is the stored one, and the one that we write. */
const MCS_VERSIONS = ['v1alpha1', 'v1beta1'] as const;

/**
 * Label on imported EndpointSlices and on the Service of an import, written by us, read by users of the API: name of
 * the ServiceImport.
 */
export const MCS_SERVICE_NAME_LABEL = 'multicluster.kubernetes.io/service-name';
/** Label on imported EndpointSlices, written by us: ID of the cluster that the endpoints are in. */
export const MCS_SOURCE_CLUSTER_LABEL = 'multicluster.kubernetes.io/source-cluster';
/** Label on EndpointSlices, read by kube-proxy: the Service that they belong to. */
export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';
/** Label on EndpointSlices, set by their controllers: the controller that manages them. */
export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
/** Value of {@link MANAGED_BY_LABEL} on what service discovery writes; also the field manager of its writes. */
export const SERVICE_DISCOVERY_MANAGER = 'isthmus-service-discovery';
/** Label on ExportedServices: `true` on exports of this cluster; those without it are copies from other clusters. */
export const OWN_EXPORT_LABEL = 'isthmus.dev/own-export';

/** `core/v1` SessionAffinityConfig. */
export interface SessionAffinityConfig {
  readonly clientIP?: { readonly timeoutSeconds?: number };
}

/** `multicluster.x-k8s.io` ServiceExport: exports the Service of the same name and namespace to all clusters. */
export interface ServiceExport extends KubernetesObject {
  readonly spec?: { readonly exportedLabels?: StringMap; readonly exportedAnnotations?: StringMap };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** How an import is reached: at one address, or at each of its endpoints. */
export type ImportType = 'ClusterSetIP' | 'Headless';

/** Families of addresses (`core/v1` IPFamily), in the order in which they are named. */
export const IP_FAMILIES = ['IPv4', 'IPv6'] as const;

/** One of {@link IP_FAMILIES}. */
export type IpFamily = (typeof IP_FAMILIES)[number];

/** Settings that all exports of a Service agree on, or that the oldest export decides. */
export interface ServiceSettings {
  readonly type: ImportType;
  readonly ports: readonly ServicePort[];
  readonly sessionAffinity?: string;
  readonly sessionAffinityConfig?: SessionAffinityConfig;
  readonly internalTrafficPolicy?: string;
  readonly trafficDistribution?: string;
}

/** `multicluster.x-k8s.io` ServiceImport. */
export interface ServiceImport extends KubernetesObject {
  readonly spec?: ServiceSettings & { readonly ips?: readonly string[]; readonly ipFamilies?: readonly IpFamily[] };
  readonly status?: {
    readonly clusters?: readonly { readonly cluster: string }[]; readonly conditions?: readonly Condition[]
  };
}

/** Endpoints of an export that have the same ports. */
export interface ExportedSlice {
  /** Of its EndpointSlice. */
  readonly name?: string;
  readonly addressType: string;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly ExportedEndpoint[];
}

/** An endpoint with the conditions of its EndpointSlice, as far as `ready` does not say them. */
export interface ExportedEndpoint {
  readonly address: string;
  readonly hostname?: string;
  readonly ready: boolean;
  /** Where it differs from `ready`. */
  readonly serving?: boolean;
  readonly terminating?: boolean;
}

/** Maximum number of published endpoints of one export, so that an object fits into etcd. */
export const MAX_EXPORTED_ENDPOINTS = 1_000;

/**
 * One cluster's export as the other clusters see it. Its name is `CLUSTER.NAMESPACE.SERVICE`. Addresses are those of
 * its own cluster.
 */
export interface ExportedService extends KubernetesObject {
  readonly spec: ServiceSettings & {
    readonly clusterID: string;
    readonly namespace: string;
    readonly name: string;
    /** Start of the export, RFC 3339: the oldest decides conflicts. */
    readonly exportedAt: string;
    readonly labels?: StringMap;
    readonly annotations?: StringMap;
    readonly slices: readonly ExportedSlice[];
  };
  readonly status?: {
    /** On own exports, set by the gateway: the generation that the broker has. */
    readonly sharedGeneration?: number;
    /** On own exports, set by the gateway: why the broker refuses it. */
    readonly refusal?: string;
    /** On copies, set by the gateway that listens for them here. A port keeps its number while the copy exists. */
    readonly listeners?: readonly ImportListener[];
  };
}

/** Where the gateway of an importing cluster listens for one port of a Service of another cluster. */
export interface ImportListener {
  /** Port of the Service. */
  readonly port: number;
  /** Port at the gateway's `status.importAddress`. */
  readonly listenerPort: number;
}

function mcs<T extends KubernetesObject>(plural: string, kind: string): ResourceType<T> {
  return { group: MCS_GROUP, version: 'v1beta1', plural, kind, namespaced: true };
}

export const SERVICE_EXPORTS = mcs<ServiceExport>('serviceexports', 'ServiceExport');
export const SERVICE_IMPORTS = mcs<ServiceImport>('serviceimports', 'ServiceImport');
export const EXPORTED_SERVICES: ResourceType<ExportedService> =
  { group: ISTHMUS_GROUP, version: 'v1alpha1', plural: 'exportedservices', kind: 'ExportedService', namespaced: true };

// --- schemas

const TEXT_MAP = (description: string): Schema =>
  ({ type: 'object', description, additionalProperties: { type: 'string' } });

const PORT: Schema = recordOf({
  name: text('Name of the port within the Service.'),
  protocol: text('TCP, UDP or SCTP; TCP when missing.'),
  appProtocol: text('Application protocol of the port.'),
  port: int32('Number of the port.', { minimum: 1, maximum: 65_535 }),
}, ['port']);

const SETTINGS: Readonly<Record<string, Schema>> = {
  type: text('ClusterSetIP or Headless.', { enum: ['ClusterSetIP', 'Headless'] }),
  ports: listOf('Ports of the Service.', PORT),
  sessionAffinity: text('ClientIP or None.'),
  sessionAffinityConfig: objectOf('How long a client stays with its endpoint.', {
    clientIP: objectOf('For ClientIP.', { timeoutSeconds: int32('Seconds.') }),
  }),
  internalTrafficPolicy: text('Cluster or Local.'),
  trafficDistribution: text('Which endpoints are preferred.'),
};

/** CRD of ServiceExport. */
export const SERVICE_EXPORT_KIND: KindDefinition = {
  group: MCS_GROUP,
  versions: MCS_VERSIONS, kind: 'ServiceExport', plural: 'serviceexports', shortName: 'svcex', scope: 'Namespaced',
  description: 'Exports the Service of the same name and namespace to all clusters of the clusterset.',
  columns:
    [conditionColumn('Valid', 'Valid'), conditionColumn('Ready', 'Ready'), conditionColumn('Conflict', 'Conflict')],
  properties: {
    spec: objectOf('Labels and annotations to export.', {
      exportedLabels: TEXT_MAP('Labels of the import.'),
      exportedAnnotations: TEXT_MAP('Annotations of the import.'),
    }),
    status: objectOf('State of the export.', { conditions: CONDITIONS }),
  },
};

/** CRD of ServiceImport. */
export const SERVICE_IMPORT_KIND: KindDefinition = {
  group: MCS_GROUP,
  versions: MCS_VERSIONS, kind: 'ServiceImport', plural: 'serviceimports', shortName: 'svcim', scope: 'Namespaced',
  description: 'A Service that clusters of the clusterset export.',
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' }, { name: 'IP', type: 'string', jsonPath: '.spec.ips' },
    { name: 'Clusters', type: 'string', jsonPath: '.status.clusters[*].cluster' },
  ],
  properties: {
    spec: objectOf('How the Service is reached.', {
      ...SETTINGS,
      ips: listOf('Addresses of the Service in this cluster.', { type: 'string' }, { maxItems: 2 }),
      ipFamilies: listOf('Families of the addresses.', { type: 'string' }, { maxItems: 2 }),
    }, ['ports', 'type']),
    status: objectOf('The exporting clusters.', {
      clusters: listOf('The exporting clusters.', recordOf({
        cluster: text('ID of the cluster.'),
      }, ['cluster']), { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['cluster'] }),
      conditions: CONDITIONS,
    }),
  },
};

const SLICE: Schema = recordOf({
  name: text('Name of its EndpointSlice.', { maxLength: 253 }),
  addressType: text('IPv4 or IPv6.'),
  ports: listOf('Ports of the endpoints.', recordOf({ ...PORT.properties, port: int32('Number of the port.') })),
  endpoints: listOf('Endpoints with these ports.', recordOf({
    address: text('Address in its own cluster.'),
    hostname: text('Name of the endpoint within the Service.'),
    ready: flag('Whether it accepts connections.'),
    serving: flag('The same, also while it terminates; that of ready when missing.'),
    terminating: flag('Whether it terminates.'),
  }, ['address', 'ready'])),
}, ['addressType', 'ports', 'endpoints']);

/** CRD of ExportedService. */
export const EXPORTED_SERVICE_KIND: KindDefinition = {
  group: ISTHMUS_GROUP, kind: 'ExportedService', plural: 'exportedservices',
  shortName: 'iexs', scope: 'Namespaced', description: 'What a cluster publishes about an exported Service.',
  required: ['spec'],
  columns: [
    { name: 'Cluster', type: 'string', jsonPath: '.spec.clusterID' },
    { name: 'Of', type: 'string', jsonPath: '.spec.namespace' },
    { name: 'Service', type: 'string', jsonPath: '.spec.name' },
  ],
  properties: {
    spec: objectOf('The export.', {
      ...SETTINGS,
      clusterID: text('ID of the exporting cluster.', { maxLength: 63 }),
      namespace: text('Namespace of the Service.', { maxLength: 63 }),
      name: text('Name of the Service.', { maxLength: 63 }),
      exportedAt: time('When it was exported.'),
      labels: { ...TEXT_MAP('Exported labels.'), 'x-kubernetes-map-type': 'atomic' },
      annotations: { ...TEXT_MAP('Exported annotations.'), 'x-kubernetes-map-type': 'atomic' },
      slices: listOf('Its endpoints.', SLICE),
    }, ['clusterID', 'namespace', 'name', 'exportedAt', 'type', 'ports', 'slices']),
    status: objectOf('Result from the gateway.', {
      sharedGeneration: int64('The metadata.generation that the broker has.'),
      refusal: text('Why the broker refuses it.', { maxLength: 1_024 }),
      listeners: listOf('Where the gateway listens for ports of a Service of another cluster.', recordOf({
        port: int32('Port of the Service.'),
        listenerPort: int32("Port at the gateway's importAddress."),
      }, ['port', 'listenerPort'])),
    }),
  },
};
