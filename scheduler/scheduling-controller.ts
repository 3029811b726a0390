// Shell of scheduling: gathers what is known of a proxy pod and of the targets, lets pure functions decide, and does the one step they name.
// Nothing here polls: proxies, chaperons, delegates, summaries and targets are watched, and each change asks for the pods it concerns.
import type { Logger } from 'pino';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import type { Pod } from '../api/core.ts';
import type { Chaperon, DelegatePod } from '../model/delegate-pod.ts';
import type { Plan } from '../model/plan.ts';
import { toPodChaperon } from '../model/pod-chaperon.ts';
import { isTerminal } from '../model/pod.ts';
import { sourcePodOf, type ProxyPod } from '../model/proxy-pod.ts';
import type { OpenedManifest } from '../model/sealed-manifest.ts';
import { isConflict, isNotFound } from '../kubernetes/api-error.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { DONE, startController, type Controller, type ReconcileResult } from '../kubernetes/controller.ts';
import { executePlan } from '../kubernetes/execute-plan.ts';
import type { Informer } from '../kubernetes/informer.ts';
import type { SigningKeyStore } from '../kubernetes/signing-key-store.ts';
import type { TargetCluster } from '../kubernetes/target-cluster.ts';
import type { TargetClusters } from '../kubernetes/target-clusters.ts';
import type { TargetSession } from '../kubernetes/target-session.ts';
import { createCandidate, findCandidate } from './candidate-client.ts';
import { planPlacement, planUnschedulable, type Candidate } from './placement.ts';
import { PodMemory } from './pod-memory.ts';
import { schedulePod, type RejectedTarget } from './schedule-pod.ts';
import { toRequirements } from './target-capacity.ts';
import { TargetViews } from './target-views.ts';

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
  readonly logger: Logger;
}

/** Pods worked on at once. A pod whose target does not answer holds one of these and nobody else's. */
const CONCURRENCY = 1_000;
/** How long a target that refused a pod is not asked again, in ms: its scheduler's word may change soon, its admission's rarely. */
const REFUSAL_MS = { verdict: 5_000, rejected: 15_000 };

/** Starts the scheduler. It decides nothing before all proxies and targets are known. */
export function startScheduling(options: SchedulingOptions, signal: AbortSignal): void {
  const { proxies, targets, logger } = options;
  const scheduling = new Scheduling(options);
  const reconcile = (key: string) => scheduling.reconcile(key, signal);
  const ready = Promise.all([proxies.synced, targets.untilSynced()]);
  scheduling.observe(startController({ name: 'scheduling', reconcile, concurrency: CONCURRENCY, logger, ready }, signal));
}

/** A candidate on its way. */
interface Sending {
  readonly target: TargetCluster | undefined;
  readonly chaperon: PodChaperon;
}

class Scheduling {
  readonly #options: SchedulingOptions;
  readonly #views = new TargetViews();
  readonly #memories = new Map<string, PodMemory>();
  /** Keys of pods that no target could take. */
  readonly #waiting = new Set<string>();
  readonly #lastVerdictAt = new Map<string, number>();
  readonly #startedAt = Date.now();
  #enqueue: (key: string) => void = () => undefined;

  constructor(options: SchedulingOptions) {
    this.#options = options;
  }

  // --- observe

  observe(controller: Controller): void {
    const { proxies, targets } = this.#options;
    this.#enqueue = (key) => controller.enqueue(key);
    proxies.onChange((key, before, after) => {
      if (before !== undefined && before.uid !== after?.uid) this.#forget(before);
      if (after?.nodeName !== undefined) this.#memories.delete(after.uid); // from the bind on, the pod is the feedback controller's
      else this.#enqueue(key);
    });
    targets.listen({
      sessionOpened: (target, session) => this.#observeSession(target, session),
      changed: (target) => this.#targetChanged(target),
      removed: (target) => {
        this.#views.remove(target.key);
        this.#wakeWaiting();
      },
    });
  }

  #observeSession(target: TargetCluster, session: TargetSession): void {
    session.summaries.onChange((_key, _before, after) => {
      this.#views.publish(target.key, after);
      this.#wakeWaiting();
    });
    session.chaperons.onChange((_key, before, after) => this.#observeCandidate(target, before, after));
    session.delegates.onChange((_key, before, after) => this.#observeDelegate(target, before, after));
  }

  #observeDelegate(target: TargetCluster, before: DelegatePod | undefined, after: DelegatePod | undefined): void {
    if (after?.verdict.kind === before?.verdict.kind && after?.terminating === before?.terminating && !hasEnded(after)) return;
    if (after !== undefined) this.#observeVerdict(target, after);
    if (before !== undefined && (after === undefined || hasEnded(after))) this.#views.release(target.key, before.parentUid);
    this.#observeCandidate(target, before, after);
  }

  #observeVerdict(target: TargetCluster, delegate: DelegatePod): void {
    if (delegate.verdict.kind === 'pending') return;
    this.#lastVerdictAt.set(target.key, performance.now());
    if (delegate.verdict.kind === 'scheduled') this.#views.ledger.scheduled(target.key, delegate.parentUid, delegate.resourceVersion);
  }

  #observeCandidate(target: TargetCluster, before: Chaperon | DelegatePod | undefined, after: Chaperon | DelegatePod | undefined): void {
    const record = after ?? before;
    if (record === undefined || this.#options.proxies.get(record.parentKey)?.nodeName !== undefined) return;
    if (after !== undefined) this.#memoryOf(record.parentUid).targets.add(target.key);
    this.#enqueue(record.parentKey);
  }

  #targetChanged(target: TargetCluster): void {
    const { availability } = target;
    this.#views.update(target, availability.kind === 'ready' ? undefined : availability);
    if (availability.kind !== 'ready') return;
    this.#wakeWaiting();
    for (const key of this.#options.proxies.keys()) {
      if (this.#options.proxies.get(key)?.nodeName === undefined) this.#enqueue(key);
    }
  }

  #wakeWaiting(): void {
    for (const key of this.#waiting) this.#enqueue(key);
    this.#waiting.clear();
  }

  // --- gather, decide, act

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const proxy = this.#options.proxies.get(key);
    if (proxy === undefined || proxy.nodeName !== undefined) return DONE;
    const memory = this.#memoryOf(proxy.uid);
    const now = performance.now();
    const candidates = this.#gatherCandidates(proxy, memory, now);
    await this.#settlePendingCreate(proxy, memory, signal);
    const step = planPlacement({ proxy, candidates, pendingCreate: memory.pendingCreate !== undefined, unheard: this.#unheard(proxy) }, now);
    switch (step.kind) {
      case 'settled':
        return DONE;
      case 'wait':
        return step.ms === undefined ? DONE : { kind: 'requeue-after', ms: step.ms };
      case 'choose-target':
        return this.#chooseTarget(proxy, memory, signal);
      case 'bind':
        return this.#bind(memory, step.plan, signal);
      case 'withdraw':
        if (step.refusal !== undefined) memory.refuse(step.target, step.refusal, now + REFUSAL_MS.verdict);
        await this.#withdraw(step, signal);
        return DONE;
      case 'release':
        await executePlan(this.#options.source, step.plan, signal).catch(ignore(isNotFound));
        return DONE;
    }
  }

  #gatherCandidates(proxy: ProxyPod, memory: PodMemory, now: number): Candidate[] {
    const candidates: Candidate[] = [];
    for (const key of memory.targets) {
      const target = this.#options.targets.get(key);
      const found = target === undefined ? 'nothing' : findCandidate(target, proxy);
      if (found === 'nothing') this.#left(memory, key);
      if (target === undefined || found === 'nothing' || found === 'unknown') continue;
      if (memory.pendingCreate?.target === key) memory.pendingCreate = undefined;
      const waitingSince = Math.max(memory.firstSeen(key, now), this.#lastVerdictAt.get(key) ?? 0);
      candidates.push({ ...found, target: key, nodeName: target.nodeName, reachable: target.availability.kind === 'ready', waitingSince });
    }
    return candidates;
  }

  /** The target holds nothing of the pod, unless a create is still under way. */
  #left(memory: PodMemory, target: string): void {
    if (memory.pendingCreate?.target === target) return;
    memory.left(target);
    if (this.#views.release(target, memory.uid)) this.#wakeWaiting();
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
      this.#left(memory, pending.target);
    } else if (pending.kind === 'unconfirmed') {
      const restored = this.#restoreSourcePod(proxy);
      if (restored?.kind === 'restored') await this.#sendCandidate(memory, { target, chaperon: this.#toChaperon(proxy, restored.pod) }, signal);
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
    const requirements = toRequirements(restored.pod);
    const decision = schedulePod({ namespace: proxy.namespace, requirements, refusals }, this.#views.snapshots());
    if (decision.kind === 'none') {
      this.#waiting.add(proxy.key);
      await this.#tellUnschedulable(proxy, decision.rejected, signal);
      return nextEnd === undefined ? DONE : { kind: 'requeue-after', ms: nextEnd - now };
    }
    this.#views.assume(decision.target.key, proxy.uid, requirements);
    const target = this.#options.targets.get(decision.target.key);
    return this.#sendCandidate(memory, { target, chaperon: this.#toChaperon(proxy, restored.pod) }, signal);
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
      this.#left(memory, target.key);
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
    await executePlan(this.#options.source, plan, signal).catch(ignore(isNotFound));
  }

  /** Targets that worked once, have not been heard since this process began, and may hold a candidate of a pod older than that. */
  #unheard(proxy: ProxyPod): string[] {
    if (proxy.createdAt >= this.#startedAt) return [];
    const unheard: string[] = [];
    for (const target of this.#options.targets.all()) {
      const known = this.#options.targets.object(target.ref)?.status.clusterID !== undefined;
      if (known && !target.session?.hasSynced) unheard.push(target.key);
    }
    return unheard;
  }

  /** The pod as its user made it; undefined while the webhook's keys are not known, whose arrival brings the pod back. */
  #restoreSourcePod(proxy: ProxyPod): OpenedManifest | undefined {
    const { keys } = this.#options.signingKeys;
    if (keys === undefined) this.#waiting.add(proxy.key);
    return keys === undefined ? undefined : sourcePodOf(proxy, keys);
  }

  #toChaperon(proxy: ProxyPod, sourcePod: Pod): PodChaperon {
    const { namespace, name, uid } = proxy;
    return toPodChaperon(sourcePod, { clusterId: this.#options.sourceId, namespace, name, uid });
  }

  #memoryOf(uid: string): PodMemory {
    let memory = this.#memories.get(uid);
    if (memory === undefined) this.#memories.set(uid, (memory = new PodMemory(uid)));
    return memory;
  }

  #forget(proxy: ProxyPod): void {
    this.#views.releaseEverywhere(proxy.uid);
    this.#memories.delete(proxy.uid);
    this.#waiting.delete(proxy.key);
  }
}

function hasEnded(delegate: DelegatePod | undefined): boolean {
  return isTerminal(delegate?.status.phase);
}

function ignore(expected: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!expected(error)) throw error;
  };
}
