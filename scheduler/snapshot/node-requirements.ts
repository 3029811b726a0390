// What a delegate pod requires of a node.
import type { StringMap, Toleration } from '../../api/objects/core.ts';
import type { Affinity } from '../../api/objects/affinity.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';

/** What a delegate pod requires of a node. Equal pods should share one object: results are cached by identity. */
export interface NodeRequirements {
  readonly requests: ResourceAmounts;
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
}
