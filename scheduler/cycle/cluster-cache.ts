// The scheduler's cache, kept current by watches: capacity of targets, and per-pod state of each pod without a node. It
// decides nothing; each change enqueues the pods that it concerns.
import type { Pod } from '../../api/objects/core.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/cached-delegate.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { unbound } from '../../targets/proxy-pods.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { findCandidate, hasEnded, candidateStateOf, unobservedTargets } from './candidate-writer.ts';
import type { CandidateDeadlines, TargetClock } from './candidate-deadlines.ts';
import { targetNamespaceOf } from './confirmation-controller.ts';
import type { PlacementInputs } from '../cache/placement-inputs.ts';
import type { PlacementContext } from '../decision/placement-constraints.ts';
import type { SchedulerSettings } from '../decision/scheduler-settings.ts';
import { NO_DELAY, type Delay } from './overdue-pod.ts';
import type { Candidate } from './placement.ts';
import type { MemberState } from '../queue/pod-groups.ts';
import { PodTracker } from '../queue/pod-tracker.ts';
import { PodState } from './pod-state.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';
import { TargetViews } from '../cache/target-views.ts';
import { ViewedTargets } from '../cache/viewed-targets.ts';
import { VerdictTimes } from '../queue/verdict-times.ts';

/** What is watched. */
export interface ObservedClusters {
  /** Proxy pods of the source. */
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  /** Virtual nodes and policies. */
  readonly inputs: PlacementInputs;
  /** The clock of the source's API server, by which pods are created. */
  readonly clock?: Pick<TargetClock, 'latest'>;
  /** Score weights and location from the installation's settings. */
  readonly placement?: SchedulerSettings | undefined;
}

/** The scheduler's cache. */
export class ClusterCache {
  readonly views = new TargetViews();
  /** Where pods are, and which of them wait. */
  readonly podTracker = new PodTracker((key) => this.#enqueue(key));
  readonly #clusters: ObservedClusters;
  readonly #podStates = new Map<string, PodState>();
  readonly #verdicts = new VerdictTimes();
  readonly #viewed: ViewedTargets;
  readonly #startedAt: number;
  /** UIDs of pods without a node in the first list: older than this process, whatever the clocks say. */
  readonly #inherited = new Set<string>();
  /** Targets observed since this process became leader: they show what the last leader did there. */
  readonly #observedTargets = new Set<string>();
  #begun = false;
  /** Deadlines of candidates that a lost target may delay. */
  deadlines: CandidateDeadlines | undefined;
  #enqueue: (key: string) => void = () => undefined;

  constructor(clusters: ObservedClusters) {
    this.#clusters = clusters;
    this.#startedAt = clusters.clock?.latest(performance.now()) ?? Date.now();
    this.#viewed = new ViewedTargets(clusters, this.views, () => this.podTracker.wakeWaiting());
  }

  /** Registers the watch handlers; `enqueue` requests a reconcile of a pod. Call before the informers run. */
  observe(enqueue: (key: string) => void): void {
    const { proxies, targets, inputs } = this.#clusters;
    this.#enqueue = enqueue;
    inputs.listen({
      nodeChanged: (nodeName) => {
        const target = targets.byNode(nodeName);
        if (target !== undefined) this.#targetChanged(target); // it may be cordoned now
        this.podTracker.wakeWaiting();
      },
      rulesChanged: () => this.podTracker.wakeWaiting(),
    });
    proxies.onChange((key, before, after) => {
      if (before !== undefined && before.uid !== after?.uid) this.#forget(before);
      if (!this.#begun && after !== undefined && after.nodeName === undefined) this.#inherited.add(after.uid);
      if (after !== undefined) this.#countPlaced(after);
      // after the binding the feedback controller owns the pod
      if (after?.nodeName !== undefined) this.#podStates.delete(after.uid);
      else this.#enqueue(key);
    });
    targets.listen({
      sessionOpened: (target, session) => this.#observeSession(target, session),
      changed: (target) => this.#targetChanged(target),
      becameReady: () => this.podTracker.wakeWaiting(),
      removed: (target) => {
        this.#viewed.remove(target.key);
        this.#observedTargets.delete(target.key);
        this.#verdicts.forget(target.key);
        this.#forgetReservations(target.key);
        this.#enqueuePodsOf(target.key);
        this.podTracker.wakeWaiting();
      },
    });
  }

  /** Drops reservations of groups in a target that is gone, and enqueues their pods. */
  #forgetReservations(targetKey: string): void {
    for (const podState of this.#podStates.values()) {
      const { reservation } = podState;
      if (reservation?.target !== targetKey) continue;
      podState.reservation = undefined;
      this.candidateGone(podState, targetKey);
      this.#enqueue(reservation.key);
    }
  }

  /** These pods have no candidate in the removed target and no longer wait for its answer: place or release them. */
  #enqueuePodsOf(targetKey: string): void {
    for (const proxy of unbound(this.#clusters.proxies)) {
      const hasAsked = this.#podStates.get(proxy.uid)?.targets.has(targetKey) === true;
      if (hasAsked || this.#mayBeInherited(proxy)) this.#enqueue(proxy.key);
    }
  }

  #observeSession(target: TargetCluster, session: TargetSession): void {
    session.onSummary((summary) => {
      if (this.views.publish(target.key, summary)) this.podTracker.wakeWaiting();
    });
    session.chaperons.onChange((_key, before, after) => this.#observeCandidate(target, before, after));
    session.delegates.onChange((_key, before, after) => this.#observeDelegate(target, before, after));
  }

  #observeDelegate(target: TargetCluster, before: DelegatePod | undefined, after: DelegatePod | undefined): void {
    const isSame = after?.verdict.kind === before?.verdict.kind && after?.terminating === before?.terminating;
    if (isSame && !hasEnded(after)) return;
    if (after !== undefined) this.#observeVerdict(target, after);
    if (before !== undefined && (after === undefined || hasEnded(after))) {
      this.views.release(target.key, before.parentUid);
    }
    this.#observeCandidate(target, before, after);
  }

  #observeVerdict(target: TargetCluster, delegate: DelegatePod): void {
    if (delegate.verdict.kind === 'pending' || delegate.verdict.kind === 'scheduling-gated') return;
    const now = performance.now();
    const proxy = this.#clusters.proxies.get(delegate.parentKey);
    const seenAt = this.#podStates.get(delegate.parentUid)?.firstSeen(target.key, now);
    const isKnown = seenAt !== undefined && proxy?.uid === delegate.parentUid;
    this.#verdicts.note(target.key, now, isKnown ? { seenAt, priority: proxy.priority } : undefined);
    if (delegate.verdict.kind === 'scheduled') {
      this.views.scheduled(target.key, delegate.parentUid, delegate.resourceVersion);
    }
  }

  #observeCandidate(
    target: TargetCluster, before: Chaperon | DelegatePod | undefined, after: Chaperon | DelegatePod | undefined,
  ): void {
    const record = after ?? before;
    const proxy = record && this.#clusters.proxies.get(record.parentKey);
    if (record === undefined || proxy?.nodeName !== undefined) return;
    if (after !== undefined) this.podStateOf(record.parentUid).targets.add(target.key);
    if (proxy?.uid === record.parentUid) this.#countPlaced(proxy);
    this.#enqueue(record.parentKey);
  }

  /** Targets change all the time while a burst waits: only pods that may have something in this one are enqueued. */
  #targetChanged(target: TargetCluster): void {
    this.#viewed.noteHealth(target);
    if (target.session?.hasSynced !== true) return;
    if (target.isLikelyReachable) this.#observedTargets.add(target.key);
    for (const proxy of unbound(this.#clusters.proxies)) {
      const podState = this.#podStates.get(proxy.uid);
      // the watch resumes where it ended: it does not deliver a candidate again that still exists
      if (podState?.abandonedIn.has(target.key) === true) podState.targets.add(target.key);
      if (podState?.targets.has(target.key) === true || this.#mayBeInherited(proxy)) this.#enqueue(proxy.key);
    }
  }

  /** Counts a pod on its node, or where it has a candidate; enqueues pods that wait for other pods. */
  #countPlaced(proxy: ProxyPod): void {
    const [target] = this.#podStates.get(proxy.uid)?.targets ?? [];
    const nodeName = proxy.nodeName ?? this.#clusters.targets.get(target ?? '')?.nodeName;
    this.podTracker.count(proxy, nodeName, () => this.#memberState(proxy));
  }

  #memberState(proxy: ProxyPod): MemberState {
    if (proxy.nodeName !== undefined) return proxy.isBoundInGroup === true ? 'bound' : 'joined';
    const asked = [...(this.#podStates.get(proxy.uid)?.targets ?? [])];
    const isPlaced = asked.some((key) => {
      const target = this.#clusters.targets.get(key);
      const found = target === undefined ? 'nothing' : findCandidate(target, proxy);
      return typeof found === 'object' && found.delegate?.verdict.kind === 'scheduled';
    });
    if (isPlaced) return 'placed';
    return asked.length > 0 ? 'asked' : 'unplaced';
  }

  /** Placement inputs other than the pod and the targets. */
  get context(): PlacementContext {
    return { policies: this.#clusters.inputs.policyIndex, placed: this.podTracker.placed, ...this.#clusters.placement };
  }

  /** A candidate of the pod was sent to a target: its capacity is reserved, and the pod counts as placed there. */
  assume(targetKey: string, proxy: ProxyPod, requirements: NodeRequirements): void {
    this.views.assume(targetKey, proxy.uid, requirements);
    this.podStateOf(proxy.uid).targets.add(targetKey);
    this.#countPlaced(proxy);
  }

  /** Reserves a target while several pods are decided, without notifications; {@link assume} makes it last. */
  tryAssume(targetKey: string, proxy: ProxyPod, requirements: NodeRequirements): void {
    this.views.assume(targetKey, proxy.uid, requirements);
    const nodeName = this.#clusters.targets.get(targetKey)?.nodeName;
    if (nodeName !== undefined) this.podTracker.placed.place(proxy, nodeName);
  }

  /** Undoes {@link tryAssume}. */
  undoAssume(targetKey: string, proxy: ProxyPod): void {
    this.views.release(targetKey, proxy.uid);
    this.podTracker.placed.remove(proxy.uid);
  }

  /** The pod's current chaperons and delegates. `now` is in ms of a monotonic clock. */
  gatherCandidates(proxy: ProxyPod, podState: PodState, now: number): Candidate[] {
    const candidates: Candidate[] = [];
    for (const key of podState.targets) {
      const target = this.#clusters.targets.get(key);
      const found = target === undefined ? 'nothing' : findCandidate(target, proxy);
      if (found === 'nothing') this.#gone(proxy, podState, key);
      if (target === undefined || found === 'nothing' || found === 'unknown') continue;
      if (podState.pendingCreate?.target === key) podState.pendingCreate = undefined;
      const waiting = { seenAt: podState.firstSeen(key, now), priority: proxy.priority };
      const waitingSince = this.#verdicts.waitingSince(key, waiting);
      const state = candidateStateOf(found.chaperon, { target, podState, now });
      candidates.push({
        ...found, target: key, nodeName: target.nodeName, reachable: target.availability.kind === 'ready', waitingSince,
        ...state,
      });
    }
    return candidates;
  }

  #gone(proxy: ProxyPod, podState: PodState, target: string): void {
    if (podState.pendingCreate?.target !== target) this.deadlines?.remove(targetNamespaceOf(target, proxy), proxy.uid);
    this.candidateGone(podState, target);
  }

  /** The target has nothing of the pod, unless a create is still in progress. */
  candidateGone(podState: PodState, target: string): void {
    if (podState.pendingCreate?.target === target || podState.reservation?.target === target) return;
    podState.candidateGone(target);
    if (podState.targets.size === 0) this.podTracker.displace(podState.uid);
    if (this.views.release(target, podState.uid)) this.podTracker.wakeWaiting();
  }

  /**
   * Targets that may have a candidate of the pod and are not observed now. Either one was sent there and the session is
   * being reopened, or the pod is older than this process as leader.
   */
  unobserved(proxy: ProxyPod, podState: PodState): string[] {
    const observed = this.#mayBeInherited(proxy) ? this.#observedTargets : undefined;
    return unobservedTargets(this.#clusters.targets, podState, observed);
  }

  /** Whether an earlier process may have sent a candidate of the pod. */
  #mayBeInherited({ uid, createdAt }: ProxyPod): boolean {
    const isKnown = this.#podStates.get(uid)?.isKnownEverywhere === true;
    return !isKnown && (this.#inherited.has(uid) || createdAt < this.#startedAt);
  }

  /** Which target delays a pod without a node, if any. `now` is in ms of a monotonic clock. */
  delayOf(proxy: ProxyPod, now: number): Delay {
    const podState = this.podStateOf(proxy.uid);
    const [target] = [...podState.targets, ...this.unobserved(proxy, podState)];
    if (target === undefined) return NO_DELAY;
    const outageMs = this.#viewed.outageMs(target, now);
    const goneAt = this.deadlines?.goneAt(targetNamespaceOf(target, proxy), proxy.uid);
    const isSilent = this.#clusters.targets.get(target)?.serverHealth.silentMs !== undefined;
    return {
      target, mayHaveCandidate: podState.reservation?.target !== target, ...(outageMs !== undefined && { outageMs }),
      ...(goneAt !== undefined && isSilent && { endsInMs: goneAt - now }),
    };
  }

  /** From now on a new pod is really new: no other process can have sent a candidate of it. */
  begin(): void {
    this.#begun = true;
  }

  /** The state of the pod with this UID. */
  podStateOf(uid: string): PodState {
    let podState = this.#podStates.get(uid);
    if (podState === undefined) this.#podStates.set(uid, (podState = new PodState(uid)));
    return podState;
  }

  #forget(proxy: ProxyPod): void {
    this.podTracker.forget(proxy);
    this.views.releaseEverywhere(proxy.uid);
    for (const target of this.#podStates.get(proxy.uid)?.targets ?? []) {
      this.deadlines?.remove(targetNamespaceOf(target, proxy), proxy.uid);
    }
    this.#podStates.delete(proxy.uid);
    this.#inherited.delete(proxy.uid);
  }
}
