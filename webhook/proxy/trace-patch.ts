// Adds the trace annotation to a new proxy pod when traces are exported. Separate from the admission decision: nothing
// depends on it. Pure.
import { TRACE_ANNOTATION } from '../../api/objects/keys.ts';
import { printTrace, type TraceContext } from '../../model/proxy/trace.ts';
import type { Admission } from '../review/admission-answer.ts';
import { memberPointer } from '../review/json-patch.ts';

/** Adds the trace to the patch of a newly elected pod; a pod that has one, or that is not patched, stays unchanged. */
export function withTrace(
  admission: Admission, annotations: Readonly<Record<string, string>> | undefined, trace: TraceContext,
): Admission {
  if (
    admission.kind !== 'mutate' || admission.patch.length === 0 || Object.hasOwn(annotations ?? {}, TRACE_ANNOTATION)
  ) return admission;
  // The patch already ensures that the annotations map exists.
  const operation =
    { op: 'add', path: memberPointer('/metadata/annotations', TRACE_ANNOTATION), value: printTrace(trace) } as const;
  return { ...admission, patch: [...admission.patch, operation] };
}
