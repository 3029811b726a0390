// Watches the source as far as its viewer may read it: targets, virtual nodes, and elected pods of one namespace or of
// all. What is forbidden is said to be, and the rest is shown.
import type { ClusterTarget, Target } from '../../api/kinds/cluster-target.ts';
import type { Node, Pod } from '../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, NODES, PODS, TARGETS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { toSeenPod, type SeenPod } from '../views/seen-pod.ts';
import type { SeenSource } from '../views/targets-view.ts';
import { Following } from './following.ts';
import type { Lease } from './shared.ts';
import type { ViewerRights } from './viewer-rights.ts';

/** The source within one namespace, or as a whole. */
export class SourceObservation {
  readonly #namespace: string | undefined;
  readonly #rights: Lease<ViewerRights>;
  readonly #clusterTargets: Following<ClusterTarget, ClusterTarget>;
  readonly #targets: Following<Target, Target>;
  readonly #nodes: Following<Node, Node>;
  readonly #pods: Following<Pod, SeenPod>;
  readonly #listeners = new Set<() => void>();

  /** All namespaces when it is missing. */
  constructor(client: ClusterClient, namespace: string | undefined, rights: Lease<ViewerRights>) {
    const changed = () => {
      for (const listener of this.#listeners) listener();
    };
    const whole = <T>(object: T): T => object;
    const asViewer = { client, rights: rights.value };
    [this.#namespace, this.#rights] = [namespace, rights];
    this.#clusterTargets = new Following({ ...asViewer, type: CLUSTER_TARGETS, selection: {} }, whole, changed);
    this.#targets = new Following({ ...asViewer, type: TARGETS, selection: { namespace } }, whole, changed);
    this.#nodes = new Following(
      { ...asViewer, type: NODES, selection: { labelSelector: `${PROVIDER_KEY}=${PROVIDER_VALUE}` } }, whole, changed,
    );
    const elected = { namespace, fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` };
    this.#pods = new Following({ ...asViewer, type: PODS, selection: elected }, toSeenPod, changed);
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [this.#clusterTargets, this.#targets, this.#nodes, this.#pods].map((following) => following.run(signal)),
    );
    this.#rights.release();
  }

  /** Calls back at each change; the returned function stops that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What is known now. */
  get source(): SeenSource {
    return {
      namespace: this.#namespace, clusterTargets: this.#clusterTargets.reading, targets: this.#targets.reading,
      nodes: this.#nodes.reading, pods: this.#pods.reading,
    };
  }
}
