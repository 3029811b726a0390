// Kinds of the gateway: a ClustersetMember and a ClustersetEndpoint for each member of a clusterset, stored at the
// broker and copied by
// each member into its install namespace; a ClustersetGateway for each gateway process of a cluster. States and fields
// are named
// as Submariner's (`submariner.io/v1`).
import type { KubernetesObject } from '../objects/core.ts';
import { ISTHMUS_GROUP } from '../objects/group-version.ts';
import { flag, listOf, objectOf, recordOf, text, time, type KindDefinition, type Schema } from '../objects/schema.ts';

/** Backend of our own pod plane in ClustersetEndpoint and ClustersetGateway objects. */
export const POD_PLANE_BACKEND = 'wireguard';
/** Backend of objects that mirror an existing Submariner. */
export const SUBMARINER_BACKEND = 'submariner';
/** Backends that connect pods; if two connect to one member the first is used. */
export const POD_PLANE_BACKENDS = [POD_PLANE_BACKEND, SUBMARINER_BACKEND] as const;

/**
 * Annotation on the ClustersetEndpoint of this cluster's pod plane, set by the gateway, read by the pod plane: the
 * public keys that the broker tells the other members.
 */
export const ANNOUNCED_KEYS_ANNOTATION = 'isthmus.dev/announced-keys';

/** A member of the clusterset. */
export interface ClustersetMember extends KubernetesObject {
  readonly spec: {
    readonly clusterID: string;
    /** Pod ranges, to detect overlaps before there is traffic. */
    readonly clusterCIDR?: readonly string[];
    readonly serviceCIDR?: readonly string[];
    /**
     * For each IPv4 pod range one of the same length that no other member has, allocated by the broker; used where pod
     * ranges overlap.
     */
    readonly globalCIDR?: readonly string[];
    /** When it joined by the broker's clock, RFC 3339: no export of it counts as older. */
    readonly joinedAt?: string;
    /** Serial numbers (upper-case hexadecimal) of revoked certificates of this member. */
    readonly revokedSerials?: readonly string[];
  };
}

/** Addresses of a member's gateways. */
export interface ClustersetEndpoint extends KubernetesObject {
  readonly spec: {
    readonly clusterID: string;
    /** Cable driver: `mtls`, `wireguard` or `submariner`. */
    readonly backend: string;
    /** With `wireguard`: base64, newest first. */
    readonly publicKeys?: readonly string[];
    /** `host:port` in dialling order; empty for a member that can only dial out. */
    readonly addresses?: readonly string[];
  };
}

/** Round trips as Go duration strings, as in Submariner's Gateway status. */
export interface RoundTripStatistics {
  readonly last: string;
  readonly min: string;
  readonly average: string;
  readonly max: string;
  readonly stdDev: string;
}

/** A gateway connection in the status of a ClustersetGateway. */
export interface GatewayConnection {
  readonly status: 'connecting' | 'connected' | 'error';
  readonly statusMessage: string;
  readonly endpoint: { readonly clusterID: string; readonly backend: string };
  readonly usingIP?: string;
  readonly usingNAT: boolean;
  readonly latencyRTT?: RoundTripStatistics;
}

/** Status of a gateway process. */
export interface GatewayStatus {
  readonly haStatus: 'active' | 'passive';
  readonly version: string;
  readonly clusterID: string;
  /** Cable driver of this process: `mtls`, `wireguard` or `submariner`. */
  readonly backend?: string;
  /** Time of the last write, RFC 3339; an old one belongs to a process that is gone. */
  readonly heartbeat: string;
  /** Expiry of its certificate, RFC 3339. */
  readonly certificateExpires?: string;
  readonly statusFailure?: string;
  /** Where the other gateways of this cluster reach its CONNECT endpoint, `host:port`, while it is active. */
  readonly connectAddress?: string;
  /** Address where pods of this cluster reach its listeners for imports; missing if there is none. */
  readonly importAddress?: string;
  readonly connections: readonly GatewayConnection[];
}

/** A gateway process, named after its host. */
export interface ClustersetGateway extends KubernetesObject {
  readonly status?: GatewayStatus;
}

const CLUSTER_ID: Schema = text('ID of the member in the clusterset.', {
  minLength: 1, maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
});

function texts(description: string, maxItems: number): Schema {
  return listOf(description, { type: 'string', maxLength: 300 }, { maxItems });
}

/** CRD of ClustersetMember. */
export const CLUSTERSET_MEMBER_KIND: KindDefinition = {
  group: ISTHMUS_GROUP, kind: 'ClustersetMember', plural: 'clustersetmembers',
  shortName: 'icl', scope: 'Namespaced', description: 'A member of the clusterset.', required: ['spec'],
  columns: [{ name: 'Cluster ID', type: 'string', jsonPath: '.spec.clusterID' }],
  properties: {
    spec: objectOf('The member.', {
      clusterID: CLUSTER_ID,
      clusterCIDR: texts('Ranges of pods.', 16),
      serviceCIDR: texts('Ranges of Services.', 16),
      globalCIDR:
        texts('Ranges that no other member has, one for each IPv4 pod range; used if pod ranges overlap.', 16),
      joinedAt: time('When it joined: no export of it counts as older.'),
      revokedSerials: texts('Serial numbers of revoked certificates.', 1_000),
    }, ['clusterID']),
  },
};

/** CRD of ClustersetEndpoint. */
export const CLUSTERSET_ENDPOINT_KIND: KindDefinition = {
  group: ISTHMUS_GROUP, kind: 'ClustersetEndpoint', plural: 'clustersetendpoints',
  shortName: 'iep', scope: 'Namespaced', description: 'The gateway endpoints of a member.', required: ['spec'],
  columns: [
    { name: 'Cluster ID', type: 'string', jsonPath: '.spec.clusterID' },
    { name: 'Backend', type: 'string', jsonPath: '.spec.backend' },
    { name: 'Addresses', type: 'string', jsonPath: '.spec.addresses' },
  ],
  properties: {
    spec: objectOf('Where the gateways are.', {
      clusterID: CLUSTER_ID,
      backend: text('Backend of its connections: mtls, wireguard or submariner.', { maxLength: 63 }),
      addresses:
        texts('host:port in the order in which they are tried; empty for a member that can only dial out.', 16),
      publicKeys: texts('Keys of WireGuard, the newest first.', 2),
    }, ['clusterID', 'backend']),
  },
};

const ROUND_TRIPS: Schema = objectOf(
  'Round trips as Go duration strings.',
  Object.fromEntries(['last', 'min', 'average', 'max', 'stdDev'].map(
    (name) => [name, { type: 'string', description: `Round trip, ${name}.` } satisfies Schema],
  )),
);

const CONNECTION: Schema = recordOf({
  status: text('State of the gateway connection.', { enum: ['connecting', 'connected', 'error'] }),
  statusMessage: text('Human-readable state, with what to change.', { maxLength: 2_000 }),
  endpoint: objectOf('The peer.', { clusterID: text('ID of the peer.'), backend: text('Backend of the connection.') }),
  usingIP: text('Address of the peer that is in use.'),
  usingNAT: flag('Whether the peer has an address that it did not announce.'),
  latencyRTT: ROUND_TRIPS,
}, ['status', 'statusMessage', 'endpoint']);

/** CRD of ClustersetGateway. */
export const CLUSTERSET_GATEWAY_KIND: KindDefinition = {
  group: ISTHMUS_GROUP, kind: 'ClustersetGateway',
  plural: 'clustersetgateways', shortName: 'igw', scope: 'Namespaced',
  description: 'A gateway process and its connections.',
  columns: [
    { name: 'HA Status', type: 'string', jsonPath: '.status.haStatus' },
    { name: 'Cluster ID', type: 'string', jsonPath: '.status.clusterID' },
    { name: 'Connections', type: 'string', jsonPath: '.status.connections[*].status' },
  ],
  properties: {
    status: objectOf('State of the process.', {
      haStatus: text('Whether it is active or a standby.', { enum: ['active', 'passive'] }),
      version: text('Version of Isthmus.'),
      clusterID: text('ID of this cluster in the clusterset.'),
      backend: text('Backend of its connections: mtls, wireguard or submariner.'),
      heartbeat: time('When this was last written.'),
      certificateExpires: time('When its certificate expires.'),
      statusFailure: text('Error of the gateway itself.'),
      connectAddress: text('Where the other gateways reach its CONNECT endpoint, host:port.', { maxLength: 53 }),
      importAddress: text('Address of its listeners for imported Services.', { maxLength: 45 }),
      connections: listOf('A gateway connection for each peer.', CONNECTION, { maxItems: 1_000 }),
    }),
  },
};
