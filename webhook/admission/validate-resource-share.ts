// Validates what the schema of a ResourceShare cannot: a limit with an invalid quantity would be no limit.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceShare } from '../../api/kinds/resource-share.ts';
import type { Admission } from '../review/admission-answer.ts';
import { checkQuantities } from './quantity-check.ts';

/** Decides on a ResourceShare as the API server sent it. */
export function validateResourceShare(share: KubernetesObject): Admission {
  return checkQuantities((share as ResourceShare).spec.limits, 'spec.limits') ?? { kind: 'pass' };
}
