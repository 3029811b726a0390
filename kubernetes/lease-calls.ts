// What an election asks of the API server about its one Lease (coordination.k8s.io/v1). Writes name the version that they change, so that of two
// candidates one is refused.
import type { Lease } from '../api/core.ts';
import { LEASES } from '../api/resource-types.ts';
import { isAlreadyExists, isConflict, isNotFound } from './api-error.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { AskedRight, Clocks, LeaseTimings, ObservedLease } from './lease-record.ts';

/** Which lease, for whom, and by which clock its times are written. */
export interface LeaseCallsOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly timings: LeaseTimings;
  readonly clocks: Clocks;
}

/** How long a call is waited for: `callMs`, while there is time for another one, or `renewWithinMs`, for as long as the answer is worth anything. */
export type Patience = 'hasty' | 'patient';

type Spec = NonNullable<Lease['spec']>;

/** Calls of one candidate. Each throws what the client throws, but for refusals that are an answer. */
export class LeaseCalls {
  readonly #options: LeaseCallsOptions;
  readonly #clients: Readonly<Record<Patience, ClusterClient>>;

  constructor(options: LeaseCallsOptions) {
    this.#options = options;
    const { client, timings: { callMs, renewWithinMs } } = options;
    this.#clients = { hasty: client.urgent(callMs), patient: client.urgent(renewWithinMs) };
  }

  /** Makes the lease. Undefined when there is one. */
  create(asked: AskedRight, patience: Patience, signal: AbortSignal): Promise<Lease | undefined> {
    const { namespace, name, labels } = this.#options;
    const made: Lease = { metadata: { namespace, name, ...(labels && { labels }) }, spec: this.#spec(asked, 0, true) };
    return this.#clients[patience].create(LEASES, made, signal).catch(unless(isAlreadyExists));
  }

  /** Undefined when there is none. */
  read(patience: Patience, signal: AbortSignal): Promise<Lease | undefined> {
    const { namespace, name } = this.#options;
    return this.#clients[patience].get(LEASES, { namespace, name }, signal).catch(unless(isNotFound));
  }

  /** Takes or renews this very version of the lease. Undefined when there is another version by now, or none. */
  take(observed: ObservedLease, asked: AskedRight, patience: Patience, signal: AbortSignal): Promise<Lease | undefined> {
    const isNew = observed.holder !== this.#options.identity;
    const spec = this.#spec(asked, observed.transitions + (isNew ? 1 : 0), isNew);
    return this.#patch(observed, spec, patience, signal).catch(unless((error) => isConflict(error) || isNotFound(error)));
  }

  /** The next one need not wait. Only this very version is given back: it may be another's by now. Never throws. */
  async giveBack(observed: ObservedLease): Promise<void> {
    await this.#patch(observed, { holderIdentity: '', leaseDurationSeconds: 1 }, 'hasty').catch(() => undefined); // then it runs out
  }

  #patch({ resourceVersion }: ObservedLease, spec: Spec, patience: Patience, signal?: AbortSignal): Promise<Lease> {
    const { namespace, name } = this.#options;
    return this.#clients[patience].patch(LEASES, { namespace, name }, { patchType: 'merge', patch: { metadata: { resourceVersion }, spec } }, signal);
  }

  #spec({ leaseMs }: AskedRight, leaseTransitions: number, isNew: boolean): Spec {
    const { identity, clocks } = this.#options;
    const now = new Date(clocks.wall()).toISOString().replace('Z', '000Z'); // MicroTime
    const leaseDurationSeconds = Math.max(1, Math.ceil(leaseMs / 1_000));
    return { holderIdentity: identity, leaseDurationSeconds, leaseTransitions, renewTime: now, ...(isNew && { acquireTime: now }) };
  }
}

function unless(expected: (error: unknown) => boolean): (error: unknown) => undefined {
  return (error) => {
    if (expected(error)) return undefined;
    throw error;
  };
}
