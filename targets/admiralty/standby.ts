// Whether the components of this cluster may act: not while Admiralty runs in it as a source, since the two would undo
// each other's writes, and not while a migration forbids it. Uses watches, so that an idle cluster costs nothing.
import type { Logger } from 'pino';
import type { KubernetesObject, Lease } from '../../api/objects/core.ts';
import { MIGRATION_CONFIG_MAP, MIGRATION_STANDBY_KEY, MIGRATION_WEBHOOK_KEY } from '../../api/objects/own-names.ts';
import { CLUSTER_TARGETS, CONFIG_MAPS, LEASES, TARGETS } from '../../api/resource-types.ts';
import { ADMIRALTY_SOURCE_LEASES, isHeld } from '../../model/naming/live-admiralty.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';

/** What to watch, and for which components. */
export interface StandbyOptions {
  readonly client: ClusterClient;
  readonly installNamespace: string;
  /** Components that write to pods of a source. */
  readonly actsInSource: boolean;
  readonly logger: Logger;
}

/** Interval at which expired Leases are checked, in ms. */
const POLL_INTERVAL_MS = 1_000;
/** Checks between two log lines of a waiting component. */
const TELL_EVERY = 30;

/** Watches for reasons to stand by. */
export class Standby {
  readonly #options: StandbyOptions;
  readonly #records: Informer<KubernetesObject, string>;
  readonly #leases: readonly Informer<Lease, Lease>[];
  /** Whether the components are known to have to stand by now. */
  isStandingBy = false;

  constructor(options: StandbyOptions) {
    this.#options = options;
    const { client, installNamespace: namespace, actsInSource, logger } = options;
    this.#records = new Informer<KubernetesObject, string>({
      client, logger, type: CONFIG_MAPS,
      selection: { namespace, fieldSelector: `metadata.name=${MIGRATION_CONFIG_MAP}` },
      project: (record) => dataOf(record)[MIGRATION_STANDBY_KEY],
    });
    const inform = fullInformersOf({ client, logger });
    this.#leases = (actsInSource ? ADMIRALTY_SOURCE_LEASES : []).map((name) => inform(LEASES, { name }));
  }

  /** Watches until `signal` aborts. */
  run(signal: AbortSignal): void {
    for (const informer of [this.#records, ...this.#leases]) void informer.run(signal);
  }

  /** Resolves once the components may act. Throws the signal's reason. */
  async over(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#records.synced, ...this.#leases.map(({ synced }) => synced)]);
    for (let looks = 0; ; looks += 1) {
      signal.throwIfAborted();
      const why = await this.#why(signal);
      this.isStandingBy = why !== undefined;
      if (why === undefined) return;
      if (looks % TELL_EVERY === 0) this.#options.logger.warn({ why }, 'standing by: this process writes nothing');
      await delay(POLL_INTERVAL_MS, signal);
    }
  }

  /** Calls back once when acting components must stop. */
  watch(onBegin: (error: AppError) => void, signal: AbortSignal): void {
    let isReported = false;
    const look = async (): Promise<void> => {
      const why = await this.#why(signal);
      if (why === undefined || isReported || signal.aborted) return;
      isReported = true;
      onBegin(new AppError('AdmiraltyActive', `${why}; this process exits, to be restarted and stand by.`));
    };
    const looked = (): void => void look().catch((error: unknown) => this.#options.logger.warn(
      { error: messageOf(error) }, 'cannot tell whether Admiralty is active in this cluster',
    ));
    for (const informer of [this.#records, ...this.#leases]) informer.onChange(looked);
  }

  /** Why the components must stand by; undefined when they may act. */
  async #why(signal: AbortSignal): Promise<string | undefined> {
    const [reason] = this.#records.records();
    if (reason !== undefined) return reason;
    const live = this.#leases.flatMap((informer) => [...informer.records()]).find((lease) => isHeld(lease, Date.now()));
    if (live === undefined || !(await this.#isSource(signal))) return undefined;
    return `Admiralty is running in this cluster (Lease ${live.metadata.namespace}/${live.metadata.name}): run ` +
      '"isthmus migrate admiralty"';
  }

  /** A cluster without targets has no pods that both would manage. */
  async #isSource(signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    const lists =
      await Promise.all([CLUSTER_TARGETS, TARGETS].map((type) => client.listPage(type, {}, { limit: 1 }, signal)));
    return lists.some(({ items }) => items.length > 0);
  }
}

/** Why elected pods must not be sent to our webhook; undefined when the record allows it. */
export function webhookOffReason(record: KubernetesObject): string | undefined {
  return dataOf(record)[MIGRATION_WEBHOOK_KEY];
}

function dataOf(record: KubernetesObject): Readonly<Record<string, string>> {
  return (record as KubernetesObject & { readonly data?: Readonly<Record<string, string>> }).data ?? {};
}
