// What a delegate pod asks of a node, as decisions compare it with nodes.
import type { Affinity, StringMap, Toleration } from '../../api/objects/core.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';

/** What a delegate pod asks of a node. Equal pods should share one object: what follows from it is remembered by identity. */
export interface NodeRequirements {
  readonly requests: ResourceAmounts;
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
}
