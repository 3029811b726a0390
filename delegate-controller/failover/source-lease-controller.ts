// Controller of failover in a target: watches SourceLeases, reports in their status which renewals it observed, and
// notifies when one has expired. The `Expired` status is written with a precondition on the observed version, so
// that a renewal which the watch has not delivered makes the write fail.
import type { Logger } from 'pino';
import { PARENT_CLUSTER_LABEL } from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';
import type { SourceLease } from '../../api/kinds/source-lease.ts';
import { SOURCE_LEASES } from '../../api/resource-types.ts';
import { ignoreStale, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { DONE, startController, type ReconcileResult } from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { candidateLeaseName, isCandidateLease, isUnconfirmed } from '../../model/delegate/confirmation.ts';
import { leaseName } from '../../model/pod/source-lease.ts';
import { hasExpired, LeaseClock, planLeaseStatus } from './lease-clock.ts';

/** What the controller works with. */
export interface SourceLeaseOptions {
  readonly client: ClusterClient;
  readonly logger: Logger;
}

/** Longest timer, in ms: the time of day may be set meanwhile, and timers fire early. */
const INTERVAL_MS = 30_000;

/** The leases that sources hold in this cluster. */
export class SourceLeases {
  readonly #options: SourceLeaseOptions;
  readonly #leases: Informer<SourceLease, SourceLease>;
  readonly #clocks = new Map<string, LeaseClock>();
  #changed: (namespace: string) => void = () => undefined;

  constructor(options: SourceLeaseOptions) {
    this.#options = options;
    this.#leases = fullInformersOf(options)(SOURCE_LEASES);
  }

  /**
   * Starts the watch. A cluster that does not serve the kind has no leases and stops nothing. `changed` is called for
   * namespaces where a lease has expired.
   */
  run(changed: (namespace: string) => void, signal: AbortSignal): void {
    this.#changed = changed;
    const reconcile = (key: string) => this.#reconcile(key, signal);
    const controller = startController(
      { name: 'source-lease', reconcile, concurrency: 4, logger: this.#options.logger, ready: this.#leases.synced },
      signal,
    );
    this.#leases.onChange((key, _before, after) => {
      if (after !== undefined && isCandidateLease(after.metadata)) return;
      if (after === undefined) this.#clocks.delete(key);
      else this.#observe(key, after);
      controller.enqueue(key);
    });
    void this.#leases.run(signal);
  }

  /** Whether the lease of a chaperon's or delegate's source has expired in that namespace. */
  hasExpired({ namespace = '', labels }: ObjectMeta): boolean {
    const lease = this.#leases.get(`${namespace}/${leaseName(labels?.[PARENT_CLUSTER_LABEL] ?? '')}`);
    return lease !== undefined && hasExpired(lease);
  }

  /** Whether a candidate still needs its confirmation, as far as the cache shows. */
  isUnconfirmed(metadata: ObjectMeta): boolean {
    const { namespace = '', labels } = metadata;
    return isUnconfirmed(
      metadata, this.#leases.get(`${namespace}/${candidateLeaseName(labels?.[PARENT_CLUSTER_LABEL] ?? '')}`),
    );
  }

  /** The same by an uncached read. Throws what the read threw. */
  async isUnconfirmedNow(metadata: ObjectMeta, signal: AbortSignal): Promise<boolean> {
    const { namespace = '', labels } = metadata;
    const name = candidateLeaseName(labels?.[PARENT_CLUSTER_LABEL] ?? '');
    const lease = await this.#options.client.get(SOURCE_LEASES, { namespace, name }, signal).catch(unless(isNotFound));
    return isUnconfirmed(metadata, lease);
  }

  #observe(key: string, lease: SourceLease): void {
    const clock = this.#clocks.get(key) ?? new LeaseClock();
    this.#clocks.set(key, clock);
    clock.observe(lease, { monotonic: performance.now(), wall: Date.now() });
    if (hasExpired(lease)) this.#changed(lease.metadata.namespace ?? '');
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const [lease, clock] = [this.#leases.get(key), this.#clocks.get(key)];
    if (lease === undefined || clock === undefined) return DONE;
    const left = clock.endsAt - performance.now();
    const plan = planLeaseStatus(lease, left <= 0, Date.now());
    await executePlan(this.#options.client, plan, signal).catch(ignoreStale);
    return left <= 0 ? DONE : { kind: 'requeue-after', ms: Math.min(left, INTERVAL_MS) };
  }
}
