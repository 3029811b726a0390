// Watches the source as far as its viewer may read it: targets, virtual nodes, and elected pods of one namespace or of
// all. What is forbidden is said to be, and the rest is shown.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { Node, Pod } from '../../api/objects/core.ts';
import { CLUSTER_TARGETS, NODES, PODS, TARGETS } from '../../api/resource-types.ts';
import { PROXY_PODS, VIRTUAL_NODES } from '../../model/proxy/proxy-selection.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { toSeenPod, type SeenPod } from '../views/seen-pod.ts';
import { TARGET_ACTIONS } from '../wire/actions.ts';
import type { SeenSource } from '../views/targets-view.ts';
import type { ViewerWatch } from './viewer-watch.ts';
import { ViewerWatches } from './viewer-watches.ts';
import type { SharedUse } from './shared.ts';
import type { ViewerActions } from '../permissions/viewer-actions.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';

/** The source within one namespace, or as a whole. */
export class SourceObservation extends ViewerWatches {
  readonly #namespace: string | undefined;
  readonly #clusterTargets: ViewerWatch<ClusterTarget, ClusterTarget>;
  readonly #targets: ViewerWatch<Target, Target>;
  readonly #nodes: ViewerWatch<Node, Node>;
  readonly #pods: ViewerWatch<Pod, SeenPod>;
  readonly #actions: ViewerActions;

  /** All namespaces when it is missing. */
  constructor(client: ClusterClient, namespace: string | undefined, permissions: SharedUse<ViewerPermissions>) {
    super(client, permissions);
    this.#namespace = namespace;
    this.#clusterTargets = this.follow<ClusterTarget>(CLUSTER_TARGETS, {});
    this.#targets = this.follow<Target>(TARGETS, { namespace });
    this.#nodes = this.follow<Node>(NODES, VIRTUAL_NODES);
    const elected = { namespace, ...PROXY_PODS };
    this.#pods = this.project(PODS, elected, toSeenPod);
    this.#actions = this.actions({ kinds: TARGET_ACTIONS });
  }

  /** What is known now. */
  get source(): SeenSource {
    return {
      namespace: this.#namespace, clusterTargets: this.#clusterTargets.reading, targets: this.#targets.reading,
      nodes: this.#nodes.reading, pods: this.#pods.reading,
      actions: this.#actions.allowed,
    };
  }
}
