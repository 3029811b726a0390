// Watches placement policies as far as the viewer may read them, with the namespaces that cluster policies select by.
import type { ClusterPlacementPolicy, PlacementPolicy } from '../../api/kinds/placement-policy.ts';
import type { Namespace } from '../../api/objects/core.ts';
import { CLUSTER_PLACEMENT_POLICIES, NAMESPACES, PLACEMENT_POLICIES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { SeenPolicies } from '../views/policies-view.ts';
import { Following } from './following.ts';
import type { Lease, Running } from './shared.ts';
import type { ViewerRights } from './viewer-rights.ts';

/** Policies of one namespace and of the cluster, or all of them. */
export class PolicyObservation implements Running {
  readonly #rights: Lease<ViewerRights>;
  readonly #policies: Following<PlacementPolicy, PlacementPolicy>;
  readonly #clusterPolicies: Following<ClusterPlacementPolicy, ClusterPlacementPolicy>;
  readonly #namespaces: Following<Namespace, Namespace>;
  readonly #listeners = new Set<() => void>();

  /** All namespaces when it is missing. */
  constructor(client: ClusterClient, namespace: string | undefined, rights: Lease<ViewerRights>) {
    const changed = () => {
      for (const listener of this.#listeners) listener();
    };
    const whole = <T>(object: T): T => object;
    const asViewer = { client, rights: rights.value };
    this.#rights = rights;
    this.#policies = new Following({ ...asViewer, type: PLACEMENT_POLICIES, selection: { namespace } }, whole, changed);
    this.#clusterPolicies =
      new Following({ ...asViewer, type: CLUSTER_PLACEMENT_POLICIES, selection: {} }, whole, changed);
    this.#namespaces = new Following({ ...asViewer, type: NAMESPACES, selection: {} }, whole, changed);
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [this.#policies, this.#clusterPolicies, this.#namespaces].map((following) => following.run(signal)),
    );
    this.#rights.release();
  }

  /** Calls back at each change; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is known now. */
  get seen(): SeenPolicies {
    return {
      policies: this.#policies.reading, clusterPolicies: this.#clusterPolicies.reading,
      namespaces: this.#namespaces.reading,
    };
  }
}
