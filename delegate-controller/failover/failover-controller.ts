// Controller of failover in the source (ADR 0020): renews a SourceLease in each target's namespaces that have pods
// which may fail over, and deletes those pods when the target is lost and must have stopped them. Without such pods
// there are no leases and no requests.
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import type { SourceLease } from '../../api/kinds/source-lease.ts';
import { SOURCE_LEASES } from '../../api/resource-types.ts';
import { ApiError, ignoreStale, isNotFound, isRejection, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import {
  DONE, startController, type Controller, type ReconcileResult,
} from '../../kubernetes/controller/controller.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import { NotLeaderError } from '../../kubernetes/flow/fence.ts';
import { boundTo, type SourceControllerOptions } from '../../targets/proxy-pods.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import { leaseName, SOURCE_LEASE_SECONDS, renewalMs } from '../../model/pod/source-lease.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import type { NamespacedName } from '../../model/pod/pod.ts';
import { ownInstanceId } from '../../process/instance-id.ts';
import { failedOver, mayFailOver, planFailover } from './failover-plan.ts';
import { SourceLeaseRenewal, type HeldLease } from './source-lease-renewal.ts';

/** What the controller works with. */
export interface FailoverOptions extends SourceControllerOptions {
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  readonly events: EventSink;
  /** Duration of a lease, in seconds; {@link SOURCE_LEASE_SECONDS} when missing. */
  readonly leaseSeconds?: number | undefined;
}

const FIELD_MANAGER = 'isthmus-failover';
/**
 * Concurrent reconciles of leases. A target that does not answer occupies one for the time of a call, and blocks no
 * other.
 */
const CONCURRENCY = 256;

/** Starts the controller. */
export function startFailover(options: FailoverOptions, signal: AbortSignal): void {
  const { proxies, targets, logger } = options;
  const failover = new Failover(options);
  const reconcile = (key: string) => failover.reconcile(key, signal);
  const ready = Promise.all([proxies.synced, targets.untilSynced()]);
  failover.observe(startController({ name: 'failover', reconcile, concurrency: CONCURRENCY, logger, ready }, signal));
}

/** A held lease with the session that it was created in: another session may point to another cluster. */
interface Held {
  readonly holder: SourceLeaseRenewal;
  readonly server: string;
}

class Failover {
  readonly #options: FailoverOptions;
  readonly #lease: HeldLease;
  /** By key of the target and namespace. */
  readonly #held = new Map<string, Held>();

  constructor(options: FailoverOptions) {
    this.#options = options;
    this.#lease = { holder: ownInstanceId(), durationSeconds: options.leaseSeconds ?? SOURCE_LEASE_SECONDS };
  }

  observe(controller: Controller): void {
    const { proxies, targets } = this.#options;
    proxies.onChange((_key, before, after) => {
      const proxy = after ?? before;
      if (
        proxy?.failoverGraceSeconds === undefined || proxy.nodeName === undefined
          || (before?.failoverGraceSeconds !== undefined && after !== undefined)
      ) return;
      const target = targets.byNode(proxy.nodeName);
      if (target !== undefined) controller.enqueue(keyOf(target, proxy.namespace));
    });
    targets.listen({
      sessionOpened: (target, { chaperons }) => {
        chaperons.onChange((_key, before, after) => {
          if (before === undefined && after?.failoverGraceSeconds !== undefined) {
            controller.enqueue(keyOf(target, after.namespace));
          }
        });
        for (const proxy of boundTo(proxies, target.nodeName)) {
          if (mayFailOver(proxy)) controller.enqueue(keyOf(target, proxy.namespace));
        }
      },
      removed: (target) => this.#forget(target),
    });
  }

  #forget(target: TargetCluster): void {
    for (const key of this.#held.keys()) if (key.startsWith(keyOf(target, ''))) this.#held.delete(key);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const [targetKey = '', namespace = ''] = key.split(' ');
    const target = this.#options.targets.get(targetKey);
    if (target?.session === undefined) return target === undefined ? DONE : this.#later();
    const { client, server } = target.session;
    const pods = this.#failoverPods(target, namespace);
    const held = this.#heldAt(key, server);
    if (pods.length === 0 && !target.session.hasFailoverPods(namespace)) {
      return this.#giveBack(key, namespace, client, signal);
    }
    const step = held.holder.next(performance.now());
    if (step.kind !== 'wait') await this.#ask(step.kind, held.holder, { client, namespace }, signal);
    return this.#failOver(target, pods, held.holder, signal);
  }

  /** Proxies of the namespace that are bound to the target and may fail over. */
  #failoverPods(
    { nodeName }: TargetCluster, namespace: string,
  ): (ProxyPod & { readonly failoverGraceSeconds: number })[] {
    return boundTo(this.#options.proxies, nodeName)
      .filter((proxy) => proxy.namespace === namespace).filter(mayFailOver);
  }

  #heldAt(key: string, server: string): Held {
    const before = this.#held.get(key);
    if (before?.server === server) return before;
    const held = { holder: new SourceLeaseRenewal(this.#lease), server };
    this.#held.set(key, held);
    return held;
  }

  #later(): ReconcileResult {
    return { kind: 'requeue-after', ms: renewalMs(this.#lease.durationSeconds) };
  }

  /** No pod needs the lease any more. */
  async #giveBack(
    key: string, namespace: string, client: ClusterClient, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    this.#held.delete(key);
    await client.delete(
      SOURCE_LEASES, { namespace, name: leaseName(this.#options.sourceId) }, {}, signal,
    ).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error;
    });
    return DONE;
  }

  async #ask(
    step: 'renew' | 'read', holder: SourceLeaseRenewal, { client, namespace }: Where, signal: AbortSignal,
  ): Promise<void> {
    const at = { namespace, name: leaseName(this.#options.sourceId) };
    const unlimited = client.withoutRateLimit(renewalMs(this.#lease.durationSeconds));
    try {
      holder.answered(
        step === 'renew'
          ? await this.#renew(unlimited, at, holder, signal)
          : await this.#read(unlimited, at, holder, signal),
        performance.now(),
      );
    } catch (error) {
      if (error instanceof NotLeaderError || signal.aborted) throw error;
      if (isRejection(error)) holder.rejected();
      else holder.unanswered();
    }
  }

  #renew(
    client: ClusterClient, at: NamespacedName, holder: SourceLeaseRenewal, signal: AbortSignal,
  ): Promise<SourceLease> {
    const now = performance.now();
    const renewTime = new Date(performance.timeOrigin + now).toISOString();
    holder.sending(renewTime, now);
    const labels = { [PARENT_CLUSTER_LABEL]: this.#options.sourceId };
    const lease: SourceLease = { metadata: { ...at, labels }, spec: { ...this.#lease, renewTime } };
    return client.apply(SOURCE_LEASES, lease, FIELD_MANAGER, signal);
  }

  #read(
    client: ClusterClient, at: NamespacedName, holder: SourceLeaseRenewal, signal: AbortSignal,
  ): Promise<SourceLease | undefined> {
    holder.reading(performance.now());
    return client.get(SOURCE_LEASES, at, signal).catch(unless(isNotFound));
  }

  /**
   * Deletes pods whose time has come, but not before the target is known to be lost, or they would be sent there again.
   */
  async #failOver(
    target: TargetCluster, pods: readonly (ProxyPod & { readonly failoverGraceSeconds: number })[],
    holder: SourceLeaseRenewal, signal: AbortSignal,
  ): Promise<ReconcileResult> {
    const { source, events, logger } = this.#options;
    const now = performance.now();
    for (const proxy of target.availability.kind === 'ready' ? [] : pods) {
      const stoppedAt = holder.stoppedAt(proxy.failoverGraceSeconds);
      if (stoppedAt === undefined || stoppedAt > now) continue;
      logger.info({ target: target.key, pod: proxy.key }, 'a pod of a lost target fails over');
      if (!proxy.terminating) events.record(failedOver(proxy, target.key));
      await executePlan(source, planFailover(proxy, new Date().toISOString()), signal).catch(ignoreStale);
    }
    const step = holder.next(now);
    return { kind: 'requeue-after', ms: step.kind === 'wait' ? step.ms : 0 };
  }
}

interface Where {
  readonly client: ClusterClient;
  readonly namespace: string;
}

function keyOf({ key }: TargetCluster, namespace: string): string {
  return `${key} ${namespace}`;
}
