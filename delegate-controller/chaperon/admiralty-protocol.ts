// The protocol of an Admiralty source before it binds a proxy (its proxy scheduler's Filter and PreBind): it waits up
// to 30 s for `is-reserved` on the PodChaperon, sets `is-allowed`, and then waits for a scheduled delegate. Its
// chaperons name Admiralty's candidate scheduler, which this cluster does not have. So no delegate is created before
// the source has chosen, and the cluster's own scheduler places it. Pure.
import { CANDIDATE_SCHEDULER, IS_ALLOWED_ANNOTATION, IS_RESERVED_ANNOTATION, TRUE } from '../../api/objects/keys.ts';
import type { PodSpec } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { POD_CHAPERONS } from '../../api/resource-types.ts';
import type { Plan } from '../../model/objects/plan.ts';

/** What a chaperon without a delegate still waits for. */
export type CandidateStep = { readonly kind: 'reserve'; readonly plan: Plan } | { readonly kind: 'await-choice' }
  | { readonly kind: 'make' };

/** Decides the step. A chaperon with another scheduler, or none, waits for nothing. */
export function candidateStep({ metadata, spec }: PodChaperon): CandidateStep {
  if (spec.schedulerName !== CANDIDATE_SCHEDULER) return { kind: 'make' };
  const { namespace, name = '', uid, annotations = {} } = metadata;
  if (annotations[IS_ALLOWED_ANNOTATION] !== undefined) return { kind: 'make' };
  if (annotations[IS_RESERVED_ANNOTATION] !== undefined) return { kind: 'await-choice' };
  const patch = { metadata: { uid, annotations: { [IS_RESERVED_ANNOTATION]: TRUE } } };
  return {
    kind: 'reserve', plan: [{ kind: 'patch', type: POD_CHAPERONS, at: { namespace, name }, patchType: 'merge', patch }],
  };
}

/** The spec of a delegate: Admiralty's candidate scheduler does not exist in this cluster. */
export function withOwnScheduler(spec: PodSpec): PodSpec {
  if (spec.schedulerName !== CANDIDATE_SCHEDULER) return spec;
  const { schedulerName: _candidate, ...rest } = spec;
  return rest;
}
