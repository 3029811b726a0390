// Validates resource quantities in our own objects: the schema accepts any text or number, and an invalid quantity
// would be ignored.
import type { ResourceList } from '../../api/objects/core.ts';
import { parseQuantity } from '../../model/resources/quantity.ts';
import { deny, type Denial } from '../review/admission-answer.ts';

/** Why a resource list at `path` is rejected: a quantity is invalid or negative. */
export function checkQuantities(list: ResourceList | undefined, path: string): Denial | undefined {
  for (const [resource, amount] of Object.entries(list ?? {})) {
    const parsed = parseQuantity(amount);
    if (parsed.kind === 'invalid' || parsed.nanos < 0n) {
      return deny(
        'BadQuantity',
        `${path} gives ${JSON.stringify(amount)} of ${resource}, which is not a valid quantity; write 500m, 2 or ` +
          '4Gi, say',
      );
    }
  }
  return undefined;
}
