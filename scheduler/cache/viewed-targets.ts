// What the scheduler's views contain about targets apart from their capacity: who they are, and whether they get pods
// now.
import { targetKey, type TargetRef } from '../../model/naming/target-ref.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { whyUnschedulable } from '../../targets/target-object.ts';
import { TargetOutages } from './target-outages.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { toVirtualNodeInfo } from '../snapshot/virtual-node-info.ts';
import type { PlacementInputs } from './placement-inputs.ts';
import type { TargetViews } from './target-views.ts';

/** What the views are made from. */
export interface ViewedClusters {
  readonly targets: TargetClusters;
  readonly inputs: PlacementInputs;
}

const RESTARTED: Rejection =
  { reason: 'Restarted', message: 'its API server has just restarted; its own scheduler may need a moment' };

/** Keeps the views of targets current. */
export class ViewedTargets {
  readonly #clusters: ViewedClusters;
  readonly #views: TargetViews;
  readonly #changed: () => void;
  readonly #outages = new TargetOutages();

  /** `changed` is called when a restarted target gets pods again. */
  constructor(clusters: ViewedClusters, views: TargetViews, changed: () => void) {
    this.#clusters = clusters;
    this.#views = views;
    this.#changed = changed;
  }

  /** The target may have become ready, or lost. */
  noteHealth(target: TargetCluster): void {
    const isReady = target.availability.kind === 'ready';
    const isGone = target.serverHealth.isRefusing;
    const avoidedMs = this.#outages.note(target.key, { isReady, isGone }, performance.now());
    if (avoidedMs !== undefined) setTimeout(() => this.#lookAgain(), avoidedMs).unref();
    this.look(target);
    // of a thousand targets hardly any has just been restarted, and each is noted several times a minute
    for (const key of this.#outages.restarted(performance.now())) {
      const other = this.#clusters.targets.get(key);
      if (other !== undefined && other !== target) this.look(other);
    }
  }

  /** Updates the view of a target. */
  look({ ref, key, nodeName, availability, session }: TargetCluster): void {
    const { targets, inputs } = this.#clusters;
    const object = targets.object(ref);
    const leaving = object && whyUnschedulable(object);
    const nodeInfo = toVirtualNodeInfo({
      kind: ref.kind, nodeName, node: inputs.nodes.get(nodeName), labels: object?.labels ?? {},
      spec: object?.spec ?? {}, rttMs: session?.client.transport.rttMs, leaving,
    });
    const unavailable = availability.kind !== 'ready' ? availability : leaving ?? this.#restarted(ref);
    this.#views.update({ ref, key, nodeName, nodeInfo }, unavailable);
  }

  /** Removes a target. */
  remove(key: string): void {
    this.#views.remove(key);
    this.#outages.remove(key);
  }

  /** How long a target has not been ready, in ms; undefined when it is ready. `now` is of a monotonic clock. */
  outageMs(key: string, now: number): number | undefined {
    return this.#outages.outageMs(key, now);
  }

  #lookAgain(): void {
    for (const target of this.#clusters.targets.all()) this.look(target);
    this.#changed();
  }

  #isRestarted({ key }: Pick<TargetCluster, 'key'>): boolean {
    return this.#outages.isRestarted(key, performance.now());
  }

  /** Only while another target may take the same pods. */
  #restarted(ref: TargetRef): Rejection | undefined {
    if (!this.#isRestarted({ key: targetKey(ref) })) return undefined;
    const mayReplace = (other: TargetCluster): boolean =>
      other.availability.kind === 'ready' && !this.#isRestarted(other)
        && (other.ref.kind === 'ClusterTarget' || (ref.kind === 'Target' && other.ref.namespace === ref.namespace));
    return [...this.#clusters.targets.all()].some(mayReplace) ? RESTARTED : undefined;
  }
}
