// What the schema cannot say about a ResourceShare: a limit that is no quantity would be no limit.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceShare } from '../../api/kinds/resource-share.ts';
import type { Admission } from '../review/admission-answer.ts';
import { checkQuantities } from './quantity-check.ts';

/** Decides about a ResourceShare as the API server sent it. */
export function validateShare(share: KubernetesObject): Admission {
  return checkQuantities((share as ResourceShare).spec.limits, 'spec.limits') ?? { kind: 'pass' };
}
