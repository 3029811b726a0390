// ClusterSummary: the capacity that a target publishes. One object, named `singleton`, of at most 100 kB for 5,000
// nodes. `capacity` and `allocatable` are Admiralty's; all other fields are additions, so that a source knows free node
// shapes (`holes`), not only sums. Details lost to the size limit are listed in `reduced`: see docs/cluster-summary.md.
import type { KubernetesObject, ResourceList, StringMap, Taint } from '../objects/core.ts';
import {
  flag, int32, int64, listOf, objectOf, recordOf, RESOURCE_LIST, TAINTS, text, time, type KindDefinition, type Schema,
} from '../objects/schema.ts';

/** A free node shape: `count` nodes of a group with equal free resources. */
export interface FreeNodeShape {
  readonly count: number;
  /** Resources with as much free as the group's shape has are omitted. */
  readonly free: ResourceList;
  /** Digests (model/resources/node-digest.ts) of the nodes' names, concatenated. */
  readonly nodes?: string;
}

/** Nodes with equal labels and taints. Cordoned, NotReady and virtual nodes are in no group. */
export interface NodeGroup {
  /** Labels common to all nodes of the group, in addition to `commonLabels` and `perNodeLabels`. */
  readonly labels?: StringMap;
  /**
   * Keys of labels that every node of the group has, with unlisted values. If `kubernetes.io/hostname` is among them,
   * its value is the node's name.
   */
  readonly perNodeLabels?: readonly string[];
  readonly taints?: readonly Taint[];
  /** The size of its nodes, not what is free: of each resource the maximum that is allocatable. */
  readonly shape?: ResourceList;
  /** Free node shapes of the group: what is free on its nodes, equal nodes counted together. */
  readonly holes: readonly FreeNodeShape[];
}

/** GPUs of one product, over all nodes. */
export interface GpuTotal {
  /** Value of the vendor's product label; missing on nodes without it. */
  readonly product?: string;
  /** Extended resource: `nvidia.com/gpu`, a MIG slice such as `nvidia.com/mig-1g.5gb`, `amd.com/gpu`. */
  readonly resource: string;
  readonly allocatable: number;
  readonly free: number;
  /** Maximum that is free on one node. */
  readonly largest: number;
}

/** Details lost to the size limit; each field is missing if nothing was lost. */
export interface ReducedDetail {
  /**
   * Free amounts are rounded down to one of this many steps between a power of two and the next, so by less than 1 ÷
   * steps. Nodes that no other node of the group dominates in every resource are exact. The number of pods is rounded
   * four times as coarsely.
   */
  readonly steps?: number;
  /**
   * Keys omitted from `labels` to reduce the number of groups, in addition to those that identify single nodes. They
   * are listed in `perNodeLabels`.
   */
  readonly labels?: readonly string[];
  /** Digests of node names are omitted. */
  readonly nodeNames?: true;
  /** Number of nodes in no free node shape. */
  readonly nodes?: number;
}

/** Limits of a source in this cluster. */
export interface PublishedResourceShare {
  /** UID of the source's kube-system Namespace, or `*` for every source without an entry. */
  readonly source: string;
  /** Limits over all its delegates; a resource without a limit is unlimited. */
  readonly limits: ResourceList;
  /** No new delegates are accepted. */
  readonly cordoned?: true;
}

/** Capacity of a cluster. Sums are over schedulable nodes. */
export interface ClusterSummary extends KubernetesObject {
  readonly capacity?: ResourceList;
  readonly allocatable?: ResourceList;
  /** Allocatable minus the requests of all bound pods that have not terminated. */
  readonly free?: ResourceList;
  /** For each resource the maximum that is free on one node. */
  readonly largestFree?: ResourceList;
  readonly gpus?: readonly GpuTotal[];
  /** Labels with one value on all nodes. */
  readonly commonLabels?: StringMap;
  readonly nodeGroups?: readonly NodeGroup[];
  readonly reduced?: ReducedDetail;
  /** Limits by ResourceShares; a source without an entry may use everything. */
  readonly shares?: readonly PublishedResourceShare[];
  /** The state that the summary was computed from. */
  readonly observed?: {
    /** resourceVersion of pods up to which they are complete; versions of one cluster can be compared (KEP-5504). */
    readonly podsResourceVersion: string;
    /** Time of publication, RFC 3339; updated every minute even if nothing changed. */
    readonly time?: string;
  };
}

const LABELS: Schema = {
  type: 'object', description: 'Labels that all nodes of the group share, in addition to commonLabels and ' +
    'perNodeLabels.',
  additionalProperties: { type: 'string' },
};

/** Quantities that are published together. */
const AMOUNTS: Schema = { ...RESOURCE_LIST, 'x-kubernetes-map-type': 'atomic' };

const FREE_NODE_SHAPES: Schema = listOf('Free capacity by node; equal nodes are counted.', recordOf({
  count: int32('How many nodes have this free capacity.'),
  free: {
    ...RESOURCE_LIST,
    description: 'Free capacity of each; a resource that is omitted is as free as in the shape.',
  },
  nodes: text("Digests of the nodes' names, four characters each."),
}, ['count', 'free']));

const NODE_GROUP: Schema = recordOf({
  labels: LABELS,
  perNodeLabels:
    listOf('Keys of labels that every node of the group has with a value that is not listed.', { type: 'string' }),
  taints: TAINTS,
  shape: { ...RESOURCE_LIST, description: "Allocatable of the group's nodes: for each resource, the largest." },
  holes: FREE_NODE_SHAPES,
}, ['holes']);

const GPUS: Schema = listOf('GPUs and GPU slices by product.', recordOf({
  product: text("Product, from the vendor's label on the nodes."),
  resource: text('Extended resource.'),
  allocatable: int64('How many there are.'),
  free: int64('How many are free.'),
  largest: int64('The largest amount that is free on one node.'),
}, ['resource', 'allocatable', 'free', 'largest']));

const REDUCED: Schema = objectOf('What was omitted because of the size limit; missing if nothing was.', {
  steps: int32('Free amounts are rounded down to one of this many steps between one power of two and the next.'),
  labels: listOf('Keys omitted from labels to have fewer groups.', { type: 'string' }),
  nodeNames: flag('Digests of node names are omitted.'),
  nodes: int32('How many nodes are not counted in holes.'),
});

const SHARES: Schema = listOf('What ResourceShares grant to sources.', recordOf({
  source: text("UID of the source's kube-system Namespace, or * for each source that is not listed."),
  limits: { ...AMOUNTS, description: 'Maximum for all of its delegate pods together.' },
  cordoned: flag('No new delegate pods are accepted.'),
}, ['source', 'limits']), { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['source'] });

const OBSERVED: Schema = objectOf('The state that the summary was computed from.', {
  podsResourceVersion: text('resourceVersion up to which pods are counted.'),
  time: time('When the summary was published; renewed every minute.'),
}, ['podsResourceVersion']);

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
    largestFree: { ...AMOUNTS, description: 'For each resource, the largest amount that is free on one node.' },
    gpus: GPUS,
    commonLabels: {
      type: 'object', description: 'Labels that all nodes have with the same value.', 'x-kubernetes-map-type': 'atomic',
      additionalProperties: { type: 'string' },
    },
    nodeGroups: listOf('Nodes with the same labels and taints.', NODE_GROUP),
    reduced: REDUCED,
    shares: SHARES,
    observed: OBSERVED,
  },
};
