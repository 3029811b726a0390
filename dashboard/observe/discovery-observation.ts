// Watches TargetDiscoveries, for the clusters that they propose.
import type { TargetDiscovery } from '../../api/registry/target-discovery.ts';
import { TARGET_DISCOVERIES } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { ViewerActions } from '../permissions/viewer-actions.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';
import { proposalsOf, type Proposals, type SeenDiscoveries } from '../views/targets-view.ts';
import type { ViewerWatch } from './viewer-watch.ts';
import { ViewerWatches } from './viewer-watches.ts';
import type { SharedUse } from './shared.ts';

/** Proposed clusters, and whether the viewer may approve them. */
export class DiscoveryObservation extends ViewerWatches {
  readonly #discoveries: ViewerWatch<TargetDiscovery, Proposals>;
  readonly #actions: ViewerActions;

  constructor(client: ClusterClient, permissions: SharedUse<ViewerPermissions>) {
    super(client, permissions);
    this.#discoveries = this.project<TargetDiscovery, Proposals>(TARGET_DISCOVERIES, {}, proposalsOf);
    this.#actions = this.actions({ kinds: ['approve'] });
  }

  /** What is known now. */
  get seen(): SeenDiscoveries {
    return { discoveries: this.#discoveries.reading, actions: this.#actions.allowed };
  }
}
