// A pod that becomes a proxy gets the annotation that holds its trace together, where traces are exported. Apart from the decision: nothing
// depends on it. Pure.
import { TRACE_ANNOTATION } from '../../api/objects/keys.ts';
import { printTrace, type TraceContext } from '../../model/proxy/trace.ts';
import type { Admission } from '../review/admission-answer.ts';
import { memberPointer } from '../review/json-patch.ts';

/** Adds the trace to the patch of a pod that is elected now; a pod that has one, or that is not changed, stays as it is. */
export function withTrace(admission: Admission, annotations: Readonly<Record<string, string>> | undefined, trace: TraceContext): Admission {
  if (admission.kind !== 'mutate' || admission.patch.length === 0 || Object.hasOwn(annotations ?? {}, TRACE_ANNOTATION)) return admission;
  // Election has made sure of the map: it adds annotations before this.
  const operation = { op: 'add', path: memberPointer('/metadata/annotations', TRACE_ANNOTATION), value: printTrace(trace) } as const;
  return { ...admission, patch: [...admission.patch, operation] };
}
