// ClusterSource (cluster-scoped) and Source (namespaced): who may send pods to this cluster. Admiralty 0.17's fields, clusterID and status are ours.
import type { Condition, KubernetesObject } from './core.ts';
import { CONDITIONS, OBSERVED_GENERATION, conditionColumn, type KindDefinition, type PrinterColumn, type Schema } from './schema.ts';

/** What became of a source's identity: `Ready`, and `Guarded` against what other sources have here. */
export interface SourceStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

/** A source for one namespace; both identities may be set, each becomes an RBAC subject. */
export interface Source extends KubernetesObject {
  readonly spec: { readonly userName?: string; readonly serviceAccountName?: string; readonly clusterID?: string };
  readonly status?: SourceStatus;
}

/** A source for all namespaces. */
export interface ClusterSource extends KubernetesObject {
  readonly spec: { readonly userName?: string; readonly serviceAccount?: { readonly name: string; readonly namespace: string }; readonly clusterID?: string };
  readonly status?: SourceStatus;
}

const USER_NAME: Schema = { type: 'string', description: 'User that the source authenticates as.', maxLength: 1024 };
const CLUSTER_ID: Schema = {
  type: 'string',
  description: "UID of the source's kube-system Namespace. With it, a policy keeps the source to its own objects.",
  maxLength: 63,
  pattern: '^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$',
};
const STATUS: Schema = { type: 'object', description: 'What became of it.', properties: { observedGeneration: OBSERVED_GENERATION, conditions: CONDITIONS }, 'x-kubernetes-preserve-unknown-fields': true };
const CONDITION_COLUMNS: readonly PrinterColumn[] = [
  conditionColumn('Ready', 'Ready'),
  conditionColumn('Guarded', 'Guarded'),
  { name: 'Cluster', type: 'string', jsonPath: '.spec.clusterID', priority: 1 },
];

/** CRD of Source. */
export const SOURCE_KIND: KindDefinition = {
  kind: 'Source',
  plural: 'sources',
  shortName: 'src',
  scope: 'Namespaced',
  description: 'An identity that a source cluster uses to run pods in this namespace.',
  columns: [
    { name: 'Service account', type: 'string', jsonPath: '.spec.serviceAccountName' },
    { name: 'User', type: 'string', jsonPath: '.spec.userName' },
    ...CONDITION_COLUMNS,
  ],
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The identity of the source.',
      properties: {
        userName: USER_NAME,
        clusterID: CLUSTER_ID,
        serviceAccountName: { type: 'string', description: 'ServiceAccount of this namespace that the source authenticates as.', maxLength: 253 },
      },
    },
    status: STATUS,
  },
};

/** CRD of ClusterSource. */
export const CLUSTER_SOURCE_KIND: KindDefinition = {
  kind: 'ClusterSource',
  plural: 'clustersources',
  shortName: 'csrc',
  scope: 'Cluster',
  description: 'An identity that a source cluster uses to run pods in every namespace.',
  columns: [
    { name: 'Service account', type: 'string', jsonPath: '.spec.serviceAccount.name' },
    { name: 'User', type: 'string', jsonPath: '.spec.userName' },
    ...CONDITION_COLUMNS,
  ],
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The identity of the source.',
      properties: {
        userName: USER_NAME,
        clusterID: CLUSTER_ID,
        serviceAccount: {
          type: 'object',
          description: 'ServiceAccount that the source authenticates as.',
          required: ['name', 'namespace'],
          properties: {
            name: { type: 'string', description: 'Name of the ServiceAccount.', minLength: 1, maxLength: 253 },
            namespace: { type: 'string', description: 'Namespace of the ServiceAccount.', minLength: 1, maxLength: 63 },
          },
        },
      },
    },
    status: STATUS,
  },
};
