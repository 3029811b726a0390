// Controller of PodChaperons in the target: watches chaperons and pods, and writes what the plan says.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { EXPIRED_AT_ANNOTATION } from '../../api/objects/keys.ts';
import { POD_CHAPERONS, PODS } from '../../api/resource-types.ts';
import { ignoreStale, isAlreadyExists, isRejection } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { createPod } from '../../kubernetes/client/create-pod.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { confirmBefore } from '../../model/delegate/confirmation.ts';
import type { Plan } from '../../model/objects/plan.ts';
import { objectKey } from '../../model/pod/pod.ts';
import { messageOf } from '../../process/errors.ts';
import { applyChanges } from './apply-changes.ts';
import { planChaperon, planOrphanedDelegate, reportRejection, type ChaperonStep } from './chaperon-plan.ts';
import type { SourceLeases } from '../failover/source-lease-controller.ts';
import type { ResourceShares } from '../resource-shares/resource-share-controller.ts';
import type { SourceRules } from '../target-cache/source-rules-cache.ts';
import type { StreamGrants } from '../streams/stream-grants-controller.ts';
import type { TargetPod } from '../target-cache/target-pod.ts';
import { DelegateHistory } from './delegate-history.ts';
import { chaperonExists, delegateExists } from './live-absence.ts';

/** What the controller works with. */
export interface ChaperonOptions {
  readonly client: ClusterClient;
  /** All pods of the target. */
  readonly pods: Informer<Pod, TargetPod>;
  /** Limits of sources in this cluster. */
  readonly resourceShares: ResourceShares;
  /** Pod security and account rules of sources. */
  readonly sources: SourceRules;
  /** Permissions to streams of delegates. */
  readonly streams: StreamGrants;
  /** Sink of rejections: the source shows warnings about delegates on their proxies. */
  readonly events: EventSink;
  /** Sources whose lease here has expired. */
  readonly leases: SourceLeases;
  readonly logger: Logger;
}

const CONCURRENCY = 64;
/** Retry interval of a rejected delegate, in ms, until its source deletes the chaperon. */
const REJECTION_RETRY_MS = 30_000;
/** Requeue delay while the ResourceShares and sources of this cluster are not synced, in ms. */
const RESOURCE_SHARES_RETRY_MS = 200;
/** Requeue delay while permissions to a pod are being revoked before its delete, in ms. */
const REVOCATION_CHECK_MS = 200;

/**
 * Starts the controller. It writes nothing before all chaperons and pods are synced. Returns a check whether the
 * chaperons are.
 */
export function startChaperons(options: ChaperonOptions, signal: AbortSignal): () => boolean {
  const { client, pods, resourceShares, streams, leases, logger } = options;
  const chaperons = fullInformersOf({ client, logger })(POD_CHAPERONS);
  const control = new ChaperonControl(options, chaperons);
  const reconcile = (key: string) => control.reconcile(key, signal);
  const ready = Promise.all([chaperons.synced, pods.synced]);
  const controller = startController({ name: 'chaperon', reconcile, concurrency: CONCURRENCY, logger, ready }, signal);
  chaperons.onChange((key, before, after) => {
    if (before !== undefined && (before.metadata.uid !== after?.metadata.uid || isRevived(before, after))) {
      control.forget(before);
    }
    resourceShares.observe(key, after, pods.get(key));
    streams.observe(key, after);
    controller.enqueue(key);
  });
  pods.onChange((key, before, after) => {
    if (before?.chaperonUid === undefined && after?.chaperonUid === undefined) return;
    control.observe(before, after);
    if (after === undefined) resourceShares.ledger.release(key);
    else resourceShares.observe(key, chaperons.get(key), after);
    controller.enqueue(key);
  });
  leases.run((namespace) => {
    for (const { metadata } of chaperons.records()) {
      if (metadata.namespace === namespace && leases.hasExpired(metadata)) controller.enqueue(objectKey(metadata));
    }
  }, signal);
  streams.run(chaperons.synced, signal);
  void chaperons.run(signal);
  return () => chaperons.hasSynced;
}

class ChaperonControl {
  readonly #options: ChaperonOptions;
  readonly #chaperons: Informer<PodChaperon, PodChaperon>;
  /** What the watch has shown of delegates. */
  readonly #history = new DelegateHistory((delegate) => this.#isTerminating(delegate));

  constructor(options: ChaperonOptions, chaperons: Informer<PodChaperon, PodChaperon>) {
    this.#options = options;
    this.#chaperons = chaperons;
  }

  observe(before: TargetPod | undefined, after: TargetPod | undefined): void {
    this.#history.observe(before, after, Date.now());
  }

  forget({ metadata }: PodChaperon): void {
    this.#history.forget(metadata.uid ?? '');
  }

  /** Whether a delegate's chaperon terminates: no other delegate is created. */
  #isTerminating({ key, chaperonUid }: TargetPod): boolean {
    const metadata = this.#chaperons.get(key)?.metadata;
    return metadata?.uid === chaperonUid && metadata?.deletionTimestamp !== undefined;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const chaperon = this.#chaperons.get(key);
    if (chaperon === undefined) return this.#collectOrphan(key, signal);
    const changedAt = this.#history.changedAt(chaperon.metadata.uid ?? '');
    const overdueInMs = this.#overdueInMs(chaperon);
    const state = {
      chaperon, pod: this.#options.pods.get(key), podSeen: changedAt !== undefined, statusChangedAt: changedAt ?? 0,
      sourceLeaseExpired: this.#options.leases.hasExpired(chaperon.metadata), isOverdue: overdueInMs <= 0,
    };
    return atLatest(overdueInMs, await this.#act(chaperon, planChaperon(state, Date.now()), signal));
  }

  /** Time left to confirm it, by the API server's clock; Infinity when it needs no confirmation or is confirmed. */
  #overdueInMs({ metadata }: PodChaperon): number {
    const before = this.#options.leases.isUnconfirmed(metadata) ? confirmBefore(metadata) : undefined;
    return before === undefined
      ? Infinity
      : before - (this.#options.client.transport.clock.latest(performance.now()) ?? Date.now());
  }

  async #act(chaperon: PodChaperon, step: ChaperonStep, signal: AbortSignal): Promise<ReconcileResult> {
    switch (step.kind) {
      case 'no-change':
        return DONE;
      case 'wait':
        return { kind: 'requeue-after', ms: step.ms };
      case 'write':
        return this.#write(chaperon, step.plan, signal);
      case 'expire':
        return this.#expire(chaperon, step.plan, signal);
      case 'confirm-gone':
        return this.#confirmGone(chaperon, step, signal);
      case 'create':
        return this.#create(chaperon, step, signal);
      case 'apply-changes':
        await applyChanges(this.#options, chaperon, step.text, signal);
        return DONE;
    }
  }

  async #confirmGone(
    chaperon: PodChaperon, { plan, thenWait }: Extract<ChaperonStep, { kind: 'confirm-gone' }>, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const isGone = this.#history.isGone(chaperon.metadata.uid ?? '')
      || !(await delegateExists(this.#options.client, chaperon, signal));
    if (!isGone) return DONE; // the watch will deliver it
    await executePlan(this.#options.client, plan, signal).catch(ignoreStale);
    return thenWait === undefined ? DONE : { kind: 'requeue-after', ms: thenWait };
  }

  async #write(chaperon: PodChaperon, plan: Plan, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#mustBeReleased(chaperon, plan)) return { kind: 'requeue-after', ms: REVOCATION_CHECK_MS };
    await executePlan(this.#options.client, plan, signal).catch(ignoreStale);
    return DONE;
  }

  async #expire(chaperon: PodChaperon, plan: Plan, signal: AbortSignal): Promise<ReconcileResult> {
    if (!(await this.#options.leases.isUnconfirmedNow(chaperon.metadata, signal)) || this.#overdueInMs(chaperon) > 0) {
      return DONE;
    }
    if (this.#mustBeReleased(chaperon, plan)) return { kind: 'requeue-after', ms: REVOCATION_CHECK_MS };
    await executePlan(this.#options.client, plan, signal).catch(ignoreStale);
    this.#options.logger.info(
      { chaperon: objectKey(chaperon.metadata) }, 'a candidate was not confirmed in time and is deleted',
    );
    return DONE;
  }

  /** Whether the plan deletes a pod while its source still has a permission for that name. */
  #mustBeReleased({ metadata }: PodChaperon, plan: Plan): boolean {
    return plan.some((command) => command.kind === 'delete' && command.type === PODS)
      && !this.#options.streams.release(objectKey(metadata));
  }

  async #create(
    chaperon: PodChaperon, { pod }: Extract<ChaperonStep, { kind: 'create' }>, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const key = objectKey(chaperon.metadata);
    const admission = this.#admit(key, chaperon);
    if (admission === 'unknown') return { kind: 'requeue-after', ms: RESOURCE_SHARES_RETRY_MS };
    if (admission.kind === 'rejected') return this.#reject(chaperon, admission.message, signal);
    const making = this.#history.creates.begin(chaperon.metadata.uid ?? '');
    try {
      const { metadata: { uid = '' } } = await createPod(this.#options.client, pod, signal);
      making.made(uid, this.#options.pods.get(key)?.uid === uid);
      return DONE;
    } catch (error) {
      if (isAlreadyExists(error) || isRejection(error)) making.rejected();
      // if it exists after all, it is counted when it is observed
      if (this.#options.pods.get(key) === undefined) this.#options.resourceShares.ledger.release(key);
      // Ours or not: the watch delivers it, and the plan decides.
      if (isAlreadyExists(error)) return { kind: 'requeue-after', ms: 1_000 };
      if (!isRejection(error)) throw error;
      return this.#reject(chaperon, messageOf(error), signal);
    }
  }

  /** Checks the source's rules, then its ResourceShares. */
  #admit(key: string, chaperon: PodChaperon): ReturnType<ResourceShares['admit']> {
    const admission = this.#options.sources.admit(chaperon);
    if (admission.kind === 'rejected') return admission;
    return admission.kind === 'unknown' ? admission.kind : this.#options.resourceShares.admit(key, chaperon);
  }

  async #reject(chaperon: PodChaperon, message: string, signal: AbortSignal): Promise<ReconcileResult> {
    await this.#act(chaperon, reportRejection(chaperon, message, Date.now()), signal);
    return { kind: 'requeue-after', ms: REJECTION_RETRY_MS };
  }

  async #collectOrphan(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const pod = this.#options.pods.get(key);
    if (pod?.chaperonUid !== undefined) this.#history.forgetStatus(pod.chaperonUid);
    const plan = pod === undefined ? [] : planOrphanedDelegate(pod);
    const { client } = this.#options;
    if (pod === undefined || plan.length === 0 || (await chaperonExists(client, pod, signal))) return DONE;
    await executePlan(client, plan, signal).catch(ignoreStale);
    return DONE;
  }
}

/** A candidate that was stopped had been bound: its source requests that it is recreated. */
function isRevived(before: PodChaperon, after: PodChaperon | undefined): boolean {
  const isExpired = ({ metadata }: PodChaperon) => metadata.annotations?.[EXPIRED_AT_ANNOTATION] !== undefined;
  return after !== undefined && isExpired(before) && !isExpired(after);
}

/** Reconciles a candidate at its deadline at the latest. */
function atLatest(ms: number, result: ReconcileResult): ReconcileResult {
  if (ms === Infinity || ms <= 0 || (result.kind === 'requeue-after' && result.ms <= ms)) return result;
  return { kind: 'requeue-after', ms };
}
