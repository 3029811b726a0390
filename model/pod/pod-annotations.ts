// Which annotations of an elected pod are the user's, and which Isthmus writes on its proxy pod.
import {
  ADMISSION_RECORD_ANNOTATION,
  ELECT_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION, NO_RESERVATION_ANNOTATION, ADMIRALTY_PREFIX,
  PLACEMENT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION, STREAMS_REQUESTED_ANNOTATION, TRACE_ANNOTATION,
  USE_SPEC_CONSTRAINTS_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { StringMap } from '../../api/objects/core.ts';

/** Annotations under Admiralty's prefix that users write on their pods; all others under it are written by Isthmus. */
export const USER_POD_ANNOTATIONS: ReadonlySet<string> = new Set([
  ELECT_ANNOTATION, NO_RESERVATION_ANNOTATION,
  PROXY_CONSTRAINTS_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION, NO_PREFIX_LABEL_REGEXP_ANNOTATION,
]);
/**
 * The last one is read on PodChaperons: copied from a pod, it would open streams of the delegate for as long as the
 * user wrote.
 */
const SYSTEM_POD_ANNOTATIONS: ReadonlySet<string> = new Set([
  ADMISSION_RECORD_ANNOTATION, PLACEMENT_ANNOTATION, TRACE_ANNOTATION, STREAMS_REQUESTED_ANNOTATION,
]);

/** The annotations of a proxy pod without those that Isthmus wrote. */
export function userAnnotations(annotations: StringMap = {}): StringMap {
  const isUsers = (key: string): boolean =>
    (key.startsWith(ADMIRALTY_PREFIX) ? USER_POD_ANNOTATIONS.has(key) : !SYSTEM_POD_ANNOTATIONS.has(key));
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => isUsers(key)));
}
