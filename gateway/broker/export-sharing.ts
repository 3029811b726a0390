// Syncs a member's exports: its own to the broker, those of others into its install namespace. Failures are retried
// with the next stream, which begins with all exports; until then the copies stay. An export that the broker refuses,
// or whose copy is rejected here, holds up no other.
import type { Logger } from 'pino';
import { BROKER_COPY_LABEL, TRUE } from '../../api/objects/keys.ts';
import { EXPORTED_SERVICES, OWN_EXPORT_LABEL, type ExportedService } from '../../api/kinds/service-discovery.ts';
import { ApiError, isNotFound, unless } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import type { Informer } from '../../kubernetes/watch/informer.ts';
import { fullInformersOf } from '../../kubernetes/watch/full-objects.ts';
import { planCopy, type BrokerUpdate } from './broker-protocol.ts';
import { askBroker, BrokerRefusal, type BrokerAccess } from './broker-request.ts';
import { applyUpdate, planSharing, newlyShared, type ExportChange } from './export-protocol.ts';

/** Dependencies. */
export interface ExportSharingOptions {
  readonly client: ClusterClient;
  readonly namespace: string;
  readonly logger: Logger;
  /** Another way to the broker; for tests. */
  readonly ask?: typeof askBroker;
}

/** A change that the broker has refused. */
interface RefusedChange {
  /** The export as it was; undefined when it was to be withdrawn. */
  readonly object: ExportedService | undefined;
  /** When it is tried again unless it changes, in ms of a monotonic clock. */
  readonly untilMs: number;
}

const FIELD_MANAGER = 'isthmus-gateway';
/** Pause in ms before a change that the broker has refused is tried again: there may be room for it by then. */
const REFUSED_MS = 60_000;
/** Statuses of an answer that is about one export: it is invalid, one too many, or too large. */
const ABOUT_ONE: readonly number[] = [400, 403, 413];
/** Statuses of an API server's answer that is about one copy. */
const REJECTED: readonly number[] = [400, 403, 413, 422];
/** How many names a line of the log tells. */
const MOST_NAMES = 10;

/** Exports of one member. */
export class ExportSharing {
  readonly #options: ExportSharingOptions;
  readonly #own: Informer<ExportedService, ExportedService>;
  #atBroker: ReadonlyMap<string, ExportedService> | undefined;
  #isDirty = false;
  /** By `namespace/name` of the Service. */
  #refused: ReadonlyMap<string, RefusedChange> = new Map();
  /** Names of copies that were rejected here, and when they are tried again, in ms of a monotonic clock. */
  readonly #rejected = new Map<string, number>();

  constructor(options: ExportSharingOptions) {
    const { client, namespace, logger } = options;
    this.#options = options;
    const inform = fullInformersOf({ client, logger });
    this.#own = inform(EXPORTED_SERVICES, { namespace, labelSelector: `${OWN_EXPORT_LABEL}=true` });
    this.#own.onChange(() => (this.#isDirty = true));
  }

  /** Watches own exports until `signal` is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#own.run(signal);
  }

  /** Applies a line of the stream: copies other members' exports. Throws what writing throws. */
  async receive(clusterId: string, news: BrokerUpdate, signal: AbortSignal): Promise<void> {
    this.#atBroker = applyUpdate(news.exports === undefined ? (this.#atBroker ?? new Map()) : new Map(), news);
    this.#isDirty = true;
    if (news.exports !== undefined) return this.#copyAll(clusterId, [...this.#atBroker.values()], signal);
    const others = applyUpdate(new Map(), { changedExports: news.changedExports ?? [] });
    for (const exported of others.values()) {
      if (exported.spec.clusterID !== clusterId) await this.#saveUnlessRejected(exported, signal);
    }
    for (const name of news.goneExports ?? []) if (!name.startsWith(`${clusterId}.`)) await this.#remove(name, signal);
  }

  /** Tries copies again that were rejected a while ago. Throws what writing throws. */
  async retry(signal: AbortSignal): Promise<void> {
    for (const [name, untilMs] of this.#rejected) {
      if (performance.now() < untilMs) continue;
      const exported = this.#atBroker?.get(name);
      if (exported === undefined) this.#rejected.delete(name);
      else await this.#saveUnlessRejected(exported, signal);
    }
  }

  /** Drops the broker's state; the next stream sends it again. */
  forget(): void {
    this.#atBroker = undefined;
  }

  /**
   * Sends changes to the broker and records success on each own export. Throws what the requests throw, except refusals
   * of single exports.
   */
  async share(access: BrokerAccess, clusterId: string, signal: AbortSignal): Promise<void> {
    const known = this.#atBroker;
    if (known === undefined || !this.#isDue || !this.#own.hasSynced) return;
    this.#isDirty = false;
    try {
      const own = new Map([...this.#own.records()].filter(({ spec }) => spec.clusterID === clusterId).map(
        (one) => [one.metadata.name ?? '', one],
      ));
      const mine = new Map([...known].filter(([, { spec }]) => spec.clusterID === clusterId));
      const refused = await this.#tellAll(
        planSharing(own, mine), (change) => this.#tell(access, clusterId, change, signal),
      );
      for (const [{ metadata: { name = '' } }, refusal] of refused) await this.#note(name, { refusal }, signal);
      for (const { metadata: { name = '', generation } } of newlyShared(own, mine)) {
        await this.#note(name, { sharedGeneration: generation, refusal: null }, signal);
      }
    } catch (error) {
      this.#isDirty = true;
      throw error;
    }
  }

  get #isDue(): boolean {
    return this.#isDirty || [...this.#refused.values()].some(({ untilMs }) => performance.now() >= untilMs);
  }

  /** Sends each change separately. A rejected one waits until it is due, or differs. Returns why some were rejected. */
  async #tellAll(
    changes: readonly ExportChange[], tell: (change: ExportChange) => Promise<void>,
  ): Promise<ReadonlyMap<ExportedService, string>> {
    const before = this.#refused;
    const refused = new Map<string, RefusedChange>();
    const news = new Map<string, string>();
    const reasons = new Map<ExportedService, string>();
    this.#refused = refused;
    for (const change of changes) {
      if (this.#atBroker === undefined) break; // the stream has ended: perhaps all of them are refused
      const { key, object } = namedIn(change);
      const known = before.get(key);
      if (known !== undefined && known.object === object && performance.now() < known.untilMs) {
        refused.set(key, known);
        continue;
      }
      await tell(change).catch((error: unknown) => {
        if (!(error instanceof BrokerRefusal) || !ABOUT_ONE.includes(error.status)) throw error;
        refused.set(key, { object, untilMs: performance.now() + REFUSED_MS });
        news.set(key, error.message);
        if (object !== undefined) reasons.set(object, error.message);
      });
    }
    if (news.size > 0) this.#options.logger.warn(
      { exports: [...news.keys()].slice(0, MOST_NAMES), count: news.size, error: [...news.values()][0] },
      'the broker has refused exports; the others are not affected',
    );
    return reasons;
  }

  async #tell(access: BrokerAccess, clusterId: string, change: ExportChange, signal: AbortSignal): Promise<void> {
    const { namespace, name } = change.kind === 'tell' ? change.object.spec : change;
    const path = `/v1/clusters/${clusterId}/exports/${namespace}/${name}`;
    const { ask = askBroker } = this.#options;
    if (change.kind === 'withdraw') return void (await ask(access, { method: 'DELETE', path }, signal));
    await ask(access, { method: 'PUT', path, body: { spec: change.object.spec } }, signal);
  }

  async #note(name: string, status: object, signal: AbortSignal): Promise<void> {
    const at = { namespace: this.#options.namespace, name, subresource: 'status' } as const;
    await this.#options.client
      .patch(EXPORTED_SERVICES, at, { patchType: 'merge', patch: { status } }, signal)
      .catch(unless(isNotFound));
  }

  async #copyAll(clusterId: string, exports: readonly ExportedService[], signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    const local =
      await client.list(EXPORTED_SERVICES, { namespace, labelSelector: `${BROKER_COPY_LABEL}=${TRUE}` }, signal);
    for (const change of planCopy(local, exports.filter(({ spec }) => spec.clusterID !== clusterId))) {
      await (
        change.kind === 'apply' ? this.#saveUnlessRejected(change.object, signal) : this.#remove(change.name, signal)
      );
    }
  }

  /** A copy that the API server of this cluster rejects is tried again later, and holds up no other. */
  async #saveUnlessRejected(exported: ExportedService, signal: AbortSignal): Promise<void> {
    const { name = '' } = exported.metadata;
    this.#rejected.delete(name);
    await this.#save(exported, signal).catch((error: unknown) => {
      if (!(error instanceof ApiError) || !REJECTED.includes(error.status)) throw error;
      this.#rejected.set(name, performance.now() + REFUSED_MS);
      this.#options.logger.warn(
        { export: name, error: error.message }, 'the copy of an export was rejected; the others are not affected',
      );
    });
  }

  async #save({ metadata: { name = '' }, spec }: ExportedService, signal: AbortSignal): Promise<void> {
    const { client, namespace } = this.#options;
    await client.apply(
      EXPORTED_SERVICES,
      { metadata: { namespace, name, labels: { [BROKER_COPY_LABEL]: TRUE } }, spec } as ExportedService, FIELD_MANAGER,
      signal,
    );
  }

  async #remove(name: string, signal: AbortSignal): Promise<void> {
    await this.#options.client.delete(EXPORTED_SERVICES, { namespace: this.#options.namespace, name }, {}, signal)
      .catch(unless(isNotFound));
  }
}

function namedIn(change: ExportChange): { readonly key: string; readonly object: ExportedService | undefined } {
  const object = change.kind === 'tell' ? change.object : undefined;
  const { namespace, name } = change.kind === 'tell' ? change.object.spec : change;
  return { key: `${namespace}/${name}`, object };
}
