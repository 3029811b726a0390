// Shell of scheduling: gathers what is known of a proxy pod and of the targets, lets pure functions decide, and does the one step they name.
// Nothing here polls: proxies, chaperons, delegates, summaries and targets are watched, and each change asks for the pods it concerns.
import type { Logger } from 'pino';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import type { Pod } from '../api/core.ts';
import type { Plan } from '../model/plan.ts';
import { toPodChaperon } from '../model/pod-chaperon.ts';
import { sourcePodOf, type ProxyPod } from '../model/proxy-pod.ts';
import type { OpenedManifest } from '../model/sealed-manifest.ts';
import { isConflict, isNotFound } from '../kubernetes/api-error.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { DONE, startController, type Controller, type ReconcileResult } from '../kubernetes/controller.ts';
import type { EventSink } from '../kubernetes/event-recorder.ts';
import { executePlan } from '../kubernetes/execute-plan.ts';
import type { Informer } from '../kubernetes/informer.ts';
import type { SigningKeyStore } from '../kubernetes/signing-key-store.ts';
import type { TargetCluster } from '../kubernetes/target-cluster.ts';
import type { TargetClusters } from '../kubernetes/target-clusters.ts';
import { createCandidate } from './candidate-client.ts';
import { DecisionCache } from './decision-cache.ts';
import type { DecisionToLog } from './decision-log.ts';
import { overriddenChaperon } from './delegate-overrides.ts';
import { toPlacementRecord, withPlacementRecord } from './explain.ts';
import { isLocal, requirementsIn } from './filters.ts';
import { ObservedState } from './observed-state-client.ts';
import { failedScheduling } from './placement-event.ts';
import { PlacementInputs } from './placement-inputs-client.ts';
import { rulesFor } from './placement-rules.ts';
import { toPodToSchedule, type PlacementWorld } from './placement-wishes.ts';
import { startPolicyStatus } from './policy-status-controller.ts';
import { planPlacement, planUnschedulable } from './placement.ts';
import type { PodMemory } from './pod-memory.ts';
import type { RejectedTarget } from './schedule-pod.ts';

/** What the scheduler works with. */
export interface SchedulingOptions {
  readonly source: ClusterClient;
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  /** Proxy pods of the source. */
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  /** The webhook's keys; a manifest is used only when one of them has signed it. */
  readonly signingKeys: SigningKeyStore;
  /** Where users read what became of their pods. */
  readonly events: EventSink;
  readonly logger: Logger;
  /** Weights of scores and where the source is, as the installation says. */
  readonly placement?: Pick<PlacementWorld, 'weights' | 'location'> | undefined;
  /** Where decisions are written down with what they were made on. */
  readonly decisionLog?: { write(decision: DecisionToLog): void } | undefined;
}

/** Pods worked on at once. A pod whose target does not answer holds one of these and nobody else's. */
const CONCURRENCY = 1_000;
/** How long a target that refused a pod is not asked again, in ms: its scheduler's word may change soon, its admission's rarely. */
const REFUSAL_MS = { verdict: 5_000, rejected: 15_000 };

/** Starts the scheduler. It decides nothing before all proxies and targets are known. */
export function startScheduling(options: SchedulingOptions, signal: AbortSignal): void {
  const { proxies, targets, logger } = options;
  const inputs = new PlacementInputs(options.source, logger);
  const scheduling = new Scheduling(options, inputs);
  const reconcile = (key: string) => scheduling.reconcile(key, signal);
  const ready = Promise.all([proxies.synced, targets.untilSynced(), inputs.untilHeard()]);
  scheduling.observe(startController({ name: 'scheduling', reconcile, concurrency: CONCURRENCY, logger, ready }, signal));
  startPolicyStatus({ source: options.source, inputs, logger }, signal);
  void inputs.run(signal);
}

/** A candidate on its way. */
interface Sending {
  readonly target: TargetCluster | undefined;
  readonly chaperon: PodChaperon;
}

class Scheduling {
  readonly #options: SchedulingOptions;
  readonly #state: ObservedState;
  readonly #decisions = new DecisionCache();

  constructor(options: SchedulingOptions, inputs: PlacementInputs) {
    this.#options = options;
    this.#state = new ObservedState({ ...options, inputs });
  }

  observe(controller: Controller): void {
    this.#options.signingKeys.onChange(() => this.#state.wakeWaiting());
    this.#state.observe((key) => controller.enqueue(key));
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const proxy = this.#options.proxies.get(key);
    if (proxy === undefined || proxy.nodeName !== undefined) return DONE;
    const memory = this.#state.memoryOf(proxy.uid);
    const now = performance.now();
    const candidates = this.#state.gatherCandidates(proxy, memory, now);
    await this.#settlePendingCreate(proxy, memory, signal);
    const step = planPlacement({ proxy, candidates, pendingCreate: memory.pendingCreate !== undefined, unheard: this.#state.unheard(proxy) }, now);
    switch (step.kind) {
      case 'settled':
        return DONE;
      case 'wait':
        return step.ms === undefined ? DONE : { kind: 'requeue-after', ms: step.ms };
      case 'choose-target':
        return this.#chooseTarget(proxy, memory, signal);
      case 'bind':
        return this.#bind(memory, withPlacementRecord(step.plan, memory.placement), signal);
      case 'withdraw':
        if (step.refusal !== undefined) memory.refuse(step.target, step.refusal, now + REFUSAL_MS.verdict);
        await this.#withdraw(step, signal);
        return DONE;
      case 'release':
        await executePlan(this.#options.source, step.plan, signal).catch(ignore(isNotFound));
        return DONE;
    }
  }

  /** Finds out what became of a create that is not visible: asks again if no answer came, sees it gone if the collection is past it. */
  async #settlePendingCreate(proxy: ProxyPod, memory: PodMemory, signal: AbortSignal): Promise<void> {
    const pending = memory.pendingCreate;
    if (pending === undefined) return;
    const target = this.#options.targets.get(pending.target);
    const chaperons = target?.session?.chaperons;
    const isGone = target === undefined || (pending.kind === 'created' && Number(chaperons?.resourceVersion ?? 0) >= pending.resourceVersion);
    if (isGone) {
      memory.pendingCreate = undefined;
      this.#state.left(memory, pending.target);
    } else if (pending.kind === 'unconfirmed') {
      const restored = this.#restoreSourcePod(proxy);
      if (restored?.kind === 'restored') await this.#sendCandidate(memory, { target, chaperon: this.#overridden(proxy, this.#toChaperon(proxy, restored.pod), target) }, signal);
    }
  }

  async #chooseTarget(proxy: ProxyPod, memory: PodMemory, signal: AbortSignal): Promise<ReconcileResult> {
    const restored = this.#restoreSourcePod(proxy);
    if (restored === undefined) return DONE;
    if (restored.kind === 'invalid') {
      await this.#tellUnschedulable(proxy, [{ target: 'any', reason: 'ManifestInvalid', message: restored.message }], signal);
      return DONE;
    }
    const now = performance.now();
    const { byTarget: refusals, nextEnd } = memory.refusals(now);
    const chaperon = this.#toChaperon(proxy, restored.pod);
    const targets = this.#state.views.snapshots();
    const question = { proxy, sourcePod: restored.pod, chaperon, now: Date.now() };
    const pod = toPodToSchedule(question, this.#state.world, targets, { refusals, share: (requirements) => this.#decisions.share(requirements) });
    const decision = this.#decisions.decide(pod, targets);
    this.#options.decisionLog?.write({ time: new Date().toISOString(), name: proxy.key, pod, targets, decision });
    if (decision.kind === 'none') {
      this.#state.wait(proxy, !isLocal(pod));
      await this.#tellUnschedulable(proxy, decision.rejected, signal);
      const waits = [...(nextEnd === undefined ? [] : [nextEnd - now]), ...(decision.retryInSeconds === undefined ? [] : [decision.retryInSeconds * 1_000])];
      return waits.length === 0 ? DONE : { kind: 'requeue-after', ms: Math.min(...waits) };
    }
    memory.placement = toPlacementRecord(decision);
    this.#state.assume(decision.target.key, proxy, requirementsIn(pod, decision.target));
    const target = this.#options.targets.get(decision.target.key);
    return this.#sendCandidate(memory, { target, chaperon: this.#overridden(proxy, chaperon, target) }, signal);
  }

  /** Sends the create. When no answer comes it throws, and the pod stays with this target until one does. */
  async #sendCandidate(memory: PodMemory, { target, chaperon }: Sending, signal: AbortSignal): Promise<ReconcileResult> {
    const client = target?.session?.client;
    if (target === undefined || client === undefined) return DONE; // the target's return, or its removal, brings the pod back here
    memory.targets.add(target.key);
    memory.pendingCreate = { kind: 'unconfirmed', target: target.key };
    const answer = await createCandidate(client, chaperon, signal);
    if (answer.kind === 'created') {
      memory.pendingCreate = { ...answer, target: target.key };
    } else {
      memory.pendingCreate = undefined;
      memory.refuse(target.key, answer.refusal, performance.now() + REFUSAL_MS.rejected);
      this.#state.left(memory, target.key);
    }
    return { kind: 'requeue-after', ms: 0 };
  }

  async #bind(memory: PodMemory, plan: Plan, signal: AbortSignal): Promise<ReconcileResult> {
    if (memory.bindSent) return DONE;
    memory.bindSent = true;
    try {
      await executePlan(this.#options.source, plan, signal);
    } catch (error) {
      memory.bindSent = false;
      // The pod has gone, or has its node already: the watch tells which.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return DONE;
  }

  async #withdraw({ target, plan }: { readonly target: string; readonly plan: Plan }, signal: AbortSignal): Promise<void> {
    const client = this.#options.targets.get(target)?.session?.client;
    if (client !== undefined) await executePlan(client, plan, signal);
  }

  async #tellUnschedulable(proxy: ProxyPod, rejected: readonly RejectedTarget[], signal: AbortSignal): Promise<void> {
    const plan = planUnschedulable(proxy, rejected, new Date().toISOString());
    if (plan.length > 0) this.#options.events.record(failedScheduling(proxy, rejected));
    await executePlan(this.#options.source, plan, signal).catch(ignore(isNotFound));
  }

  /** The pod as its user made it; undefined while the webhook's keys are not known, whose arrival brings the pod back. */
  #restoreSourcePod(proxy: ProxyPod): OpenedManifest | undefined {
    const { keys } = this.#options.signingKeys;
    if (keys === undefined) this.#state.waiting.add(proxy.key);
    return keys === undefined ? undefined : sourcePodOf(proxy, keys);
  }

  #toChaperon(proxy: ProxyPod, sourcePod: Pod): PodChaperon {
    const { namespace, name, uid } = proxy;
    return toPodChaperon(sourcePod, { clusterId: this.#options.sourceId, namespace, name, uid });
  }

  /** As policies would have it in this target. */
  #overridden(proxy: ProxyPod, chaperon: PodChaperon, target: TargetCluster | undefined): PodChaperon {
    const rules = rulesFor(proxy, this.#state.world.policies);
    if (rules.overrides === undefined) return chaperon;
    const snapshot = this.#state.views.snapshots().find(({ key }) => key === target?.key);
    const patched = overriddenChaperon(chaperon, rules, snapshot?.traits?.labels ?? {});
    return patched.kind === 'chaperon' ? patched.chaperon : chaperon;
  }
}

function ignore(expected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!expected(error)) throw error;
  };
}
