// Which reviews arrive by which path, and the decision that answers them. A pod that is elected gets its trace here.
import {
  DAEMON_SETS_PATH, POD_PATH, REACHED_PATH, RESOURCE_SHARES_PATH, TARGETS_PATH,
} from '../../api/admission-rules.ts';
import type { Pod } from '../../api/objects/core.ts';
import { podAttributes, traceOf } from '../../model/proxy/trace.ts';
import { isTracing, newSpanId, newTraceId, recordSpan } from '../../process/tracing.ts';
import { admitPod } from '../admission/admit-pod.ts';
import { keepOffVirtualNodes } from '../admission/daemon-set.ts';
import { admitPodOfNamespace, type Election } from '../admission/namespace-election.ts';
import { validateResourceShare } from '../admission/validate-resource-share.ts';
import { validateTarget } from '../admission/validate-target.ts';
import { withTrace } from '../proxy/trace-patch.ts';
import { answerProbe } from '../registration/missing-rules.ts';
import type { Admission, AdmissionContext } from '../review/admission-answer.ts';
import type { AdmissionRequest } from '../review/admission-review.ts';

/** Decides a review. */
export type Decide = (request: AdmissionRequest, context: AdmissionContext) => Admission;

/** How the reviews of a path are answered. */
export interface ReviewRoute {
  readonly decide: Decide;
  /** Parts of the object that are read; all when missing. */
  readonly parts?: readonly string[];
}

/** The paths whose reviews need nothing but the object. */
export const REVIEW_ROUTES: Readonly<Record<string, ReviewRoute>> = {
  [POD_PATH]: { decide: (request, context) => admitted(request, (pod) => admitPod(pod, context)) },
  [DAEMON_SETS_PATH]: { decide: ({ object }) => keepOffVirtualNodes(object) },
  [TARGETS_PATH]: { decide: ({ object }) => validateTarget(object) },
  [RESOURCE_SHARES_PATH]: { decide: ({ object }) => validateResourceShare(object) },
  [REACHED_PATH]: { decide: ({ object }) => answerProbe(object), parts: ['metadata'] },
};

/** The decision for pods of a namespace with this election; without one, none is elected. */
export function decideInNamespace(election: Election | undefined): Decide {
  return (request, context) => (election === undefined
    ? { kind: 'pass' }
    : admitted(request, (pod) => admitPodOfNamespace(pod, election, context)));
}

function admitted(request: AdmissionRequest, admit: (pod: Pod) => Admission): Admission {
  if (request.operation !== 'CREATE') return { kind: 'pass' };
  const startedAt = Date.now();
  return traced(request, admit(request.object as Pod), startedAt);
}

/** Records an election and adds the trace to its pod, if traces are exported. A dry run leaves no trace. */
function traced(
  { object, namespace = '', dryRun = false }: AdmissionRequest, admission: Admission, startedAt: number,
): Admission {
  if (!isTracing() || dryRun || admission.kind !== 'mutate') return admission;
  const { metadata: { name, generateName = '', annotations } } = object;
  if (traceOf(annotations) !== undefined) return admission; // reinvoked, after other webhooks
  const trace = { traceId: newTraceId(), rootId: newSpanId(), startedAt };
  recordSpan({
    name: 'admit', traceId: trace.traceId, spanId: newSpanId(), parentId: trace.rootId, startMs: startedAt,
    endMs: Date.now(), attributes: podAttributes({ namespace, name: name ?? generateName }),
  });
  return withTrace(admission, annotations, trace);
}
