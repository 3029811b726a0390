// Validates what CEL cannot check in a (Cluster)Target: its regular expression (RE2, as in Admiralty) and its
// quantities.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import { compileLabelPattern } from '../../model/objects/label-pattern.ts';
import { deny, type Admission, type Denial } from '../review/admission-answer.ts';
import { checkQuantities } from './quantity-check.ts';

/** Decides on a (Cluster)Target as the API server sent it. */
export function validateTarget(target: KubernetesObject): Admission {
  const { excludedLabelsRegexp, headroom } = (target as KubernetesObject & { readonly spec: TargetSpec }).spec;
  return checkPattern(excludedLabelsRegexp) ?? checkHeadroom(headroom) ?? { kind: 'pass' };
}

function checkPattern(expression: unknown): Denial | undefined {
  if (typeof expression !== 'string') return undefined;
  const pattern = compileLabelPattern(expression);
  return pattern.kind === 'pattern'
    ? undefined
    : deny('BadLabelPattern', `spec.excludedLabelsRegexp ${pattern.message}; correct or remove it`);
}

function checkHeadroom(headroom: TargetSpec['headroom']): Denial | undefined {
  for (const [index, { allocatable }] of (headroom ?? []).entries()) {
    const denial = checkQuantities(allocatable, `spec.headroom[${index}].allocatable`);
    if (denial !== undefined) return denial;
  }
  return undefined;
}
