// Sends a pod's candidate to the target that was chosen, and takes back one that is not wanted. Until the outcome of a
// create is known, the pod stays with that target.
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { toBeConfirmed } from '../../model/delegate/confirmation.ts';
import { withTargetKey } from '../../model/delegate/pod-chaperon.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { isConflict, isNotFound, isRejection, unless } from '../../kubernetes/flow/api-error.ts';
import { observeRejection } from '../../process/placement-metrics.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { connectionTimeoutMs, createCandidate } from './candidate-writer.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { targetNamespaceOf, type Confirmations } from './confirmation-controller.ts';
import type { PodState } from './pod-state.ts';

/** A candidate to send. */
export interface CandidateToSend {
  /** Key of the target. */
  readonly target: string;
  readonly chaperon: PodChaperon;
}

/**
 * How long a target is excluded for a pod at first, in ms: after its scheduler found the pod unschedulable, which may
 * change soon; after its API server rejected the create, which rarely changes; after no connection could be made.
 */
export const REJECTION_MS = { unschedulable: 5_000, createRejected: 10_000, unreachable: 2_000 };
/** A target that has not answered a create for this long is probed, in ms. */
const UNANSWERED_MS = 1_000;
const SILENT: Rejection = { reason: 'Unreachable', message: 'it has stopped answering' };

/** Sends candidates and takes them back. */
export class CandidateSender {
  readonly #targets: TargetClusters;
  readonly #cache: ClusterCache;
  readonly #confirmations: Confirmations;

  constructor(targets: TargetClusters, cache: ClusterCache, confirmations: Confirmations) {
    this.#targets = targets;
    this.#cache = cache;
    this.#confirmations = confirmations;
  }

  /** Sends the create. It throws when the outcome is unknown; the pod then stays with this target until it is known. */
  async send(proxy: ProxyPod, toSend: CandidateToSend, signal: AbortSignal): Promise<ReconcileResult> {
    const podState = this.#cache.podStateOf(proxy.uid);
    const target = this.#targets.get(toSend.target);
    const { session } = target ?? {};
    // the target's return or removal enqueues the pod again
    if (target === undefined || session?.mode === undefined) return DONE;
    const isRetry = podState.pendingCreate !== undefined;
    if (!isRetry && !(await session.liveness.probe())) {
      return this.#noteRejection(proxy, target, { rejection: SILENT, ms: REJECTION_MS.unreachable });
    }
    podState.targets.add(target.key);
    if (!isRetry) podState.candidateSince = Date.now();
    podState.pendingCreate = { kind: 'unconfirmed', target: target.key, chaperon: toSend.chaperon };
    const timeout = { signal: session.liveness.silence, ms: connectionTimeoutMs(isRetry) };
    const host = { client: session.client.withConnectTimeout(timeout), mode: session.mode, isRetry };
    const probe = setTimeout(() => void session.liveness.probe(), UNANSWERED_MS);
    const candidate = this.#toCandidate(proxy, toSend.chaperon, target);
    const answer = await createCandidate(host, candidate, signal).finally(() => clearTimeout(probe));
    if (answer.kind !== 'created') {
      const ms = answer.kind === 'unreachable'
        ? REJECTION_MS.unreachable
        : podState.nextPause(target.key, REJECTION_MS.createRejected);
      return this.#noteRejection(proxy, target, { rejection: answer.rejection, ms });
    }
    podState.pendingCreate = { ...answer, target: target.key };
    return { kind: 'requeue-after', ms: 0 };
  }

  /** The object as this target gets it, with a deadline for its confirmation where the target stops it after one. */
  #toCandidate(proxy: ProxyPod, chaperon: PodChaperon, target: TargetCluster): PodChaperon {
    const mayTakeLong = this.#cache.podStateOf(proxy.uid).scaleUpUntil > 0;
    const before = this.#confirmations.deadlineFor(target, proxy, mayTakeLong);
    return withTargetKey(before === undefined ? chaperon : toBeConfirmed(chaperon, before), target.key);
  }

  /** The target certainly has no candidate of the pod: the next target is tried. */
  #noteRejection(
    proxy: ProxyPod, { key }: TargetCluster, { rejection, ms }: { readonly rejection: Rejection; readonly ms: number },
  ): ReconcileResult {
    const podState = this.#cache.podStateOf(proxy.uid);
    podState.pendingCreate = undefined;
    this.#confirmations.deadlines.remove(targetNamespaceOf(key, proxy), proxy.uid);
    podState.noteRejection(key, rejection, performance.now() + ms);
    observeRejection(key);
    this.#cache.candidateGone(podState, key);
    return { kind: 'requeue-after', ms: 0 };
  }

  /**
   * Deletes a candidate. It throws on a timeout and is retried: until then it is unknown whether the candidate is being
   * deleted.
   */
  async delete(
    proxy: ProxyPod, podState: PodState,
    { target, uid, plan }: { readonly target: string; readonly uid: string; readonly plan: Plan }, signal: AbortSignal,
  ): Promise<void> {
    const client = this.#clientOf(target);
    if (client !== undefined) {
      podState.noteDeletion(target, uid, 'sent');
      try {
        await executePlan(client, plan, signal);
        podState.noteDeletion(target, uid, 'done');
      } catch (error) {
        if (isRejection(error) || isConflict(error)) podState.noteDeletion(target, uid, undefined);
        throw error;
      }
    }
    // it is being deleted, so its target need not stop it
    this.#confirmations.deadlines.remove(targetNamespaceOf(target, proxy), proxy.uid);
  }

  /**
   * Removes the deadline by which the target stops a candidate that nobody has confirmed. The watch event of this
   * write requeues the pod.
   */
  async removeDeadline(
    proxy: ProxyPod, { target, plan }: { readonly target: string; readonly plan: Plan }, signal: AbortSignal,
  ): Promise<void> {
    const client = this.#clientOf(target);
    if (client === undefined) return;
    await executePlan(client, plan, signal).catch(unless(isNotFound));
    this.#confirmations.deadlines.remove(targetNamespaceOf(target, proxy), proxy.uid);
  }

  #clientOf(target: string): ClusterClient | undefined {
    return this.#targets.get(target)?.session?.client;
  }
}
