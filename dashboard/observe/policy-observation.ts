// Watches placement policies as far as the viewer may read them, with the namespaces that cluster policies select by.
import type { ClusterPlacementPolicy, PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import type { Namespace } from '../../api/objects/core.ts';
import { CLUSTER_PLACEMENT_POLICIES, NAMESPACES, PLACEMENT_POLICIES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { SeenPolicies } from '../views/policies-view.ts';
import type { ViewerWatch } from './viewer-watch.ts';
import { ViewerWatches } from './viewer-watches.ts';
import type { SharedUse } from './shared.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';

/** Policies of one namespace and of the cluster, or all of them. */
export class PolicyObservation extends ViewerWatches {
  readonly #policies: ViewerWatch<PlacementPolicy, PlacementPolicy>;
  readonly #clusterPolicies: ViewerWatch<ClusterPlacementPolicy, ClusterPlacementPolicy>;
  readonly #namespaces: ViewerWatch<Namespace, Namespace>;

  /** All namespaces when it is missing. */
  constructor(client: ClusterClient, namespace: string | undefined, permissions: SharedUse<ViewerPermissions>) {
    super(client, permissions);
    this.#policies = this.follow<PlacementPolicy>(PLACEMENT_POLICIES, { namespace });
    this.#clusterPolicies = this.follow<ClusterPlacementPolicy>(CLUSTER_PLACEMENT_POLICIES, {});
    this.#namespaces = this.follow<Namespace>(NAMESPACES, {});
  }

  /** What is known now. */
  get seen(): SeenPolicies {
    return {
      policies: this.#policies.reading, clusterPolicies: this.#clusterPolicies.reading,
      namespaces: this.#namespaces.reading,
    };
  }
}
