// What CEL cannot say about a (Cluster)Target: whether its regular expression is one (RE2, as in Admiralty).
import type { KubernetesObject } from '../api/core.ts';
import type { TargetSpec } from '../api/cluster-target.ts';
import { compileLabelPattern } from '../model/label-pattern.ts';
import { deny, type Admission } from './admission.ts';

/** Decides about a (Cluster)Target as the API server sent it. */
export function validateTarget(target: KubernetesObject): Admission {
  const expression: unknown = (target as { readonly spec?: TargetSpec }).spec?.excludedLabelsRegexp;
  if (typeof expression !== 'string') return { kind: 'pass' };
  const pattern = compileLabelPattern(expression);
  return pattern.kind === 'pattern' ? { kind: 'pass' } : deny('BadLabelPattern', `spec.excludedLabelsRegexp ${pattern.message}; correct or remove it`);
}
