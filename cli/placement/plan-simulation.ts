// Simulates the scheduler for the pods of a manifest, one after the other, on a snapshot.
import type { Pod } from '../../api/objects/core.ts';
import { writeAdmissionRecord } from '../../model/proxy/admission-record.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { toProxyPodRecord, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { explainPod, type Explanation } from '../../scheduler/explain/explain.ts';
import { requirementsIn } from '../../scheduler/decision/filters.ts';
import type { PodClass } from '../../scheduler/snapshot/placed-pods.ts';
import { PlacedPods } from '../../scheduler/snapshot/placed-pods.ts';
import type { PolicyBook } from '../../scheduler/snapshot/placement-rules.ts';
import { toPodToSchedule, type PlacementWorld } from '../../scheduler/decision/placement-constraints.ts';
import { restoreTarget, type RecordedTarget } from '../../scheduler/explain/recorded-world.ts';
import { schedulePod } from '../../scheduler/decision/schedule-pod.ts';
import type { PodToSchedule, TargetSnapshot } from '../../scheduler/snapshot/snapshot.ts';
import { proxyFieldsOf, toProxyPod } from '../../webhook/proxy/make-proxy-pod.ts';
import type { PodsInFlight } from './in-flight-pods.ts';
import { constraintsOf } from '../../webhook/proxy/scheduling-constraints.ts';

/** Inputs of a plan, as written by `isthmus plan --record`. */
export interface RecordedWorld {
  readonly targets: readonly RecordedTarget[];
  readonly policies: PolicyBook;
  readonly placed: readonly PodClass[];
  /** Pods in flight that the targets' own capacity does not show: already subtracted. */
  readonly inFlight?: readonly PodsInFlight[];
  readonly weights?: PlacementWorld['weights'];
  readonly location?: PlacementWorld['location'];
}

/** Where a pod would be placed. */
export type PlannedPod =
  | {
    readonly kind: 'placed'; readonly pod: string; readonly target: string; readonly afterScaleUp: boolean;
    readonly afterSeconds: number
  }
  | { readonly kind: 'waits'; readonly pod: string; readonly explanation: Explanation }
  | { readonly kind: 'denied'; readonly pod: string; readonly message: string };

/** Plans all pods in order; each reserves its capacity. */
export function simulate(pods: readonly Pod[], world: RecordedWorld): readonly PlannedPod[] {
  const simulation = new Simulation(world);
  return pods.map((pod, index) => simulation.place(pod, `planned-${index}`));
}

class Simulation {
  readonly #world: PlacementWorld;
  readonly #targets: readonly TargetSnapshot[];
  readonly #placed = new PlacedPods();

  constructor({ targets, policies, placed, weights, location }: RecordedWorld) {
    this.#targets = targets.map(restoreTarget);
    this.#world = { policies, placed: this.#placed, ...(weights && { weights }), ...(location && { location }) };
    for (const [index, { byNode, ...known }] of placed.entries()) {
      for (const [nodeName, count] of byNode) {
        for (let i = 0; i < count; i += 1) this.#placed.place({ ...known, uid: `${index}/${nodeName}/${i}` }, nodeName);
      }
    }
  }

  place(pod: Pod, uid: string): PlannedPod {
    const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const constraints = constraintsOf(pod);
    if (constraints.kind !== 'constraints') return { kind: 'denied', pod: name, message: constraints.message };
    const metadata = { ...pod.metadata, uid, creationTimestamp: new Date(0).toISOString() };
    const stored = { ...pod, metadata };
    const proxy = toProxyPodRecord(
      toProxyPod(stored, proxyFieldsOf(stored, { record: writeAdmissionRecord(stored), constraints })),
    );
    return proxy === undefined
      ? { kind: 'denied', pod: name, message: 'it is not elected' }
      : this.#placeProxy(pod, proxy);
  }

  /** Tiers are tried without their wait times. */
  #placeProxy(sourcePod: Pod, proxy: ProxyPod): PlannedPod {
    for (let now = 0; ;) {
      const pod = this.#question(sourcePod, proxy, now);
      const decision = schedulePod(pod, this.#targets);
      if (decision.kind === 'chosen') {
        decision.target.capacity?.take(requirementsIn(pod, decision.target));
        this.#placed.place(proxy, decision.target.nodeName);
        return {
          kind: 'placed', pod: proxy.key, target: decision.target.key, afterScaleUp: decision.afterScaleUp,
          afterSeconds: now / 1_000,
        };
      }
      if (decision.retryInSeconds === undefined) {
        return { kind: 'waits', pod: proxy.key, explanation: explainPod(pod, this.#targets) };
      }
      now += decision.retryInSeconds * 1_000;
    }
  }

  #question(sourcePod: Pod, proxy: ProxyPod, now: number): PodToSchedule {
    const { namespace, name, uid, labels } = proxy;
    const chaperon = toPodChaperon(sourcePod, { clusterId: 'plan', namespace, name, uid, labels });
    return toPodToSchedule({ proxy, sourcePod, chaperon, now }, this.#world, this.#targets, { refusals: new Map() });
  }
}
