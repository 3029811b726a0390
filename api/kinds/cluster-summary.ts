// ClusterSummary: what a target publishes about its capacity. One object, named `singleton`, of at most 100 kB for 5,000 nodes.
// `capacity` and `allocatable` are Admiralty's; all other fields are ours, so that a source knows holes, not sums.
// Whatever the size limit costs is marked in `reduced`: see docs/cluster-summary.md.
import type { KubernetesObject, ResourceList, StringMap, Taint } from '../objects/core.ts';
import { RESOURCE_LIST, TAINTS, type KindDefinition, type Schema } from '../objects/schema.ts';

/** Equal free room on `count` nodes of a group. */
export interface FreeNodeShape {
  readonly count: number;
  /** Resources of which as much is free as the group's shape has are left out. */
  readonly free: ResourceList;
  /** Digests (model/resources/node-digest.ts) of the nodes' names, joined. */
  readonly nodes?: string;
}

/** Nodes alike in labels and taints. Cordoned, NotReady and virtual nodes are not in any group. */
export interface NodeGroup {
  /** Labels that all nodes of the group share, beside `commonLabels` and `perNodeLabels`. */
  readonly labels?: StringMap;
  /**
   * Keys of labels that every node of the group has, with values that are not listed. Where `kubernetes.io/hostname` is among them,
   * its value is the node's name.
   */
  readonly perNodeLabels?: readonly string[];
  readonly taints?: readonly Taint[];
  /** Allocatable of the group's nodes, for each resource the largest. */
  readonly shape?: ResourceList;
  /** The free room of the group's nodes. */
  readonly holes: readonly FreeNodeShape[];
}

/** GPUs of one product, over all nodes. */
export interface GpuTotal {
  /** Value of the label by which the vendor's device plugin names the product; missing where the nodes have none. */
  readonly product?: string;
  /** Extended resource: `nvidia.com/gpu`, a MIG slice such as `nvidia.com/mig-1g.5gb`, `amd.com/gpu`. */
  readonly resource: string;
  readonly allocatable: number;
  readonly free: number;
  /** Most that is free on one node. */
  readonly largest: number;
}

/** What the size limit has cost; each field is missing where it has cost nothing. */
export interface ReducedDetail {
  /**
   * Free amounts are rounded down to one of so many steps between a power of two and the next, so by less than 1 ÷ steps of themselves,
   * but for nodes that no other node of the group surpasses in every resource. The number of pods is rounded four times as coarsely.
   */
  readonly steps?: number;
  /** Keys left out of `labels` to have fewer groups, beside those that name single nodes. They are listed in `perNodeLabels`. */
  readonly labels?: readonly string[];
  /** Digests of node names are left out. */
  readonly nodeNames?: true;
  /** So many nodes are in no hole. */
  readonly nodes?: number;
}

/** What a source may use of the cluster. */
export interface LentShare {
  /** UID of the source's kube-system Namespace, or `*` for each source that is not listed. */
  readonly source: string;
  /** Most that all of its delegates may have; what is not listed has no limit. */
  readonly limits: ResourceList;
  /** No new delegates are taken. */
  readonly cordoned?: true;
}

/** Capacity of a cluster. Sums are over the nodes that may take pods. */
export interface ClusterSummary extends KubernetesObject {
  readonly capacity?: ResourceList;
  readonly allocatable?: ResourceList;
  /** Allocatable less the requests of all pods that are bound and not terminal. */
  readonly free?: ResourceList;
  /** For each resource the most that is free on one node. */
  readonly largestFree?: ResourceList;
  readonly gpus?: readonly GpuTotal[];
  /** Labels that all nodes have with one value. */
  readonly commonLabels?: StringMap;
  readonly nodeGroups?: readonly NodeGroup[];
  readonly reduced?: ReducedDetail;
  /** What ResourceShares lend to sources; a source that is not listed may use all. */
  readonly shares?: readonly LentShare[];
  /** What the figures were computed from. */
  readonly observed?: {
    /** Up to which resourceVersion of pods they hold; versions of one cluster can be compared (KEP-5504). */
    readonly podsResourceVersion: string;
    /** When they were published, RFC 3339; renewed every minute even if nothing changed. */
    readonly time?: string;
  };
}

const LABELS: Schema = { type: 'object', description: 'Labels that all nodes of the group share, beside commonLabels and perNodeLabels.', additionalProperties: { type: 'string' } };

/** Quantities that are published as a whole. */
const AMOUNTS: Schema = { ...RESOURCE_LIST, 'x-kubernetes-map-type': 'atomic' };

const HOLES: Schema = {
  type: 'array',
  description: 'Free room by node; equal nodes are counted.',
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['count', 'free'],
    properties: {
      count: { type: 'integer', format: 'int32', description: 'How many nodes have this much room.' },
      free: { ...RESOURCE_LIST, description: 'Free room of each; a resource that is left out is as free as the shape has it.' },
      nodes: { type: 'string', description: "Digests of the nodes' names, four characters each." },
    },
  },
};

const NODE_GROUP: Schema = {
  type: 'object',
  required: ['holes'],
  properties: {
    labels: LABELS,
    perNodeLabels: {
      type: 'array',
      description: 'Keys of labels that every node of the group has with a value that is not listed.',
      'x-kubernetes-list-type': 'atomic',
      items: { type: 'string' },
    },
    taints: TAINTS,
    shape: { ...RESOURCE_LIST, description: "Allocatable of the group's nodes, for each resource the largest." },
    holes: HOLES,
  },
};

const GPUS: Schema = {
  type: 'array',
  description: 'GPUs and slices of them by product.',
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    required: ['resource', 'allocatable', 'free', 'largest'],
    properties: {
      product: { type: 'string', description: "Product, as the vendor's label on the nodes names it." },
      resource: { type: 'string', description: 'Extended resource.' },
      allocatable: { type: 'integer', format: 'int64', description: 'How many there are.' },
      free: { type: 'integer', format: 'int64', description: 'How many are free.' },
      largest: { type: 'integer', format: 'int64', description: 'Most that is free on one node.' },
    },
  },
};

const REDUCED: Schema = {
  type: 'object',
  description: 'What the size limit has cost in detail; missing when nothing.',
  properties: {
    steps: { type: 'integer', format: 'int32', description: 'Free amounts are rounded down to one of so many steps between a power of two and the next.' },
    labels: { type: 'array', description: 'Keys left out of labels to have fewer groups.', 'x-kubernetes-list-type': 'atomic', items: { type: 'string' } },
    nodeNames: { type: 'boolean', description: 'Digests of node names are left out.' },
    nodes: { type: 'integer', format: 'int32', description: 'How many nodes are in no hole.' },
  },
};

const SHARES: Schema = {
  type: 'array',
  description: 'What ResourceShares lend to sources.',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['source'],
  items: {
    type: 'object',
    required: ['source', 'limits'],
    properties: {
      source: { type: 'string', description: "UID of the source's kube-system Namespace, or * for each source that is not listed." },
      limits: { ...AMOUNTS, description: 'Most that all of its delegate pods may have.' },
      cordoned: { type: 'boolean', description: 'No new delegate pods are taken.' },
    },
  },
};

const OBSERVED: Schema = {
  type: 'object',
  description: 'What the figures were computed from.',
  required: ['podsResourceVersion'],
  properties: {
    podsResourceVersion: { type: 'string', description: 'resourceVersion of pods up to which the figures hold.' },
    time: { type: 'string', format: 'date-time', description: 'When the figures were published; renewed every minute.' },
  },
};

/** CRD of ClusterSummary. */
export const CLUSTER_SUMMARY_KIND: KindDefinition = {
  kind: 'ClusterSummary',
  plural: 'clustersummaries',
  shortName: 'mcsum',
  scope: 'Cluster',
  description: 'Capacity of this cluster, published for the sources that send pods here.',
  columns: [
    { name: 'CPU', type: 'string', jsonPath: '.allocatable.cpu' },
    { name: 'Free CPU', type: 'string', jsonPath: '.free.cpu' },
    { name: 'Free Mem', type: 'string', jsonPath: '.free.memory' },
    { name: 'Free Pods', type: 'string', jsonPath: '.free.pods' },
    { name: 'GPUs', type: 'string', jsonPath: '.gpus[*].free', priority: 1 },
  ],
  properties: {
    capacity: AMOUNTS,
    allocatable: AMOUNTS,
    free: AMOUNTS,
    largestFree: { ...AMOUNTS, description: 'For each resource the most that is free on one node.' },
    gpus: GPUS,
    commonLabels: { type: 'object', description: 'Labels that all nodes have with one value.', 'x-kubernetes-map-type': 'atomic', additionalProperties: { type: 'string' } },
    nodeGroups: { type: 'array', description: 'Nodes alike in labels and taints.', 'x-kubernetes-list-type': 'atomic', items: NODE_GROUP },
    reduced: REDUCED,
    shares: SHARES,
    observed: OBSERVED,
  },
};
