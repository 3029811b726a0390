// What an election asks of the API server about its one Lease (coordination.k8s.io/v1). Writes name the version that they change, so that of two
// candidates one is refused.
import type { Lease } from '../../api/objects/core.ts';
import { LEASES } from '../../api/resource-types.ts';
import { within } from '../flow/abort.ts';
import { isAlreadyExists, isConflict, isNotFound, unless } from '../flow/api-error.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import type { RequestedLease, Clocks, ObservedLease } from './lease-record.ts';

/** Which lease, for whom, and by which clock its times are written. */
export interface LeaseCallsOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly clocks: Clocks;
}

type Spec = NonNullable<Lease['spec']>;

const FREE: Spec = { holderIdentity: '', leaseDurationSeconds: 1 };

/** Calls of one candidate, each given up after `timeoutMs`. They throw what the client throws, but for refusals that are an answer. */
export class LeaseCalls {
  readonly #options: LeaseCallsOptions;

  constructor(options: LeaseCallsOptions) {
    this.#options = options;
  }

  /** Makes the lease. Undefined when there is one. */
  create(asked: RequestedLease, timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name, labels } = this.#options;
    const made: Lease = { metadata: { namespace, name, ...(labels && { labels }) }, spec: this.#spec(asked, 0, true) };
    return client.urgent(timeoutMs).create(LEASES, made, signal).catch(unless(isAlreadyExists));
  }

  /** Undefined when there is none. */
  read(timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    return client.urgent(timeoutMs).get(LEASES, { namespace, name }, signal).catch(unless(isNotFound));
  }

  /** Takes or renews this very version of the lease. Undefined when there is another version by now, or none. */
  take(observed: ObservedLease, asked: RequestedLease, timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const isNew = observed.holder !== this.#options.identity;
    return this.#change(observed.resourceVersion, this.#spec(asked, observed.transitions + (isNew ? 1 : 0), isNew), timeoutMs, signal);
  }

  /**
   * The next one need not wait. Only this very version is given back: it may be another's by now. If it is another one of ours, made by a renewal that
   * was given up, that one is. All of it takes no longer than `timeoutMs`. Never throws: then the lease runs out.
   */
  async giveBack(observed: ObservedLease, timeoutMs: number): Promise<void> {
    await within(timeoutMs, new AbortController().signal, async (signal) => {
      if ((await this.#change(observed.resourceVersion, FREE, timeoutMs, signal)) !== undefined) return;
      const lease = await this.read(timeoutMs, signal);
      if (lease?.spec?.holderIdentity === this.#options.identity) await this.#change(lease.metadata.resourceVersion ?? '', FREE, timeoutMs, signal);
    }).catch(() => undefined);
  }

  #change(resourceVersion: string, spec: Spec, timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    return client.urgent(timeoutMs)
      .patch(LEASES, { namespace, name }, { patchType: 'merge', patch: { metadata: { resourceVersion }, spec } }, signal)
      .catch(unless((error) => isConflict(error) || isNotFound(error)));
  }

  #spec({ leaseMs }: RequestedLease, leaseTransitions: number, isNew: boolean): Spec {
    const { identity, clocks } = this.#options;
    const now = new Date(clocks.wall()).toISOString().replace('Z', '000Z'); // MicroTime
    const leaseDurationSeconds = Math.max(1, Math.ceil(leaseMs / 1_000));
    return { holderIdentity: identity, leaseDurationSeconds, leaseTransitions, renewTime: now, ...(isNew && { acquireTime: now }) };
  }
}
