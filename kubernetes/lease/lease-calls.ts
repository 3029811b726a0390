// The API calls of an election for its Lease (coordination.k8s.io/v1). Writes carry the resourceVersion, so that of two
// candidates one is rejected.
import type { Lease } from '../../api/objects/core.ts';
import { LEASES } from '../../api/resource-types.ts';
import { within } from '../flow/abort.ts';
import { isAlreadyExists, isConflict, isNotFound, unless } from '../flow/api-error.ts';
import type { ClusterClient } from '../client/cluster-client.ts';
import { AppError } from '../../process/errors.ts';
import type { RequestedLease, Clocks, ObservedLease } from './lease-record.ts';

/** Which Lease, for which candidate, and the clock of its timestamps. */
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

/**
 * Calls of one candidate, each with a timeout of `timeoutMs`. They throw what the client throws, except for rejections
 * that are a result.
 */
export class LeaseCalls {
  readonly #options: LeaseCallsOptions;

  constructor(options: LeaseCallsOptions) {
    this.#options = options;
  }

  /** Creates the Lease. Undefined when it already exists. Throws AppError `NotFound` without its namespace. */
  create(asked: RequestedLease, timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name, labels } = this.#options;
    const made: Lease = { metadata: { namespace, name, ...(labels && { labels }) }, spec: this.#spec(asked, 0, true) };
    return client.withoutRateLimit(timeoutMs).create(LEASES, made, signal).catch((error: unknown) => {
      if (!isNotFound(error)) return unless(isAlreadyExists)(error);
      throw new AppError(
        'NotFound',
        `This cluster has no namespace ${namespace}: run "isthmus install" first, or name with --namespace where ` +
          'Isthmus is installed.',
        { cause: error },
      );
    });
  }

  /** Undefined when it does not exist. */
  read(timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    return client.withoutRateLimit(timeoutMs).get(LEASES, { namespace, name }, signal).catch(unless(isNotFound));
  }

  /** Takes or renews this version of the Lease. Undefined when it has changed or is gone. */
  take(
    observed: ObservedLease, asked: RequestedLease, timeoutMs: number, signal: AbortSignal,
  ): Promise<Lease | undefined> {
    const isNew = observed.holder !== this.#options.identity;
    return this.#change(
      observed.resourceVersion, this.#spec(asked, observed.transitions + (isNew ? 1 : 0), isNew), timeoutMs, signal,
    );
  }

  /**
   * Releases the Lease, so that the next leader need not wait. Only this version is released, since it may have another
   * holder by now; or a newer version of ours, from a renewal that timed out. Takes no longer than `timeoutMs`. Never
   * throws: on failure the Lease expires.
   */
  async giveBack(observed: ObservedLease, timeoutMs: number): Promise<void> {
    await within(timeoutMs, new AbortController().signal, async (signal) => {
      if ((await this.#change(observed.resourceVersion, FREE, timeoutMs, signal)) !== undefined) return;
      const lease = await this.read(timeoutMs, signal);
      if (lease?.spec?.holderIdentity === this.#options.identity) {
        await this.#change(lease.metadata.resourceVersion ?? '', FREE, timeoutMs, signal);
      }
    }).catch(() => undefined);
  }

  #change(resourceVersion: string, spec: Spec, timeoutMs: number, signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    return client.withoutRateLimit(timeoutMs)
      .patch(
        LEASES, { namespace, name }, { patchType: 'merge', patch: { metadata: { resourceVersion }, spec } }, signal,
      )
      .catch(unless((error) => isConflict(error) || isNotFound(error)));
  }

  #spec({ leaseMs }: RequestedLease, leaseTransitions: number, isNew: boolean): Spec {
    const { identity, clocks } = this.#options;
    const now = new Date(clocks.wall()).toISOString().replace('Z', '000Z'); // MicroTime
    const leaseDurationSeconds = Math.max(1, Math.ceil(leaseMs / 1_000));
    return {
      holderIdentity: identity, leaseDurationSeconds, leaseTransitions, renewTime: now,
      ...(isNew && { acquireTime: now }),
    };
  }
}
