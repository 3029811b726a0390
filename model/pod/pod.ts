// Common queries about pods. They read only stored fields.

import type { ObjectMeta, OwnerReference, Pod, PodPhase, StringMap } from '../../api/objects/core.ts';
import { MAX_SELECTOR_LIST } from '../../api/objects/schema.ts';
import {
  ADMIRALTY_PREFIX, ELECT_ANNOTATION, HAS_FINALIZER_LABEL, NOT_ELECTED, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, PROXY_SCHEDULER,
} from '../../api/objects/keys.ts';

/**
 * Whether the user elected this pod for a target: it has the annotation with any value but `false`. Its namespace must
 * have opted in too.
 */
export function isElected(pod: Pick<Pod, 'metadata'>): boolean {
  return mentionsElection(pod) && !declinesElection(pod);
}

/** Whether the user says that this pod is not elected, also in a namespace that elects all of its pods. */
export function declinesElection({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return mentionsElection({ metadata }) && metadata.annotations?.[ELECT_ANNOTATION] === NOT_ELECTED;
}

/**
 * Whether this is a pod that admission has turned into a proxy pod. It stays one whatever its annotation says later.
 */
export function isProxyPod(pod: Pod): boolean {
  return pod.spec.schedulerName === PROXY_SCHEDULER && mentionsElection(pod);
}

function mentionsElection({ metadata }: Pick<Pod, 'metadata'>): boolean {
  return Object.hasOwn(metadata.annotations ?? {}, ELECT_ANNOTATION);
}

/** Whether the pod is assigned to a node. */
export function isBound(pod: Pod): boolean {
  return (pod.spec.nodeName ?? '') !== '';
}

/** Whether the pod is being deleted and waits for its containers or finalizers. */
export function isTerminating(pod: Pick<Pod, 'metadata'>): boolean {
  return (pod.metadata.deletionTimestamp ?? '') !== '';
}

/** Whether a phase is terminal; such a pod uses no capacity. */
export function isTerminal(phase: PodPhase | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Whether scheduling gates still keep the pod from being scheduled. */
export function isSchedulingGated(pod: Pod): boolean {
  return (pod.spec.schedulingGates ?? []).length > 0;
}

/** The owner that controls the object, such as a ReplicaSet or Job; Kubernetes allows one. */
export function controllerOf(metadata: ObjectMeta): OwnerReference | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true);
}

/** Labels that distinguish pods of one controller: a replacement has others. */
const OF_ONE_POD: ReadonlySet<string> = new Set(
  ['statefulset.kubernetes.io/pod-name', 'apps.kubernetes.io/pod-index', 'batch.kubernetes.io/job-completion-index'],
);

/** Labels of pods and chaperons in a target that only Isthmus sets. */
export const RESERVED_LABELS: ReadonlySet<string> = new Set([
  PARENT_UID_LABEL, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, HAS_FINALIZER_LABEL,
]);

/** Of a pod's labels those that others like it have, too: as many as the selector of a policy takes. */
export function labelsAlike(labels: StringMap): StringMap {
  const shared = Object.entries(labels).filter(([key]) => !OF_ONE_POD.has(key) && !key.startsWith(ADMIRALTY_PREFIX));
  return Object.fromEntries(shared.slice(0, MAX_SELECTOR_LIST));
}

/** Namespace and name of an object. */
export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** Those of a namespaced object's {@link objectKey}. */
export function splitKey(key: string): NamespacedName {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/**
 * `namespace/name`, or `name` for cluster-scoped objects; the key of queues and caches, as client-go's
 * MetaNamespaceKeyFunc.
 */
export function objectKey(metadata: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  const { namespace = '', name = '' } = metadata;
  return namespace === '' ? name : [namespace, name].join('/'); // in one piece, unlike a template's
}
