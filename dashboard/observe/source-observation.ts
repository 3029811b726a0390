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

/** The source within one namespace, or as a whole. */
export class SourceObservation {
  readonly #namespace: string | undefined;
  readonly #clusterTargets: Following<ClusterTarget, ClusterTarget>;
  readonly #targets: Following<Target, Target>;
  readonly #nodes: Following<Node, Node>;
  readonly #pods: Following<Pod, SeenPod>;
  readonly #listeners = new Set<() => void>();

  /** `recheckMs` as {@link Following} takes it. */
  constructor(client: ClusterClient, namespace: string | undefined, recheckMs?: number) {
    const changed = () => {
      for (const listener of this.#listeners) listener();
    };
    const whole = <T>(object: T): T => object;
    this.#namespace = namespace;
    this.#clusterTargets = new Following({ client, type: CLUSTER_TARGETS, selection: {}, recheckMs }, whole, changed);
    this.#targets = new Following({ client, type: TARGETS, selection: { namespace }, recheckMs }, whole, changed);
    this.#nodes = new Following(
      { client, type: NODES, selection: { labelSelector: `${PROVIDER_KEY}=${PROVIDER_VALUE}` }, recheckMs },
      whole, changed,
    );
    this.#pods = new Following(
      {
        client, type: PODS, recheckMs,
        selection: { namespace, fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` },
      },
      toSeenPod, changed,
    );
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      [this.#clusterTargets, this.#targets, this.#nodes, this.#pods].map((following) => following.run(signal)),
    );
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
