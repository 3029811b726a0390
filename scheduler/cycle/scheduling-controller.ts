// The scheduling loop: collects the state of a proxy pod and of the targets, calls the pure decision, and performs the
// one step that it returns. Nothing is polled: proxies, chaperons, delegates, summaries and targets are watched, and
// each change enqueues the pods that it concerns.
import type { Plan } from '../../model/objects/plan.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { ignoreStale, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { EventThrottle } from '../../kubernetes/controller/event-throttle.ts';
import { unbound, type SourceControllerOptions } from '../../targets/proxy-pods.ts';
import {
  countElectedPods, observeDecision, observeRejection, type ElectedPod,
} from '../../process/placement-metrics.ts';
import { SCHEDULING_GATED } from '../../model/delegate/cached-delegate.ts';
import { hasSurelyStopped } from '../../model/delegate/confirmation.ts';
import { CandidateSender, REJECTION_MS } from './candidate-sender.ts';
import { Confirmations, targetNamespaceOf } from './confirmation-controller.ts';
import type { DecisionToLog } from '../explain/decision-log.ts';
import { withPlacementRecord } from '../explain/explain.ts';
import { ClusterCache } from './cluster-cache.ts';
import { failedScheduling, scheduled } from '../reporting/placement-event.ts';
import { recordBound, recordCandidate } from './placement-telemetry.ts';
import type { PlacementInputs } from '../cache/placement-inputs.ts';
import type { SchedulerSettings } from '../decision/scheduler-settings.ts';
import {
  planPlacement, planUnschedulable, VERDICT_TIMEOUT_MS, type Candidate, type PlacementState, type PlacementStep,
} from './placement.ts';
import type { PodState } from './pod-state.ts';
import { inSchedulingOrder } from '../queue/waiting-pods.ts';
import type { RejectedTarget } from '../decision/schedule-pod.ts';
import { TargetChooser } from './choose-target.ts';

/** Dependencies of the scheduler. */
export interface SchedulingOptions extends SourceControllerOptions {
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  /** Virtual nodes and policies. The caller runs them after this has started, and may share them. */
  readonly inputs: PlacementInputs;
  /** Sink of Events about pods. */
  readonly events: EventSink;
  /** Score weights and location of the source from the installation's settings. */
  readonly placement?: SchedulerSettings | undefined;
  /** Log of decisions with their inputs. */
  readonly decisionLog?: { write(decision: DecisionToLog): void } | undefined;
  /** Resolves when all proxies, targets and inputs are synced; nothing is decided before. */
  readonly ready: Promise<unknown>;
}

/**
 * Longest time that a pod waits for a change, in ms, whether it fits no target (kube-scheduler
 * `podMaxInUnschedulablePodsDuration`) or has a candidate: a change that was missed must not hold it indefinitely.
 */
const LONGEST_WAIT_MS = 300_000;
/**
 * Pause in ms after a binding that met a conflict, or no pod. The watch usually shows within it that the pod is gone or
 * has its node. But an API server answers 409 to a Binding for each error of its storage, timeouts of etcd among them
 * (1.36, `BindingREST.assignPod`): then nothing has changed, and no watch tells.
 */
const BIND_AGAIN_MS = 1_000;
/** Concurrent reconciles. A pod whose target does not answer occupies one of them and blocks no other pod. */
const CONCURRENCY = 1_000;

/** Starts the loop. Returns its cache, for the controllers that share it. */
export function startScheduling(options: SchedulingOptions, signal: AbortSignal): ClusterCache {
  const { logger, ready } = options;
  const scheduling = new Scheduling(options, new EventThrottle(options.events, signal));
  scheduling.confirmations.start(signal);
  const reconcile = (key: string) => scheduling.reconcile(key, signal);
  let hasBegun = false;
  // by priority, whatever order they were listed or woken in
  const enqueueAll = (): void => {
    for (const { key } of inSchedulingOrder(unbound(options.proxies))) controller.enqueue(key);
  };
  const begin = async (): Promise<void> => {
    await ready;
    hasBegun = true;
    scheduling.cache.begin();
    enqueueAll();
  };
  const controller =
    startController({ name: 'scheduling', reconcile, concurrency: CONCURRENCY, logger, ready: begin() }, signal);
  scheduling.cache.observe((key) => void (hasBegun && controller.enqueue(key)));
  // a target that has a candidate already may be excluded now
  options.inputs.listen({ nodeChanged: () => undefined, rulesChanged: () => void (hasBegun && enqueueAll()) });
  countElectedPods(() => electedPods(options));
  return scheduling.cache;
}

function* electedPods({ proxies, targets }: SchedulingOptions): Iterable<ElectedPod> {
  for (const { nodeName, phase } of proxies.records()) {
    yield { phase, ...(nodeName !== undefined && { target: targets.byNode(nodeName)?.key }) };
  }
}

type Withdrawal = Extract<PlacementStep, { readonly kind: 'delete-candidate' }>;

class Scheduling {
  readonly #options: SchedulingOptions;
  readonly cache: ClusterCache;
  readonly confirmations: Confirmations;
  readonly #chooser: TargetChooser;
  readonly #sender: CandidateSender;
  readonly #successes: EventSink;

  constructor(options: SchedulingOptions, successes: EventSink) {
    this.#successes = successes;
    this.#options = options;
    this.confirmations = new Confirmations(options);
    const withClock = { ...options, clock: options.source.transport.clock };
    this.cache = new ClusterCache(withClock);
    this.cache.deadlines = this.confirmations.deadlines;
    this.#chooser = new TargetChooser(withClock, this.cache);
    this.#sender = new CandidateSender(options.targets, this.cache, this.confirmations);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const proxy = this.#options.proxies.get(key);
    if (proxy === undefined || proxy.nodeName !== undefined) return DONE;
    const podState = this.cache.podStateOf(proxy.uid);
    // it is bound and the watch is behind; the feedback controller owns its candidate now
    if (podState.bindSent) return DONE;
    this.#abandonStoppedCandidates(proxy, podState);
    return this.#requeue(proxy, podState, await this.#step(proxy, podState, signal));
  }

  async #step(proxy: ProxyPod, podState: PodState, signal: AbortSignal): Promise<ReconcileResult> {
    const now = performance.now();
    const candidates = this.cache.gatherCandidates(proxy, podState, now);
    await this.#resolvePendingCreate(proxy, podState, signal);
    const step = planPlacement(this.#gather(proxy, podState, candidates, now), now);
    switch (step.kind) {
      case 'no-change':
        return DONE;
      case 'wait':
        return { kind: 'requeue-after', ms: step.ms ?? LONGEST_WAIT_MS };
      case 'choose-target':
        return this.#chooseTarget(proxy, podState, signal);
      case 'bind':
        return this.#bind(proxy, podState, step, signal);
      case 'delete-candidate':
        return this.#withdraw(proxy, podState, step, signal);
      case 'remove-deadline':
        await this.#sender.removeDeadline(proxy, step, signal);
        return DONE;
      case 'remove-finalizer':
        await executePlan(this.#options.source, step.plan, signal).catch(unless(isNotFound));
        return DONE;
    }
  }

  /** A candidate in a queue would lose its place there: it is withdrawn only for a target that takes the pod now. */
  async #withdraw(
    proxy: ProxyPod, podState: PodState, step: Withdrawal, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { target, rejection } = step;
    if (rejection?.reason === SCHEDULING_GATED && proxy.group === undefined) {
      podState.schedulingGatedIn.set(target, rejection);
      const elsewhere = this.#chooser.chooseElsewhere(proxy, podState);
      if (elsewhere.kind === 'none') {
        await this.#reportUnschedulable(proxy, elsewhere.rejected, signal);
        return { kind: 'requeue-after', ms: VERDICT_TIMEOUT_MS };
      }
    }
    if (rejection !== undefined) this.#noteRejection(proxy, podState, { ...rejection, target });
    await this.#sender.delete(proxy, podState, step, signal);
    return DONE;
  }

  #noteRejection(proxy: ProxyPod, podState: PodState, { target, ...rejection }: RejectedTarget): void {
    const ms = podState.nextPause(target, REJECTION_MS.unschedulable);
    podState.noteRejection(target, rejection, performance.now() + ms);
    observeRejection(target);
    recordCandidate(proxy, podState, { target, error: `${rejection.reason}: ${rejection.message}` });
  }

  /** Abandons candidates that a silent target has stopped by now, at their deadline: the pod may go elsewhere. */
  #abandonStoppedCandidates(proxy: ProxyPod, podState: PodState): void {
    const { deadlines } = this.confirmations;
    for (const key of podState.targets) {
      const goneAt = deadlines.goneAt(targetNamespaceOf(key, proxy), proxy.uid);
      const health = this.#options.targets.get(key)?.serverHealth;
      if (goneAt === undefined || health === undefined) continue;
      if (!hasSurelyStopped({ goneAt, now: performance.now() }, health)) continue;
      const sentAt = new Date(podState.candidateSince ?? NaN).toJSON();
      this.#options.logger.info(
        { target: key, pod: proxy.key, uid: proxy.uid, sentAt },
        'a lost target has stopped its candidate; the pod goes to another target',
      );
      deadlines.abandon(targetNamespaceOf(key, proxy), proxy.uid);
      podState.abandonedIn.add(key);
      if (podState.pendingCreate?.target === key) podState.pendingCreate = undefined;
      this.cache.candidateGone(podState, key);
    }
  }

  #requeue(proxy: ProxyPod, podState: PodState, result: ReconcileResult): ReconcileResult {
    const now = performance.now();
    const recheckTimes = [...podState.targets].map(
      (key) => this.confirmations.deadlines.requeueAt(targetNamespaceOf(key, proxy), proxy.uid, now) ?? Infinity,
    );
    const ms = Math.max(0, Math.min(...recheckTimes) - now) + 1;
    const isSoonEnough = ms === Infinity || (result.kind === 'requeue-after' && result.ms <= ms);
    return isSoonEnough ? result : { kind: 'requeue-after', ms };
  }

  #gather(proxy: ProxyPod, podState: PodState, candidates: readonly Candidate[], now: number): PlacementState {
    const group = this.cache.podTracker.groups.stateOf(proxy.uid)?.kind;
    podState.tooFewSince = group === 'too-few' ? (podState.tooFewSince ?? now) : undefined;
    return {
      proxy, candidates: candidates.map((one) => ({ ...one, exclusion: this.#chooser.exclusionOf(proxy, one.target) })),
      pendingCreate: podState.pendingCreate !== undefined, tooFewSince: podState.tooFewSince,
      unobserved: this.cache.unobserved(proxy, podState), scaleUpUntil: podState.scaleUpUntil,
      ...(group !== undefined && { group }),
    };
  }

  /**
   * Determines the outcome of a create that is not observed: repeats it when no answer came, treats it as gone when the
   * cache is past it.
   */
  async #resolvePendingCreate(proxy: ProxyPod, podState: PodState, signal: AbortSignal): Promise<void> {
    const pending = podState.pendingCreate;
    if (pending === undefined) return;
    const target = this.#options.targets.get(pending.target);
    const seen = target?.session?.candidatesVersion;
    const isGone = target === undefined || (pending.kind === 'created' && Number(seen ?? 0) >= pending.resourceVersion);
    if (isGone) {
      podState.pendingCreate = undefined;
      this.cache.candidateGone(podState, pending.target);
    } else if (pending.kind === 'unconfirmed' && target.isLikelyReachable) {
      // the same chaperon, though policies may have changed: without an answer it is unknown which of two arrived
      await this.#sender.send(proxy, { target: target.key, chaperon: pending.chaperon }, signal);
    }
  }

  async #chooseTarget(proxy: ProxyPod, podState: PodState, signal: AbortSignal): Promise<ReconcileResult> {
    const { reservation } = podState;
    podState.reservation = undefined;
    if (reservation !== undefined) return this.#sender.send(proxy, reservation, signal);
    const began = performance.now();
    const answer = this.#chooser.choose(proxy, podState);
    observeDecision(answer.kind, performance.now() - began);
    switch (answer.kind) {
      case 'chosen':
        this.#chooser.hold(proxy, answer);
        return this.#sender.send(proxy, answer, signal);
      case 'reserved':
        return this.#chooseTarget(proxy, podState, signal);
      case 'later':
        return DONE;
      case 'invalid':
        await this.#reportUnschedulable(
          proxy, [{ target: 'any', reason: 'RecordInvalid', message: answer.message }], signal,
        );
        return DONE;
      case 'none':
        this.cache.podTracker.wait(proxy, answer);
        await this.#reportUnschedulable(proxy, answer.rejected, signal);
        return { kind: 'requeue-after', ms: answer.retryMs ?? LONGEST_WAIT_MS };
    }
  }

  async #bind(
    proxy: ProxyPod, podState: PodState, { target, plan }: { readonly target: string; readonly plan: Plan },
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    podState.bindSent = true;
    try {
      await executePlan(this.#options.source, withPlacementRecord(plan, podState.placement), signal);
      recordBound(proxy, podState, target);
      const nodeName = this.#options.targets.get(target)?.nodeName ?? target;
      this.#successes.record(scheduled(proxy, nodeName, podState.placement));
    } catch (error) {
      podState.bindSent = false;
      ignoreStale(error);
      return { kind: 'requeue-after', ms: BIND_AGAIN_MS };
    }
    return DONE;
  }

  async #reportUnschedulable(proxy: ProxyPod, rejected: readonly RejectedTarget[], signal: AbortSignal): Promise<void> {
    const plan = planUnschedulable(proxy, rejected, new Date().toISOString());
    if (plan.length > 0) this.#options.events.record(failedScheduling(proxy, rejected));
    await executePlan(this.#options.source, plan, signal).catch(unless(isNotFound));
  }
}
