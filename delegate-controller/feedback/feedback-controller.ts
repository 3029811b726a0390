// Controller in the source that copies the state of chaperons and delegates to bound proxy pods, and propagates
// deletes.
import type { Pod } from '../../api/objects/core.ts';
import type { Chaperon } from '../../model/delegate/cached-delegate.ts';
import { regardingPod } from '../../model/proxy/event-record.ts';
import { withTrustedAddresses } from '../../model/delegate/trusted-status.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import { digestOf, copiedStatus } from '../../model/pod/pod-status.ts';
import { isLater } from '../../model/objects/resource-version.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { onAbort } from '../../kubernetes/flow/abort.ts';
import { ignoreStale, isRejection } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executeAndRead, executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { messageOf } from '../../process/errors.ts';
import type { OwnRanges } from '../../targets/own-ranges.ts';
import { EventThrottle } from '../../kubernetes/controller/event-throttle.ts';
import { boundTo, type SourceControllerOptions } from '../../targets/proxy-pods.ts';
import { RecentPlans } from './recent-plans.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetSession } from '../../targets/target-session.ts';
import { planFeedback, type BoundTarget, type FeedbackStep } from './feedback-plan.ts';
import { recordShown } from './running-telemetry.ts';
import { isConfirmed } from './live-reads.ts';
import { ReportedOutages } from './reported-outages.ts';
import type { SourcePodPlane } from '../follow/source-pod-plane.ts';
import { sendChanges } from './send-changes.ts';
import { shownPhase, type WrittenStatus } from './status-plan.ts';
import { OrphanCollector } from './orphan-controller.ts';
import { TargetDeletions } from './target-deletions.ts';

/** What the controller works with. */
export interface FeedbackOptions extends SourceControllerOptions {
  readonly podPlane: SourcePodPlane;
  /** The source's own ranges; no pod address of a target lies in them. */
  readonly ownRanges: OwnRanges;
  /** Sink of Events about users' changes. */
  readonly events: EventSink;
}

const CONCURRENCY = 256;
/** Requeue delay when an uncached read contradicts the cache, in ms: the cache is behind. */
const CACHE_LAG_MS = 1_000;

/** Condition on pods of a target that was removed. */
const REMOVED = {
  reason: 'TargetRemoved',
  message:
    'its target was removed from this cluster: the delegate keeps running there and its status is no longer updated; ' +
      'add the target again, or delete the pod',
};

/** Starts the controller. It decides nothing before all proxies and targets are synced. */
export function startFeedback(options: FeedbackOptions, signal: AbortSignal): void {
  const { proxies, targets, podPlane, logger } = options;
  const orphans = new OrphanCollector(options);
  const feedback = new Feedback(options, orphans, new EventThrottle(options.events, signal));
  onAbort(signal, () => feedback.outages.stop());
  const ready = Promise.all([proxies.synced, targets.untilSynced(), podPlane.known, options.ownRanges.known]);
  const controller = startController(
    { name: 'feedback', reconcile: (key) => feedback.reconcile(key, signal), concurrency: CONCURRENCY, logger, ready },
    signal,
  );
  // A separate queue: a target that does not answer must not delay the successor of a pod elsewhere that has its
  // name.
  const collecting = startController(
    { name: 'sweep', reconcile: (key) => orphans.reconcile(key, signal), concurrency: CONCURRENCY, logger, ready },
    signal,
  );
  // Most changes of a pod concern neither: a run that finds nothing to do costs more than these looks.
  feedback.observe((key) => {
    if (proxies.get(key)?.nodeName !== undefined) controller.enqueue(key);
    if (orphans.concerns(key)) collecting.enqueue(key);
  });
}

class Feedback {
  readonly #options: FeedbackOptions;
  readonly #orphans: OrphanCollector;
  /**
   * Last written status by UID of the proxy, until the cache has it; longer when the API server stored it differently.
   */
  readonly #lastWrites = new Map<string, WrittenStatus>();
  readonly #recent = new RecentPlans();
  readonly #deletions = new TargetDeletions({
    terminate: (object) => this.#proxyOf(object)?.terminating === true,
    lackEnd: (object) => !isTerminal(this.#proxyOf(object)?.phase ?? 'Failed'),
  });
  /** Targets that have been unreachable for a while. */
  readonly outages = new ReportedOutages();
  /** A lost target has many pods, so their Events are throttled. */
  readonly #outageEvents: EventSink;

  constructor(options: FeedbackOptions, orphans: OrphanCollector, outageEvents: EventSink) {
    this.#outageEvents = outageEvents;
    this.#options = options;
    this.#orphans = orphans;
  }

  /** Registers the watch handlers; `enqueue` requests a reconcile of a pod. */
  observe(enqueue: (key: string) => void): void {
    const { proxies, targets, podPlane, ownRanges } = this.#options;
    const enqueueBound = (target: Pick<TargetCluster, 'nodeName'>) => {
      for (const { key } of boundTo(proxies, target.nodeName)) enqueue(key);
    };
    proxies.onChange((key, before, after) => {
      this.#forgetLastWrite(before, after);
      if (before !== undefined && before.uid !== after?.uid) {
        this.#deletions.forget(targets.byNode(before.nodeName ?? '')?.session, before.uid);
      }
      if (after?.nodeName !== undefined || before !== undefined) enqueue(key);
    });
    for (const addresses of [podPlane, ownRanges]) addresses.onChange(() => [...targets.all()].forEach(enqueueBound));
    targets.listen({
      sessionOpened: (target, session) => this.#observeSession(target, session, enqueue),
      changed: (target) => this.outages.note(target.key, target.availability, () => enqueueBound(target)),
      becameReady: enqueueBound,
      removed: (target) => {
        this.outages.forget(target.key);
        enqueueBound(target);
      },
    });
  }

  #forgetLastWrite(before: ProxyPod | undefined, after: ProxyPod | undefined): void {
    if (before !== undefined && before.uid !== after?.uid) this.#lastWrites.delete(before.uid);
    const lastWrite = after && this.#lastWrites.get(after.uid);
    if (after === undefined || lastWrite === undefined || lastWrite.stored !== lastWrite.sent) return;
    if (!isLater(lastWrite.version, after.resourceVersion)) this.#lastWrites.delete(after.uid);
  }

  #observeSession(target: TargetCluster, session: TargetSession, enqueue: (key: string) => void): void {
    this.#deletions.follow(session);
    session.chaperons.onChange((_key, before, after) => {
      const record = after ?? before;
      if (after !== undefined) this.#orphans.noteSeen(after.parentKey, target.key);
      if (record !== undefined) enqueue(record.parentKey);
    });
    session.delegates.onChange((_key, before, after) => {
      const record = after ?? before;
      if (after?.asChaperon !== undefined) this.#orphans.noteSeen(after.parentKey, target.key);
      if (record !== undefined) enqueue(record.parentKey);
    });
  }

  #proxyOf({ parentKey, parentUid }: Pick<Chaperon, 'parentKey' | 'parentUid'>): ProxyPod | undefined {
    const proxy = this.#options.proxies.get(parentKey);
    return proxy?.uid === parentUid ? proxy : undefined;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const proxy = this.#options.proxies.get(key);
    if (proxy?.nodeName === undefined) return DONE; // not bound yet: the scheduler owns it
    const target = this.#options.targets.byNode(proxy.nodeName);
    const step = planFeedback(proxy, this.#gather(proxy, target), this.#lastWrites.get(proxy.uid));
    return this.#act(proxy, step, target?.session, signal);
  }

  async #act(
    proxy: ProxyPod, step: FeedbackStep, session: TargetSession | undefined, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const client = session?.client;
    switch (step.kind) {
      case 'no-change':
        return DONE;
      case 'write':
        return this.#write(this.#options.source, step.plan, signal);
      case 'report-outage':
        await this.#write(this.#options.source, step.plan, signal);
        this.#outageEvents.record({
          regarding: regardingPod(proxy), type: 'Warning',
          reason: step.outage.reason === REMOVED.reason ? REMOVED.reason : 'TargetUnreachable', action: 'SyncStatus',
          note: step.outage.message,
        });
        return DONE;
      case 'copy-status':
        return this.#copyStatus(proxy, step, signal);
      case 'delete-chaperon':
        return this.#writeOnce(client, step.plan, signal);
      case 'apply-changes':
        return this.#sendChanges(proxy, step, session, signal);
      case 'confirm-gone':
      case 'confirm-delegate-gone':
        return this.#writeConfirmed(step, session, proxy, signal);
    }
  }

  async #sendChanges(
    proxy: ProxyPod, step: Extract<FeedbackStep, { kind: 'apply-changes' }>, session: TargetSession | undefined,
    signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { source, events } = this.#options;
    const target = session?.client;
    if (target === undefined || await sendChanges({ source, target, events }, proxy, step, signal)) return DONE;
    return this.#act(proxy, step.rest, session, signal);
  }

  /** Without a client the target is not connected; its return enqueues the pod again. */
  async #write(client: ClusterClient | undefined, plan: Plan, signal: AbortSignal): Promise<ReconcileResult> {
    if (client !== undefined) await executePlan(client, plan, signal).catch(ignoreStale);
    return DONE;
  }

  /** Does not repeat a recent write that the cache has not delivered yet. */
  async #writeOnce(client: ClusterClient | undefined, plan: Plan, signal: AbortSignal): Promise<ReconcileResult> {
    const ms = this.#recent.remainingMs(plan);
    if (client === undefined || ms > 0) return client === undefined ? DONE : { kind: 'requeue-after', ms };
    try {
      await executePlan(client, plan, signal);
      this.#recent.done(plan);
    } catch (error) {
      ignoreStale(error);
    }
    return DONE;
  }

  async #writeConfirmed(
    { kind, plan }: Extract<FeedbackStep, { kind: `confirm-${string}` }>, target: TargetSession | undefined,
    proxy: ProxyPod, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { source } = this.#options;
    const isKnown = this.#recent.remainingMs(plan) > 0
      || (kind === 'confirm-gone' && target !== undefined && this.#deletions.hasAll(target, proxy.uid));
    if (!isKnown && !(await isConfirmed(kind, target, proxy, signal))) {
      return { kind: 'requeue-after', ms: CACHE_LAG_MS };
    }
    return this.#writeOnce(source, plan, signal);
  }

  async #copyStatus(
    proxy: ProxyPod, { digest, plan, fallback }: Extract<FeedbackStep, { kind: 'copy-status' }>, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { source, logger } = this.#options;
    const before = shownPhase(proxy, this.#lastWrites.get(proxy.uid));
    try {
      const written = (await executeAndRead(source, plan.slice(0, 1), signal).catch((error: unknown) => {
        if (fallback === undefined || !isRejection(error)) throw error;
        logger.warn({ pod: proxy.key, error: messageOf(error) }, 'the status of a pod was rejected');
        return executeAndRead(source, fallback, signal);
      })) as Pod | undefined;
      const { status = {}, metadata } = written ?? {};
      if (before === 'Pending') recordShown(written, Date.now());
      this.#lastWrites.set(proxy.uid, {
        sent: digest, stored: digestOf(copiedStatus(status)), version: metadata?.resourceVersion ?? '',
        phase: status.phase,
      });
      await executePlan(source, plan.slice(1), signal);
    } catch (error) {
      ignoreStale(error);
    }
    return DONE;
  }

  #gather(proxy: ProxyPod, target: TargetCluster | undefined): BoundTarget {
    if (target === undefined) {
      return { kind: 'removed', outage: { ...REMOVED, since: new Date().toISOString().replace(/\.\d+Z$/, 'Z') } };
    }
    const { session } = target;
    if (session === undefined || !session.hasSynced || session.failure !== undefined) {
      return { kind: 'unknown', outage: this.outages.get(target.key) };
    }
    const found = session.find(proxy);
    const last = found.delegate === undefined ? this.#deletions.lastOf(proxy.uid) : undefined;
    if (last === undefined) return { kind: 'known', ...this.#seen(found, target) };
    const { chaperon, delegate } = this.#seen({ ...found, delegate: last }, target);
    return { kind: 'known', chaperon, delegate: undefined, last: delegate?.status };
  }

  /** The observed objects as the source may show them. */
  #seen(found: ReturnType<TargetSession['find']>, { ref, isSelf }: TargetCluster): ReturnType<TargetSession['find']> {
    const { podPlane, targets, ownRanges } = this.#options;
    const reached = podPlane.seenFromHere(found, targets.object(ref)?.spec ?? {});
    return isSelf ? reached : believedOf(reached, ownRanges);
  }
}

/** The observed objects, without addresses that cannot be those of a target's pods. */
function believedOf(
  { chaperon, delegate }: ReturnType<TargetSession['find']>, ownRanges: OwnRanges,
): ReturnType<TargetSession['find']> {
  return {
    chaperon: chaperon?.ended === undefined
      ? chaperon
      : { ...chaperon, ended: withTrustedAddresses(chaperon.ended, ownRanges) },
    delegate: delegate && { ...delegate, status: withTrustedAddresses(delegate.status, ownRanges) },
  };
}
