// Mutating admission of pods: decides whether a pod is elected and whether that is allowed. The result is the patch
// that turns it into a proxy pod. Idempotent: a proxy pod is left unchanged. An admission record written by a user is
// validated like any other user input: it cannot request what the user could not request without it.
import type { Pod } from '../../api/objects/core.ts';
import { SCORE_WEIGHTS_ANNOTATION } from '../../api/objects/keys.ts';
import { hasAdmissionRecord, restoreSourcePod, writeAdmissionRecord } from '../../model/proxy/admission-record.ts';
import { isElected } from '../../model/pod/pod.ts';
import { parseWeights } from '../../model/proxy/score-weights.ts';
import { deny, type Admission, type AdmissionContext, type Denial } from '../review/admission-answer.ts';
import { checkElection, checkFirstAdmission, withoutBindingAnnotations } from './election-checks.ts';
import { endFieldTracking } from '../proxy/field-tracking.ts';
import { withoutInjectedSidecars } from '../proxy/injected-sidecars.ts';
import { diffJson } from '../review/json-patch.ts';
import { storedManifest } from '../proxy/manifest-annotation.ts';
import { proxyPatch } from '../proxy/proxy-patch.ts';
import { proxyFieldsOf, toProxyPod } from '../proxy/make-proxy-pod.ts';
import { constraintsOf } from '../proxy/scheduling-constraints.ts';

type SourcePod = { readonly kind: 'pod'; readonly pod: Pod } | Denial;

/** Decides on a pod as the API server sent it. */
export function admitPod(pod: Pod, { writesManifest = false }: AdmissionContext = {}): Admission {
  if (!isElected(pod)) return { kind: 'pass' };
  const asked = withoutBindingAnnotations(pod);
  const denial = checkElection(asked);
  if (denial !== undefined) return denial;
  const clean = withoutInjectedSidecars(asked);
  const source = sourcePodOf(clean);
  if (source.kind === 'deny') return source;
  const constraints = constraintsOf(source.pod);
  if (constraints.kind === 'deny') return constraints;
  const manifest = writesManifest ? storedManifest(clean, source.pod) : undefined;
  const fields =
    proxyFieldsOf(source.pod, { record: writeAdmissionRecord(source.pod), manifest: manifest?.text, constraints });
  const patch = clean === pod ? proxyPatch(pod, fields) : diffJson({ ...pod }, { ...toProxyPod(clean, fields) });
  return {
    kind: 'mutate', patch: [...patch, ...endFieldTracking(pod)],
    warnings: [...constraints.warnings, ...weightWarnings(source.pod), ...(manifest?.warnings ?? [])],
  };
}

/** The scheduler ignores weights that it cannot read: they are preferences. */
function weightWarnings({ metadata: { annotations = {} } }: Pod): readonly string[] {
  const parsed = parseWeights(annotations[SCORE_WEIGHTS_ANNOTATION] ?? '');
  return parsed.kind === 'weights'
    ? []
    : [`annotation ${SCORE_WEIGHTS_ANNOTATION} is ignored: ${parsed.message}`];
}

/** The source pod: the pod itself or, for a proxy pod, the one in its admission record. */
function sourcePodOf(pod: Pod): SourcePod {
  if (!hasAdmissionRecord(pod.metadata)) return checkFirstAdmission(pod) ?? { kind: 'pod', pod };
  const restored = restoreSourcePod(pod);
  return restored.kind === 'restored'
    ? { kind: 'pod', pod: restored.pod }
    : deny('BadAdmissionRecord', restored.message);
}
