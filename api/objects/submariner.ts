// What Isthmus reads of an existing Submariner (`submariner.io/v1`, pkg/apis/submariner.io/v1/types.go). It is
// never written. Fields that Go leaves empty may be missing or null.
import type { KubernetesObject } from './core.ts';
import type { ResourceType } from './group-version.ts';

type Texts = readonly string[] | null;

/** A cluster that Submariner connects. */
export interface SubmarinerCluster extends KubernetesObject {
  readonly spec?: {
    readonly cluster_id?: string;
    readonly cluster_cidr?: Texts;
    readonly service_cidr?: Texts;
    /** With Globalnet: where its exported Services are seen by others; its pods then have no address there. */
    readonly global_cidr?: Texts;
  };
}

/** Where the gateway of a cluster is. */
export interface SubmarinerEndpointSpec {
  readonly cluster_id?: string;
  readonly private_ip?: string;
  readonly public_ip?: string;
  /** `udp-port` is where its cable driver listens. */
  readonly backend_config?: Readonly<Record<string, string>> | null;
}

/** The Endpoint of a cluster. */
export interface SubmarinerEndpoint extends KubernetesObject {
  readonly spec?: SubmarinerEndpointSpec;
}

/** A cable as a gateway of Submariner says it is. */
export interface SubmarinerConnection {
  readonly status?: string;
  readonly statusMessage?: string;
  readonly endpoint?: SubmarinerEndpointSpec;
  readonly usingIP?: string;
  readonly usingNAT?: boolean;
  readonly latencyRTT?: Readonly<Partial<Record<'last' | 'min' | 'average' | 'max' | 'stdDev', string>>> | null;
}

/** A gateway process of Submariner in this cluster. */
export interface SubmarinerGateway extends KubernetesObject {
  readonly status?: {
    readonly haStatus?: string;
    readonly localEndpoint?: SubmarinerEndpointSpec;
    readonly statusFailure?: string;
    readonly connections?: readonly SubmarinerConnection[] | null;
  };
}

/** API group of Submariner. */
const SUBMARINER_GROUP = 'submariner.io';
/** Annotation on Submariner's Gateways: seconds since the epoch when it last changed. */
export const SUBMARINER_TIMESTAMP_ANNOTATION = 'update-timestamp';

function submariner<T extends KubernetesObject>(plural: string, kind: string): ResourceType<T> {
  return { group: SUBMARINER_GROUP, version: 'v1', plural, kind, namespaced: true };
}

export const SUBMARINER_CLUSTERS = submariner<SubmarinerCluster>('clusters', 'Cluster');
export const SUBMARINER_ENDPOINTS = submariner<SubmarinerEndpoint>('endpoints', 'Endpoint');
export const SUBMARINER_GATEWAYS = submariner<SubmarinerGateway>('gateways', 'Gateway');
