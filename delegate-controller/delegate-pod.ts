// Step 5 of a pod's way: the delegate pod, from the chaperon alone, so that the target can make it while the source is away.
import { ELECT_ANNOTATION, GRACE_PERIOD_ANNOTATION, POD_MISSING_SINCE_ANNOTATION, SOURCE_MANIFEST_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION } from '../api/keys.ts';
import type { Pod, StringMap } from '../api/core.ts';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import { ADMIRALTY_API_VERSION } from '../api/resource-types.ts';

/** What is the chaperon's alone, and what would elect the delegate once more: a delegate never travels on, whatever a source asks for. */
const DROPPED_ANNOTATIONS: ReadonlySet<string> = new Set([
  GRACE_PERIOD_ANNOTATION, POD_MISSING_SINCE_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION, ELECT_ANNOTATION, SOURCE_MANIFEST_ANNOTATION,
]);

/** The delegate pod. It has its chaperon's name: the API server's uniqueness is the lock. */
export function toDelegatePod(chaperon: PodChaperon): Pod {
  const { name = '', namespace = '', uid = '', labels, annotations } = chaperon.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations: withoutDropped(annotations) }),
      ownerReferences: [{ apiVersion: ADMIRALTY_API_VERSION, kind: 'PodChaperon', name, uid, controller: true, blockOwnerDeletion: true }],
    },
    spec: chaperon.spec,
  };
}

function withoutDropped(annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !DROPPED_ANNOTATIONS.has(key)));
}
