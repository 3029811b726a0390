// Follows one collection with the viewer's rights, and looks now and then whether they still have them: an API server
// lets a watch go on for minutes after a right was withdrawn.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { failureText } from '../../cli/output/error-text.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { isForbidden, isUnauthorized } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { createLogger } from '../../process/logger.ts';
import type { Reading } from '../views/reading.ts';

/** How often the right to read is looked at again, in ms. */
const RECHECK_MS = 25_000;
/** A check that takes longer says nothing, in ms. */
const CHECK_MS = 4_000;

/** What is followed. */
export interface Followed<T extends KubernetesObject> {
  readonly client: ClusterClient;
  readonly type: ResourceType<T>;
  readonly selection: Selection;
  readonly recheckMs?: number | undefined;
}

/** One collection, followed until its signal aborts. */
export class Following<T extends KubernetesObject, R> {
  readonly #followed: Followed<T>;
  readonly #informer: Informer<T, R>;
  readonly #changed: () => void;
  /** Why the viewer may not read it any more. */
  #withdrawn: unknown;

  /** `changed` is called when a record changes, and when the collection becomes readable or unreadable. */
  constructor(followed: Followed<T>, project: (object: T) => R | undefined, changed: () => void) {
    [this.#followed, this.#changed] = [followed, changed];
    this.#informer = new Informer({ ...followed, logger: createLogger('silent'), project });
    this.#informer.onChange(changed);
    this.#informer.onListed(changed);
    this.#informer.onConnection(changed);
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.run(signal), this.#recheck(signal)]);
  }

  /** A right that was withdrawn counts, though records are still there. */
  get reading(): Reading<R> {
    const { connection, hasSynced } = this.#informer;
    const error = this.#withdrawn ?? (connection.kind === 'broken' ? connection.error : undefined);
    if (error !== undefined && isDenial(error)) return { kind: 'forbidden', message: failureText(error) };
    if (hasSynced) return { kind: 'read', records: [...this.#informer.records()] };
    return error === undefined ? { kind: 'reading' } : { kind: 'failed', message: failureText(error) };
  }

  async #recheck(signal: AbortSignal): Promise<void> {
    const { client, type, selection, recheckMs = RECHECK_MS } = this.#followed;
    while (!signal.aborted) {
      await delay(recheckMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      const denial = await client.urgent(CHECK_MS).listPage(type, selection, { limit: 1 }, signal)
        .then(() => undefined, (error: unknown) => (isDenial(error) ? error : this.#withdrawn));
      if ((denial === undefined) === (this.#withdrawn === undefined)) continue;
      this.#withdrawn = denial;
      this.#changed();
    }
  }
}

function isDenial(error: unknown): boolean {
  return isForbidden(error) || isUnauthorized(error);
}
