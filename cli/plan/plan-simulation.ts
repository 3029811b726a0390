// Simulates admission and the scheduler for the pods of a manifest, one after the other, on a snapshot.
import jsonPatch from 'fast-json-patch';
import type { Pod, StringMap } from '../../api/objects/core.ts';
import { NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../api/objects/keys.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { toProxyPodRecord, type ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { explainPod, type Explanation } from '../../scheduler/explain/explain.ts';
import { requirementsIn } from '../../scheduler/decision/filters.ts';
import { PlacedPods, type PodClass } from '../../scheduler/snapshot/placed-pods.ts';
import type { PolicyIndex } from '../../scheduler/snapshot/placement-rules.ts';
import { toPodToSchedule, type PlacementContext } from '../../scheduler/decision/placement-constraints.ts';
import { restoreTarget, type RecordedTarget } from '../../scheduler/explain/recorded-inputs.ts';
import { schedulePod } from '../../scheduler/decision/schedule-pod.ts';
import type { Rejection } from '../../scheduler/snapshot/rejection.ts';
import type { PodToSchedule, TargetSnapshot } from '../../scheduler/snapshot/snapshot.ts';
import { admitPod } from '../../webhook/admission/admit-pod.ts';
import { admitPodOfNamespace, type Election } from '../../webhook/admission/namespace-election.ts';
import type { PodToExplain } from '../placement/dry-run.ts';
import type { PodsInFlight } from '../placement/in-flight-pods.ts';

/** Inputs of a plan, as written by `isthmus plan --record`. */
export interface RecordedState {
  readonly targets: readonly RecordedTarget[];
  readonly policies: PolicyIndex;
  readonly placed: readonly PodClass[];
  /** Pods in flight that the targets' own capacity does not show: already subtracted. */
  readonly inFlight?: readonly PodsInFlight[];
  readonly weights?: PlacementContext['weights'];
  readonly location?: PlacementContext['location'];
  /** Namespaces that elect all of their pods. */
  readonly elections?: ReadonlyMap<string, Election>;
}

/** Where a pod would be placed. */
export type PlannedPod =
  | {
    readonly kind: 'placed'; readonly pod: string; readonly target: string; readonly afterScaleUp: boolean;
    readonly afterSeconds: number
  }
  | { readonly kind: 'waits'; readonly pod: string; readonly explanation: Explanation }
  /** It runs in the source. */
  | { readonly kind: 'local'; readonly pod: string; readonly message: string }
  | { readonly kind: 'denied'; readonly pod: string; readonly message: string };

/** Why targets reject pods of a namespace, by namespace and target. */
export type RejectedNamespaces = ReadonlyMap<string, ReadonlyMap<string, Rejection>>;

/** Plans all pods in order; each reserves its capacity. */
export function simulate(
  pods: readonly Pod[], state: RecordedState, rejected: RejectedNamespaces = new Map(),
): readonly PlannedPod[] {
  return [...simulateEach(pods, state, rejected)];
}

/** The same, one after the other as they are asked for: each may take milliseconds. */
export function* simulateEach(
  pods: readonly Pod[], state: RecordedState, rejected: RejectedNamespaces = new Map(),
): Generator<PlannedPod, void> {
  const simulation = new Simulation(state, rejected);
  for (const [index, pod] of pods.entries()) yield simulation.place(pod, `planned-${index}`);
}

/** A pod as admission would store it, or what happens to it otherwise. */
export type AdmittedPod = ({ readonly kind: 'admitted'; readonly proxy: ProxyPod } & PodToExplain)
  | { readonly kind: 'local'; readonly message: string } | { readonly kind: 'denied'; readonly message: string };

/** Admits a pod as the source's API server and webhook would. */
export function admitPlanned(pod: Pod, uid: string, { policies, elections }: RecordedState): AdmittedPod {
  const { namespace = '' } = pod.metadata;
  const election = elections?.get(namespace);
  const problem = namespaceProblem(namespace, policies, election);
  if (problem !== undefined) return problem;
  const stored: Pod = { ...pod, metadata: { ...pod.metadata, uid, creationTimestamp: new Date(0).toISOString() } };
  const admission = election === undefined ? admitPod(stored) : admitPodOfNamespace(stored, election, {});
  if (admission.kind === 'deny') return { kind: 'denied', message: `${admission.reason}: ${admission.message}` };
  if (admission.kind === 'pass') return { kind: 'local', message: 'it is not elected' };
  const operations = structuredClone(admission.patch) as Parameters<typeof jsonPatch.applyPatch>[1];
  const admitted = jsonPatch.applyPatch(structuredClone(stored), [...operations]).newDocument;
  const [proxy, restored] = [toProxyPodRecord(admitted), restoreSourcePod(admitted)];
  if (proxy === undefined || restored.kind === 'invalid') return { kind: 'local', message: 'it is not elected' };
  return { kind: 'admitted', proxy, sourcePod: restored.pod };
}

/** A recording without namespaces knows nothing of them. */
function namespaceProblem(
  namespace: string, { isComplete, namespaces }: PolicyIndex, election: Election | undefined,
): AdmittedPod | undefined {
  if (!isComplete || namespaces.size === 0 || election !== undefined) return undefined;
  const labels: StringMap | undefined = namespaces.get(namespace);
  if (labels === undefined) {
    return { kind: 'denied', message: `namespace ${namespace} does not exist in this cluster; create it first` };
  }
  if (labels[NAMESPACE_OPT_IN_LABEL] === NAMESPACE_OPT_IN_VALUE || isOptedInOtherwise(labels)) return undefined;
  return {
    kind: 'local',
    message:
      `namespace ${namespace} has no label ${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}, so its pods are not ` +
        'elected',
  };
}

/** `isthmus install --liqo-labels` takes these as well. */
function isOptedInOtherwise(labels: StringMap): boolean {
  return ['liqo.io/enabled', 'liqo.io/scheduling-enabled'].some((key) => labels[key] === 'true');
}

class Simulation {
  readonly #recorded: RecordedState;
  readonly #context: PlacementContext;
  readonly #rejected: RejectedNamespaces;
  readonly #targets: readonly TargetSnapshot[];
  readonly #placed = new PlacedPods();

  constructor(recorded: RecordedState, rejected: RejectedNamespaces) {
    const { targets, policies, placed, weights, location } = recorded;
    this.#recorded = recorded;
    this.#rejected = rejected;
    this.#targets = targets.map(restoreTarget);
    this.#context = { policies, placed: this.#placed, ...(weights && { weights }), ...(location && { location }) };
    for (const [index, { byNode, ...known }] of placed.entries()) {
      for (const [nodeName, count] of byNode) {
        for (let i = 0; i < count; i += 1) this.#placed.place({ ...known, uid: `${index}/${nodeName}/${i}` }, nodeName);
      }
    }
  }

  place(pod: Pod, uid: string): PlannedPod {
    const admitted = admitPlanned(pod, uid, this.#recorded);
    if (admitted.kind === 'admitted') return this.#placeProxy(admitted.sourcePod, admitted.proxy);
    return { ...admitted, pod: `${pod.metadata.namespace}/${pod.metadata.name}` };
  }

  /** Tiers are tried without their wait times. */
  #placeProxy(sourcePod: Pod, proxy: ProxyPod): PlannedPod {
    for (let now = 0; ;) {
      const pod = this.#question(sourcePod, proxy, now);
      const decision = schedulePod(pod, this.#targets);
      if (decision.kind === 'chosen') {
        const { capacity, nodeInfo } = decision.target;
        for (const filled of decision.afterScaleUp ? [capacity, nodeInfo?.headroom] : [capacity]) {
          filled?.addPod(requirementsIn(pod, decision.target));
        }
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
    const rejectedBy = this.#rejected.get(namespace) ?? new Map<string, Rejection>();
    return toPodToSchedule({ proxy, sourcePod, chaperon, now }, this.#context, this.#targets, { rejectedBy });
  }
}
