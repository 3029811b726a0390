// ClusterSummary: what a target publishes about its capacity. One object, named `singleton`.
// `capacity` and `allocatable` are Admiralty's; `free`, `nodeGroups` and `observed` are ours, so that a source knows holes, not sums.
import type { KubernetesObject, ResourceList, StringMap, Taint } from './core.ts';
import { RESOURCE_LIST, type KindDefinition, type Schema } from './schema.ts';

/** Nodes alike in labels and taints. Cordoned, NotReady and virtual nodes are not in any group. */
export interface NodeGroup {
  /** Labels that all nodes of the group share; labels that name a single node are left out. */
  readonly labels?: StringMap;
  readonly taints?: readonly Taint[];
  /** The free room of the group's nodes; `count` nodes are equal. */
  readonly holes: readonly { readonly count: number; readonly free: ResourceList }[];
}

/** Capacity of a cluster. Sums are over the nodes that may take pods. */
export interface ClusterSummary extends KubernetesObject {
  readonly capacity?: ResourceList;
  readonly allocatable?: ResourceList;
  /** Allocatable less the requests of all pods that are bound and not terminal. */
  readonly free?: ResourceList;
  readonly nodeGroups?: readonly NodeGroup[];
  /** Up to which resourceVersion of pods the figures hold; versions of one cluster can be compared (KEP-5504). */
  readonly observed?: { readonly podsResourceVersion: string };
}

const NODE_GROUP: Schema = {
  type: 'object',
  required: ['holes'],
  properties: {
    labels: { type: 'object', description: 'Labels that all nodes of the group share.', additionalProperties: { type: 'string' } },
    taints: {
      type: 'array',
      description: 'Taints that all nodes of the group share.',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'effect'],
        properties: {
          key: { type: 'string', description: 'Key of the taint.' },
          value: { type: 'string', description: 'Value of the taint.' },
          effect: { type: 'string', description: 'What happens to pods that do not tolerate it.' },
        },
      },
    },
    holes: {
      type: 'array',
      description: 'Free room by node; equal nodes are counted.',
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['count', 'free'],
        properties: { count: { type: 'integer', format: 'int32', description: 'How many nodes have this much room.' }, free: RESOURCE_LIST },
      },
    },
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
  ],
  properties: {
    capacity: RESOURCE_LIST,
    allocatable: RESOURCE_LIST,
    free: RESOURCE_LIST,
    nodeGroups: { type: 'array', description: 'Nodes alike in labels and taints.', 'x-kubernetes-list-type': 'atomic', items: NODE_GROUP },
    observed: {
      type: 'object',
      description: 'What the figures were computed from.',
      required: ['podsResourceVersion'],
      properties: { podsResourceVersion: { type: 'string', description: 'resourceVersion of pods up to which the figures hold.' } },
    },
  },
};
