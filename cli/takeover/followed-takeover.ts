// ConfigMaps, Secrets, Services and Ingresses that followed pods of Admiralty's: its finalizers, which only it
// removes, and the label by which each side recognizes the copies that it created. Pure.
import type { KubernetesObject } from '../../api/objects/core.ts';
import {
  HAS_FINALIZER_LABEL, ADMIRALTY_PREFIX, PARENT_CLUSTER_LABEL, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL,
} from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import type { Command, Plan } from '../../model/objects/plan.ts';

/** The write that frees an object of the source from Admiralty's finalizers; nothing where it has none. */
export function planAdmiraltyFinalizerRemoval(type: ResourceType, { metadata }: KubernetesObject): Plan {
  const { namespace, name = '', resourceVersion, finalizers = [], labels = {} } = metadata;
  const others = finalizers.filter((finalizer) => !finalizer.startsWith(ADMIRALTY_PREFIX));
  if (others.length === finalizers.length && labels[HAS_FINALIZER_LABEL] === undefined) return [];
  return [{
    kind: 'patch', type, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { resourceVersion, finalizers: others, labels: { [HAS_FINALIZER_LABEL]: null } } },
  }];
}

/** Whose copies are meant: label `parent-cluster-name` before and after. */
export interface Handover {
  readonly from: string;
  readonly to: string;
  /** UIDs of the objects in the source: others' copies may have the same label, for a cluster name may be empty. */
  readonly parents: ReadonlySet<string>;
}

/**
 * The write that gives a copy, a chaperon or a delegate in a target another parent cluster; nothing where it is
 * another's.
 */
export function planRelabelling(
  type: ResourceType, { metadata }: KubernetesObject, { from, to, parents }: Handover,
): Plan {
  const { namespace, name = '', uid, labels = {}, annotations = {} } = metadata;
  const isMeant = parents.has(labels[PARENT_UID_LABEL] ?? '') && annotations[PARENT_NAME_ANNOTATION] !== undefined;
  if (!isMeant || (labels[PARENT_CLUSTER_LABEL] ?? '') !== from || from === to) return [];
  const command: Command = {
    kind: 'patch', type, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { uid, labels: { [PARENT_CLUSTER_LABEL]: to } } },
  };
  return [command];
}
