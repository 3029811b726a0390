// What placement policies say about objects that are copied to all targets, for the controller that copies them.
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { PlacementInputs } from '../cache/placement-inputs.ts';
import { mayFollow, type SelectedObject } from '../snapshot/placement-rules.ts';
import { toTargetLabels } from '../snapshot/virtual-node-info.ts';

/** The rules of the current policies. */
export class FollowRules {
  readonly #inputs: PlacementInputs;
  readonly #targets: TargetClusters;

  constructor(inputs: PlacementInputs, targets: TargetClusters) {
    this.#inputs = inputs;
    this.#targets = targets;
  }

  /** Whether some of these pods may run in the target; see {@link mayFollow}. */
  allow(pods: readonly SelectedObject[], { ref, nodeName }: Pick<TargetCluster, 'ref' | 'nodeName'>): boolean
    | 'unknown' {
    const { policyIndex, nodes } = this.#inputs;
    const node = nodes.get(nodeName);
    // a policy may select the node's labels
    if (node === undefined && policyIndex.policies.length > 0) return 'unknown';
    const labels = this.#targets.object(ref)?.labels ?? {};
    return mayFollow(pods, toTargetLabels({ kind: ref.kind, nodeName, node, labels }), policyIndex);
  }

  /** Calls `listener` when the answers may have changed; call before the inputs run. */
  onChange(listener: () => void): void {
    this.#inputs.listen({ nodeChanged: listener, rulesChanged: listener });
  }
}
