// The metadata and the spec of a delegate pod, taken from its chaperon. Used by the target's controller and, in Pod
// mode, by the source.
import type { ObjectMeta, PodSpec, StringMap } from '../../api/objects/core.ts';
import {
  SENT_CHANGES_ANNOTATION, ELECT_ANNOTATION, FENCE_ANNOTATION, FENCED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION,
  POD_MISSING_SINCE_ANNOTATION, SOURCE_MANIFEST_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION,
  STREAMS_REQUESTED_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';

/**
 * Annotations of the chaperon only, and those that would elect the delegate again: a delegate is never delegated,
 * whatever a source requests.
 */
const DROPPED_ANNOTATIONS: ReadonlySet<string> = new Set([
  SENT_CHANGES_ANNOTATION, GRACE_PERIOD_ANNOTATION,
  POD_MISSING_SINCE_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION, ELECT_ANNOTATION, SOURCE_MANIFEST_ANNOTATION,
  FENCE_ANNOTATION, FENCED_AT_ANNOTATION, STREAMS_REQUESTED_ANNOTATION,
]);

/** Name, namespace, labels and annotations of the delegate of a chaperon. */
export function toDelegateMeta(
  { metadata: { name = '', namespace = '', labels, annotations } }: PodChaperon,
): ObjectMeta {
  return {
    name, namespace, ...(labels && { labels }), ...(annotations && { annotations: withoutDropped(annotations) }),
  };
}

/**
 * The spec of a chaperon's delegate, without the overhead. That is of the source's runtime class: it counts when a
 * target is chosen, but the target's API server rejects a pod whose overhead differs from that of its own class.
 */
export function toDelegatePodSpec({ spec: { overhead: _overhead, ...spec } }: PodChaperon): PodSpec {
  return spec;
}

function withoutDropped(annotations: StringMap): StringMap {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !DROPPED_ANNOTATIONS.has(key)));
}
