// The writes that a chaperon's plan consists of: patches of the chaperon, the delete of its delegate, and the removal
// of the delegate's finalizer.
import { RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import type { Plan } from '../../model/objects/plan.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';

/** Sets the chaperon's status, unless the chaperon has changed since it was observed. */
export function patchStatus(chaperon: PodChaperon, status: object): Plan[number] {
  return {
    kind: 'patch', type: POD_CHAPERONS, at: { ...at(chaperon), subresource: 'status' }, patchType: 'merge',
    patch: { metadata: versionOf(chaperon), status },
  };
}

/** Merges into the chaperon's metadata; preconditions are part of `metadata`. */
export function patchMetadata(chaperon: PodChaperon, metadata: object): Plan[number] {
  return { kind: 'patch', type: POD_CHAPERONS, at: at(chaperon), patchType: 'merge', patch: { metadata } };
}

/** Precondition on this version: a late write must not revert a terminal status or later information. */
export function versionOf(
  { metadata: { resourceVersion } }: PodChaperon,
): { readonly resourceVersion: string | undefined } {
  return { resourceVersion };
}

/** Deletes this delegate and no later one of its name. */
export function deletionOf({ key, uid }: TargetPod): Extract<Plan[number], { readonly kind: 'delete' }> {
  return { kind: 'delete', type: PODS, at: nameOf(key), preconditions: { uid }, propagation: 'Background' };
}

/** Removes the finalizer of a delegate that must not run again; nothing where it has none. */
export function planRunOnceRemoval({ key, runOnceFinalizer }: TargetPod): Plan {
  if (runOnceFinalizer === undefined) return [];
  const finalizers = runOnceFinalizer.finalizers.filter((finalizer) => finalizer !== RUN_ONCE_FINALIZER);
  const patch = { metadata: { resourceVersion: runOnceFinalizer.resourceVersion, finalizers } };
  return [{ kind: 'patch', type: PODS, at: nameOf(key), patchType: 'merge', patch }];
}

type Name = { readonly namespace: string | undefined; readonly name: string };

function at({ metadata: { namespace, name = '' } }: PodChaperon): Name {
  return { namespace, name };
}

function nameOf(key: string): Name {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}
