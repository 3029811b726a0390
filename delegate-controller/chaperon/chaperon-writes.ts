// The writes that a chaperon's plan consists of: patches of the chaperon, and the delete of its delegate.
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { deletion, type Plan } from '../../model/objects/plan.ts';
import { splitKey } from '../../model/pod/pod.ts';
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
export function deletionOf({ key, uid }: TargetPod): ReturnType<typeof deletion> {
  return deletion(PODS, { ...splitKey(key), uid });
}

function at(
  { metadata: { namespace, name = '' } }: PodChaperon,
): { readonly namespace: string | undefined; readonly name: string } {
  return { namespace, name };
}
