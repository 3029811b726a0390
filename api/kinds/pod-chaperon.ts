// PodChaperon: a source creates it in a target to request a pod; the target's chaperon controller creates the delegate
// pod from it.
import type { KubernetesObject, PodSpec, PodStatus } from '../objects/core.ts';
import type { KindDefinition } from '../objects/schema.ts';

/** The spec of a delegate pod, with its status once it exists. */
export interface PodChaperon extends KubernetesObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

/**
 * CRD of PodChaperon. The schema accepts any fields, as Admiralty's: pods of a newer source must survive an older
 * target's CRD.
 */
export const POD_CHAPERON_KIND: KindDefinition = {
  kind: 'PodChaperon',
  plural: 'podchaperons',
  shortName: 'chap',
  scope: 'Namespaced',
  description: 'A request of a source cluster to run a pod in this cluster.',
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Host IP', type: 'string', jsonPath: '.status.hostIP', priority: 1 },
    { name: 'Source pod', type: 'string', jsonPath: '.metadata.annotations.multicluster\\.admiralty\\.io/parent-name' },
    {
      name: 'Reserved', type: 'string', jsonPath: '.metadata.annotations.multicluster\\.admiralty\\.io/is-reserved',
      priority: 1,
    },
    {
      name: 'Allowed', type: 'string', jsonPath: '.metadata.annotations.multicluster\\.admiralty\\.io/is-allowed',
      priority: 1,
    },
  ],
  required: ['spec'],
  properties: {
    spec: {
      type: 'object', description: 'core/v1 PodSpec of the delegate pod.', 'x-kubernetes-preserve-unknown-fields': true,
    },
    status: {
      type: 'object', description: "core/v1 PodStatus of the delegate pod; may lag behind the pod's own.",
      'x-kubernetes-preserve-unknown-fields': true,
    },
  },
};
