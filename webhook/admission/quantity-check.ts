// Amounts of resources in objects of ours: the schema takes any text or number, and what is no quantity would count as not there.
import type { ResourceList } from '../../api/objects/core.ts';
import { parseQuantity } from '../../model/resources/quantity.ts';
import { deny, type Denial } from '../review/admission-answer.ts';

/** Why a list of amounts at `path` is refused: one of them is no quantity, or is negative. */
export function checkQuantities(list: ResourceList | undefined, path: string): Denial | undefined {
  for (const [resource, amount] of Object.entries(list ?? {})) {
    const isAmount = parseQuantity(amount).kind === 'quantity' && !String(amount).startsWith('-');
    if (!isAmount) return deny('BadQuantity', `${path} gives ${JSON.stringify(amount)} of ${resource}, which is no quantity; write 500m, 2 or 4Gi, say`);
  }
  return undefined;
}
