// Controller that announces to targets which candidates are bound (ADR 0048): at most one write a second for all
// candidates of a namespace, after the bindings.
import type { Logger } from 'pino';
import type { Pod } from '../../api/objects/core.ts';
import {
  CONFIRM_BEFORE_ANNOTATION, PARENT_CLUSTER_LABEL, STOPS_UNCONFIRMED_ANNOTATION, TRUE,
} from '../../api/objects/keys.ts';
import { POD_CHAPERONS, SOURCE_LEASES } from '../../api/resource-types.ts';
import type { SourceLease } from '../../api/kinds/source-lease.ts';
import { ignoreStale, isNotFound, isRejection, unless } from '../../kubernetes/flow/api-error.ts';
import { Pace } from '../../kubernetes/flow/pace.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { candidateLeaseName, CONFIRM_WITHIN_MS } from '../../model/delegate/confirmation.ts';
import { delegateName } from '../../model/naming/names.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { ownInstanceId } from '../../process/instance-id.ts';
import { CandidateDeadlines } from './candidate-deadlines.ts';

/** What the controller works with. */
export interface ConfirmationOptions {
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  /** Proxy pods of the source. */
  readonly proxies: Informer<Pod, ProxyPod>;
  readonly targets: TargetClusters;
  readonly logger: Logger;
  /** Reconciling starts when this resolves. */
  readonly ready: Promise<unknown>;
}

const FIELD_MANAGER = 'isthmus-candidates';
/** Bindings are collected for this long before they are confirmed, in ms. */
const GATHER_MS = 1_000;
/** Retry interval of the check whether an abandoned candidate is gone, in ms. */
const AGAIN_MS = 1_000;
/**
 * Reads of the deadlines that an earlier process wrote: nothing waits for them, and a burst over targets needs many.
 */
const READS = { atOnce: 32, everyMs: 20 };
/** Timeout of a call, in ms: it must not wait behind a burst. */
const CALL_MS = 5_000;

/** Key of a namespace in a target. */
export function targetNamespaceOf(target: string, { namespace }: Pick<ProxyPod, 'namespace'>): string {
  return `${target} ${namespace}`;
}

/** Confirms candidates. */
export class Confirmations {
  readonly deadlines = new CandidateDeadlines();
  readonly #options: ConfirmationOptions;
  readonly #holder = ownInstanceId();
  /** When the collected bindings of a namespace are written, in ms of a monotonic clock. */
  readonly #tellAt = new Map<string, number>();
  readonly #reads = new Pace(READS);
  /** When namespaces are read that are not known yet, in ms of a monotonic clock. */
  readonly #readAt = new Map<string, number>();
  /** Namespaces where the outcome of the last write is unknown. */
  readonly #unanswered = new Set<string>();
  /** Namespaces of targets that do not serve SourceLeases, or deny them. */
  readonly #withoutLeases = new Set<string>();
  /** Namespaces of each target, by its key, in which a candidate was given a deadline, or was observed with one. */
  readonly #namespaces = new Map<string, Set<string>>();
  #enqueue: (targetNamespace: string) => void = () => undefined;

  constructor(options: ConfirmationOptions) {
    this.#options = options;
  }

  /** Starts the controller. Call before the informer of proxies runs. */
  start(signal: AbortSignal): void {
    const { proxies, targets, logger, ready } = this.#options;
    const reconcile = (key: string): Promise<ReconcileResult> => this.#reconcile(key, signal);
    const controller = startController({ name: 'confirmation', reconcile, concurrency: 64, logger, ready }, signal);
    this.#enqueue = (key) => controller.enqueue(key);
    proxies.onChange((_key, before, after) => {
      if (after?.nodeName !== undefined && before?.nodeName === undefined) {
        this.#noteBound(targets.byNode(after.nodeName), after);
      }
    });
    targets.listen({
      sessionOpened: (target, { chaperons }) => chaperons.onChange((_key, before, after) => {
        if (before !== undefined || after?.confirmBefore === undefined) return;
        this.#noteNamespace(target.key, targetNamespaceOf(target.key, after));
        const proxy = proxies.get(after.parentKey);
        if (proxy?.uid === after.parentUid && proxy.nodeName === target.nodeName) this.#noteBound(target, proxy);
      }),
      changed: ({ key, availability }) =>
        availability.kind === 'ready' && this.#namespaces.get(key)?.forEach((known) => this.#enqueue(known)),
      removed: ({ key }) => this.#forget(key),
    });
  }

  #noteNamespace(target: string, targetNamespace: string): void {
    this.#namespaces.set(target, (this.#namespaces.get(target) ?? new Set()).add(targetNamespace));
  }

  /** A target that is added again under the name may be another cluster. */
  #forget(target: string): void {
    for (const targetNamespace of this.#namespaces.get(target) ?? []) {
      this.deadlines.drop(targetNamespace);
      for (const known of [this.#withoutLeases, this.#unanswered, this.#tellAt, this.#readAt]) {
        known.delete(targetNamespace);
      }
    }
    this.#namespaces.delete(target);
  }

  /**
   * Deadline of a candidate that is about to be sent; undefined where its target would not stop it, or where it may
   * take long.
   */
  deadlineFor({ key, session }: TargetCluster, proxy: ProxyPod, mayTakeLong: boolean): number | undefined {
    const stops = session?.mode === 'PodChaperon'
      && session.summary?.metadata.annotations?.[STOPS_UNCONFIRMED_ANNOTATION] === TRUE;
    const targetNamespace = targetNamespaceOf(key, proxy);
    const mayBeStopped = stops && !mayTakeLong && proxy.group === undefined;
    if (!mayBeStopped || this.#withoutLeases.has(targetNamespace)) return undefined;
    this.#noteNamespace(key, targetNamespace);
    if (!this.deadlines.isKnown(targetNamespace)) this.#enqueue(targetNamespace);
    return this.deadlines.begin(targetNamespace, proxy, session.client.transport.clock, performance.now());
  }

  #noteBound(target: TargetCluster | undefined, proxy: ProxyPod): void {
    const before = target?.session?.find(proxy).chaperon?.confirmBefore;
    if (target === undefined || before === undefined) return;
    this.deadlines.bound(targetNamespaceOf(target.key, proxy), proxy.uid, before);
    this.#enqueue(targetNamespaceOf(target.key, proxy));
  }

  async #reconcile(targetNamespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const [targetKey = '', namespace = ''] = targetNamespace.split(' ');
    const target = this.#options.targets.get(targetKey);
    // the target's return enqueues the namespace again
    const isReady = target?.session !== undefined && target.availability.kind === 'ready';
    if (!isReady || this.#withoutLeases.has(targetNamespace)) {
      this.#readAt.delete(targetNamespace);
      return DONE;
    }
    const where = { client: target.session.client.withoutRateLimit(CALL_MS), namespace };
    const ms = this.#untilRead(targetNamespace);
    if (ms !== undefined && ms > 0) return { kind: 'requeue-after', ms };
    if (ms !== undefined) await this.#read(targetNamespace, where, signal);
    if (!(await this.#isClear(targetNamespace, where, signal))) return { kind: 'requeue-after', ms: AGAIN_MS };
    return this.#tellInTime(targetNamespace, where, signal);
  }

  /** Wait until what is announced is read, in ms; undefined where it is known. A bound candidate does not wait. */
  #untilRead(targetNamespace: string): number | undefined {
    if (this.#unanswered.has(targetNamespace)) return 0;
    if (this.deadlines.isKnown(targetNamespace)) return undefined;
    if (this.deadlines.isAwaited(targetNamespace)) return 0;
    const now = performance.now();
    const readAt = this.#readAt.get(targetNamespace) ?? this.#reads.take(now);
    this.#readAt.set(targetNamespace, readAt);
    return readAt - now;
  }

  /** Whether all abandoned candidates are gone. */
  async #isClear(targetNamespace: string, { client, namespace }: Where, signal: AbortSignal): Promise<boolean> {
    for (const [uid, key] of this.deadlines.abandoned(targetNamespace)) {
      if (await isGone(client, { namespace, key, uid }, signal)) this.deadlines.remove(targetNamespace, uid);
    }
    return this.deadlines.abandoned(targetNamespace).length === 0;
  }

  async #tellInTime(targetNamespace: string, where: Where, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.deadlines.due(targetNamespace) === undefined) return DONE;
    const now = performance.now();
    const tellAt = this.#tellAt.get(targetNamespace) ?? now + GATHER_MS;
    this.#tellAt.set(targetNamespace, tellAt);
    if (tellAt > now) return { kind: 'requeue-after', ms: tellAt - now };
    this.#tellAt.delete(targetNamespace);
    await this.#announce(targetNamespace, where, signal);
    return { kind: 'requeue-after', ms: 0 };
  }

  async #read(targetNamespace: string, { client, namespace }: Where, signal: AbortSignal): Promise<void> {
    const lease = await client
      .get(SOURCE_LEASES, { namespace, name: candidateLeaseName(this.#options.sourceId) }, signal)
      .catch(unless(isNotFound));
    this.deadlines.recordAnnounced(targetNamespace, announcedBy(lease));
    this.#unanswered.delete(targetNamespace);
    this.#readAt.delete(targetNamespace);
  }

  /**
   * Candidates sent from now on have a later deadline than the written one, whatever the outcome. After a timeout the
   * stored value is read first: an older write must not arrive after a newer one.
   */
  async #announce(targetNamespace: string, { client, namespace }: Where, signal: AbortSignal): Promise<void> {
    const before = this.deadlines.due(targetNamespace);
    if (before === undefined) return;
    this.deadlines.recordAnnounced(targetNamespace, before);
    this.#unanswered.add(targetNamespace);
    const { sourceId } = this.#options;
    const metadata = { namespace, name: candidateLeaseName(sourceId), labels: { [PARENT_CLUSTER_LABEL]: sourceId } };
    const lease: SourceLease = {
      metadata,
      spec: {
        holder: this.#holder, durationSeconds: CONFIRM_WITHIN_MS / 1_000, renewTime: new Date(before).toISOString(),
      },
    };
    try {
      await client.metadataOnly().apply(SOURCE_LEASES, lease, FIELD_MANAGER, signal);
      this.#unanswered.delete(targetNamespace);
    } catch (error) {
      if (!isRejection(error)) throw error;
      this.#options.logger.warn(
        { targetNamespace }, 'the target does not support SourceLeases; candidates are confirmed one by one',
      );
      this.#withoutLeases.add(targetNamespace);
      await this.#tellEach(targetNamespace, { client, namespace }, signal);
    }
  }

  /** Removes the deadline from each bound candidate. No later candidate of the namespace gets a deadline. */
  async #tellEach(targetNamespace: string, { client, namespace }: Where, signal: AbortSignal): Promise<void> {
    const { targets, proxies } = this.#options;
    const target = targets.get(targetNamespace.split(' ')[0] ?? '');
    for (
      const { name, uid, confirmBefore, parentKey, parentUid, ...chaperon } of target?.session?.chaperons.records()
        ?? []
    ) {
      const proxy = proxies.get(parentKey);
      if (
        confirmBefore === undefined || chaperon.namespace !== namespace || proxy?.uid !== parentUid
          || proxy.nodeName !== target?.nodeName
      ) continue;
      const patch = { metadata: { uid, annotations: { [CONFIRM_BEFORE_ANNOTATION]: null } } };
      await client.patch(POD_CHAPERONS, { namespace, name }, { patchType: 'merge', patch }, signal).catch(ignoreStale);
    }
  }
}

/** What a lease announces; one that cannot be read announces nothing, and is overwritten. */
function announcedBy(lease: SourceLease | undefined): number {
  const time = Date.parse(lease?.spec.renewTime ?? '');
  return Number.isNaN(time) ? 0 : time;
}

interface Where {
  readonly client: ClusterClient;
  readonly namespace: string;
}

/** Whether a target has nothing of a pod, by an uncached read. A candidate that arrives later is past its deadline. */
async function isGone(
  client: ClusterClient,
  { namespace, key, uid }: { readonly namespace: string; readonly key: string; readonly uid: string },
  signal: AbortSignal,
): Promise<boolean> {
  const name = delegateName(key.slice(key.indexOf('/') + 1), uid);
  return (await client.get(POD_CHAPERONS, { namespace, name }, signal).catch(unless(isNotFound))) === undefined;
}
