// Reads an existing Submariner as a pod plane: clusters, their CIDRs, its gateway connections (ADR 0040). Its objects
// are untrusted: a missing, malformed or oversized one affects only itself.
import {
  SUBMARINER_BACKEND, type ClustersetMember, type ClustersetEndpoint, type RoundTripStatistics,
} from '../../api/kinds/gateway.ts';
import { BROKER_COPY_LABEL, FROM_SUBMARINER_LABEL, OWN_ENDPOINT_LABEL, TRUE } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTERSET_MEMBERS, CLUSTERSET_ENDPOINTS } from '../../api/resource-types.ts';
import {
  SUBMARINER_TIMESTAMP_ANNOTATION, type SubmarinerCluster, type SubmarinerConnection, type SubmarinerEndpoint,
  type SubmarinerEndpointSpec, type SubmarinerGateway,
} from '../../api/objects/submariner.ts';
import { endpointObjectName, isClusterId } from '../../model/network/gateway-names.ts';
import { deletion, type Command, type Plan } from '../../model/objects/plan.ts';
import { shapeProblem, type Shape } from '../../model/objects/schema-check.ts';
import type { CableConnection } from '../protocol/cable-driver.ts';

/** Inputs read from Submariner. */
export interface SubmarinerObjects {
  readonly clusters: readonly SubmarinerCluster[];
  readonly endpoints: readonly SubmarinerEndpoint[];
  readonly gateways: readonly SubmarinerGateway[];
}

/** Submariner as a pod plane. */
export interface SubmarinerFacts {
  /**
   * Submariner's ID of this cluster; undefined before one of its gateways has reported it, and when it must not be
   * used.
   */
  readonly clusterId: string | undefined;
  /** Clusters whose pods are reached under their own addresses, including this one. */
  readonly members: readonly {
    readonly cluster: ClustersetMember['spec']; readonly endpoint: ClustersetEndpoint['spec'],
  }[];
  readonly connections: readonly CableConnection[];
  /** What is wrong, in words. */
  readonly failure: string | undefined;
}

/** Field manager of the mirrored objects. */
const SUBMARINER_MANAGER = 'isthmus-submariner';

const DEFAULT_UDP_PORT = '4500';
const LONGEST_MESSAGE = 2_000;
const TEXT: Shape = { type: 'string' };
const TEXTS: Shape = { type: 'array', items: TEXT };
const ENDPOINT_SPEC: Shape = {
  type: 'object',
  properties: {
    cluster_id: TEXT, private_ip: TEXT, public_ip: TEXT, backend_config: { type: 'object', additionalProperties: TEXT },
  },
};
const CLUSTER: Shape = {
  type: 'object',
  properties: {
    spec: {
      type: 'object', properties: { cluster_id: TEXT, cluster_cidr: TEXTS, service_cidr: TEXTS, global_cidr: TEXTS },
    },
  },
};
const ENDPOINT: Shape = { type: 'object', properties: { spec: ENDPOINT_SPEC } };
const CONNECTION: Shape = {
  type: 'object',
  properties: {
    status: TEXT, statusMessage: TEXT, usingIP: TEXT, usingNAT: { type: 'boolean' }, endpoint: ENDPOINT_SPEC,
    latencyRTT: { type: 'object' },
  },
};
const GATEWAY: Shape = {
  type: 'object',
  properties: {
    status: {
      type: 'object',
      properties: { haStatus: TEXT, statusFailure: TEXT, localEndpoint: ENDPOINT_SPEC, connections: { type: 'array' } },
    },
  },
};
const ROUND_TRIPS = ['last', 'min', 'average', 'max', 'stdDev'] as const;

/** Reads it. `expectedId` is the ID of this cluster in our own clusterset, if it is in one. */
export function readSubmariner(objects: SubmarinerObjects, expectedId: string | undefined): SubmarinerFacts {
  const [clusters, endpoints, gateways] =
    [having(CLUSTER, objects.clusters), having(ENDPOINT, objects.endpoints), having(GATEWAY, objects.gateways)];
  const active = newestActive(gateways);
  const clusterId = [active, ...gateways].flatMap((gateway) => idOf(gateway?.status?.localEndpoint) ?? [])[0];
  const nothing = (failure: string): SubmarinerFacts =>
    ({ clusterId: undefined, members: [], connections: [], failure });
  if (clusterId === undefined) {
    return nothing('no gateway of Submariner has reported the ID of this cluster; see "subctl show gateways"');
  }
  if (expectedId !== undefined && expectedId !== clusterId) return nothing(
    `Submariner calls this cluster "${clusterId}", the clusterset calls it "${expectedId}": let it leave and join as ` +
      `"${clusterId}"`,
  );
  const specs =
    new Map(clusters.flatMap(({ spec }) => (spec?.cluster_id === undefined ? [] : [[spec.cluster_id, spec] as const])));
  const reported = new Map(endpoints.flatMap(
    ({ spec }) => (idOf(spec) === undefined || spec === undefined ? [] : [[idOf(spec) ?? '', spec] as const]),
  ));
  const members = [...reported].flatMap(([clusterID, endpoint]) => {
    const spec = specs.get(clusterID);
    if (spec === undefined || (spec.global_cidr ?? []).length > 0) return [];
    const cluster = { clusterID, clusterCIDR: spec.cluster_cidr ?? [], serviceCIDR: spec.service_cidr ?? [] };
    return [{ cluster, endpoint: { clusterID, backend: SUBMARINER_BACKEND, addresses: addressesOf(endpoint) } }];
  });
  const reached = new Set(members.map(({ cluster }) => cluster.clusterID));
  const connections = having(CONNECTION, active?.status?.connections ?? []).flatMap((one) => toConnection(one))
    .filter((one) => reached.has(one.clusterId));
  const failure = active === undefined
    ? 'no gateway of Submariner is active; see "subctl show gateways"'
    : active.status?.statusFailure;
  return {
    clusterId, members: members.toSorted((one, other) => (one.cluster.clusterID < other.cluster.clusterID ? -1 : 1)),
    connections, failure: failure === '' ? undefined : failure?.slice(0, LONGEST_MESSAGE),
  };
}

/** Those with a valid shape. */
function having<T>(shape: Shape, objects: readonly T[]): readonly T[] {
  return objects.filter((object) => shapeProblem(object, shape) === undefined);
}

/** Writes that mirror Submariner. Clusters that others manage stay unchanged. */
export function planSubmariner(namespace: string, { clusterId, members }: SubmarinerFacts, existing: {
  readonly clusters: readonly ClustersetMember[]; readonly endpoints: readonly ClustersetEndpoint[]
}): Plan {
  const labels = { [FROM_SUBMARINER_LABEL]: TRUE };
  const endpoints = members.map(({ endpoint }): ClustersetEndpoint => ({
    metadata: {
      namespace, name: endpointObjectName(endpoint.clusterID, SUBMARINER_BACKEND),
      labels: { ...labels, ...(endpoint.clusterID === clusterId && { [OWN_ENDPOINT_LABEL]: TRUE }) },
    }, spec: endpoint,
  }));
  const kept = new Set(existing.clusters.filter((one) => !isOurs(one)).map(({ spec }) => spec.clusterID));
  const clusters = members.filter(({ cluster }) => !kept.has(cluster.clusterID))
    .map(
      ({ cluster }): ClustersetMember => ({ metadata: { namespace, name: cluster.clusterID, labels }, spec: cluster }),
    );
  return [
    ...planKind(CLUSTERSET_MEMBERS, clusters, existing.clusters),
    ...planKind(CLUSTERSET_ENDPOINTS, endpoints, existing.endpoints),
  ];
}

function planKind<T extends ClustersetMember | ClustersetEndpoint>(
  type: ResourceType<T>, wanted: readonly T[], existing: readonly T[],
): readonly Command[] {
  const before = new Map(existing.filter(isOurs).map((one) => [one.metadata.name, one]));
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  return [
    ...wanted.filter((one) => !says(before.get(one.metadata.name), one))
      .map((object): Command => ({ kind: 'apply', type, object, fieldManager: SUBMARINER_MANAGER })),
    ...[...before.values()].filter(({ metadata }) => !names.has(metadata.name))
      .map(({ metadata }) => deletion(type, metadata)),
  ];
}

function says(
  before: ClustersetMember | ClustersetEndpoint | undefined, {
    metadata: { labels = {} }, spec,
  }: ClustersetMember | ClustersetEndpoint,
): boolean {
  if (before === undefined) return false;
  const there: Readonly<Record<string, unknown>> = { ...before.spec };
  const hasLabels =
    [OWN_ENDPOINT_LABEL, FROM_SUBMARINER_LABEL].every((key) => before.metadata.labels?.[key] === labels[key]);
  return hasLabels && Object.entries(spec)
    .every(([key, value]) => JSON.stringify(there[key]) === JSON.stringify(value));
}

/** What the broker manages as well is left to the broker. */
function isOurs({ metadata: { labels = {} } }: ClustersetMember | ClustersetEndpoint): boolean {
  return labels[FROM_SUBMARINER_LABEL] === TRUE && labels[BROKER_COPY_LABEL] === undefined;
}

function newestActive(gateways: readonly SubmarinerGateway[]): SubmarinerGateway | undefined {
  const changed = ({ metadata }: SubmarinerGateway) =>
    Number(metadata.annotations?.[SUBMARINER_TIMESTAMP_ANNOTATION]) || 0;
  return gateways.filter(({ status }) => status?.haStatus === 'active')
    .toSorted((one, other) => changed(other) - changed(one))[0];
}

function idOf(endpoint: SubmarinerEndpointSpec | undefined): string | undefined {
  const id = endpoint?.cluster_id;
  return id !== undefined && isClusterId(id) ? id : undefined;
}

function addressesOf(
  { private_ip: inside, public_ip: outside, backend_config: config }: SubmarinerEndpointSpec,
): readonly string[] {
  const port = config?.['udp-port'] ?? DEFAULT_UDP_PORT;
  const hosts = [...new Set([inside, outside])].flatMap((host) => (host === undefined || host === '' ? [] : [host]));
  return hosts.map((host) => `${host.includes(':') ? `[${host}]` : host}:${port}`);
}

function toConnection(
  { status, statusMessage = '', endpoint, usingIP, usingNAT = false, latencyRTT }: SubmarinerConnection,
): readonly CableConnection[] {
  const clusterId = idOf(endpoint);
  if (clusterId === undefined) return [];
  const roundTrips = isComplete(latencyRTT) ? latencyRTT : undefined;
  return [{
    clusterId, status: status === 'connected' || status === 'error' ? status : 'connecting',
    statusMessage: statusMessage.slice(0, LONGEST_MESSAGE), usingNAT, rxBytes: 0, txBytes: 0,
    ...(usingIP !== undefined && usingIP !== '' && { usingIP }),
    ...(roundTrips !== undefined && { latencyRTT: roundTrips }),
  }];
}

function isComplete(found: SubmarinerConnection['latencyRTT']): found is RoundTripStatistics {
  return ROUND_TRIPS.every((name) => typeof found?.[name] === 'string');
}
