// Subtracts pods in flight from the targets' free capacity in a command's view, as the scheduler does.
import { PODS } from '../../api/resource-types.ts';
import { isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { restoreSourcePod } from '../../model/proxy/admission-record.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import { toProxyPodRecord } from '../../model/proxy/proxy-pod.ts';
import { splitKey } from '../../model/pod/pod.ts';
import { requirementsIn } from '../../scheduler/decision/filters.ts';
import { pendingCandidates, type PendingCandidate } from '../../scheduler/cache/pending-candidates.ts';
import type { ClusterCache } from '../../scheduler/cycle/cluster-cache.ts';
import { toPodToSchedule } from '../../scheduler/decision/placement-constraints.ts';
import type { NodeRequirements } from '../../scheduler/snapshot/node-requirements.ts';

/** Pods, by `namespace/name`, that a target's capacity does not show yet. */
export interface PodsInFlight {
  readonly target: string;
  readonly pods: readonly string[];
}

interface Gathered {
  readonly client: ClusterClient;
  readonly sourceId: string;
  readonly targets: TargetClusters;
  readonly state: ClusterCache;
}

/** Requests of pods in flight, subtracted from the targets' free capacity until the targets show them. */
export class InFlightReservations {
  readonly #gathered: Gathered;
  /** UIDs of the pods that capacity is held for, by target. */
  readonly #held = new Map<string, ReadonlySet<string>>();

  constructor(gathered: Gathered) {
    this.#gathered = gathered;
  }

  /** Brings the reservations up to date. Returns the pods by target; targets without any are omitted. */
  async renew(signal: AbortSignal): Promise<readonly PodsInFlight[]> {
    const all: PodsInFlight[] = [];
    for (const { key: target, session } of this.#gathered.targets.all()) {
      if (session === undefined) continue;
      const pending = pendingCandidates(
        { chaperons: session.chaperons.records(), delegates: session.delegates.records(), summary: session.summary },
      );
      this.#releaseOthers(target, pending);
      const pods: string[] = [];
      for (const pod of pending) if (await this.#hold(target, pod, signal)) pods.push(pod.key);
      if (pods.length > 0) all.push({ target, pods });
    }
    return all.toSorted((one, other) => (one.target < other.target ? -1 : 1));
  }

  #releaseOthers(target: string, pending: readonly PendingCandidate[]): void {
    const uids = new Set(pending.map(({ uid }) => uid));
    for (const uid of this.#held.get(target) ?? []) {
      if (!uids.has(uid)) this.#gathered.state.views.release(target, uid);
    }
    this.#held.set(target, uids);
  }

  /** Reads what a pod asks for when that is not held yet. Returns false for one that was deleted meanwhile. */
  async #hold(target: string, pod: PendingCandidate, signal: AbortSignal): Promise<boolean> {
    const { views } = this.#gathered.state;
    if (views.ledger.targetsOf(pod.uid).includes(target)) return true;
    const requirements = await requirementsOf(this.#gathered, target, pod, signal);
    if (requirements !== undefined) views.assume(target, pod.uid, requirements);
    return requirements !== undefined;
  }
}

async function requirementsOf(
  { client, sourceId, state }: Gathered, target: string, { key, uid }: PendingCandidate, signal: AbortSignal,
): Promise<NodeRequirements | undefined> {
  const { namespace, name } = splitKey(key);
  const pod = await client.get(PODS, { namespace, name }, signal).catch(unless(isNotFound));
  if (pod?.metadata.uid !== uid) return undefined;
  const [proxy, restored] = [toProxyPodRecord(pod), restoreSourcePod(pod)];
  if (proxy === undefined || restored.kind === 'invalid') return undefined;
  const targets = state.views.snapshots();
  const chaperon = toPodChaperon(restored.pod, { clusterId: sourceId, namespace, name, uid, labels: proxy.labels });
  const question = toPodToSchedule(
    { proxy, sourcePod: restored.pod, chaperon, now: Date.now() }, state.context, targets, { rejectedBy: new Map() },
  );
  const snapshot = targets.find((one) => one.key === target);
  return snapshot === undefined ? undefined : requirementsIn(question, snapshot);
}

/** Output lines. */
export function inFlightLines(held: readonly PodsInFlight[]): string[] {
  return held.map(({ target, pods }) => {
    const named = pods.slice(0, 5).join(', ');
    return `Sent to ${target}, and subtracted from its free capacity: ${pods.length} ` +
      `${pods.length === 1 ? 'pod' : 'pods'} (${named}${pods.length > 5 ? ', …' : ''}).`;
  });
}
