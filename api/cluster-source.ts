// ClusterSource (cluster-scoped) and Source (namespaced): who may send pods to this cluster. Admiralty 0.17's fields.
import type { KubernetesObject } from './core.ts';
import type { KindDefinition, Schema } from './schema.ts';

/** A source for one namespace; both identities may be set, each becomes an RBAC subject. */
export interface Source extends KubernetesObject {
  readonly spec: { readonly userName?: string; readonly serviceAccountName?: string };
}

/** A source for all namespaces. */
export interface ClusterSource extends KubernetesObject {
  readonly spec: { readonly userName?: string; readonly serviceAccount?: { readonly name: string; readonly namespace: string } };
}

const USER_NAME: Schema = { type: 'string', description: 'User that the source authenticates as.', maxLength: 1024 };
const STATUS: Schema = { type: 'object', description: 'Reserved.', 'x-kubernetes-preserve-unknown-fields': true };

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
  ],
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The identity of the source.',
      properties: {
        userName: USER_NAME,
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
  ],
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      description: 'The identity of the source.',
      properties: {
        userName: USER_NAME,
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
