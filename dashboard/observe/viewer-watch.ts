// Follows one collection with the viewer's permissions: what they may not read any more is neither shown nor watched.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { failureText } from '../../cli/output/error-text.ts';
import type { ClusterClient, Selection } from '../../kubernetes/client/cluster-client.ts';
import { forwardAbort } from '../../kubernetes/flow/abort.ts';
import { Informer } from '../../kubernetes/watch/informer.ts';
import { createLogger } from '../../process/logger.ts';
import type { Reading } from '../views/reading.ts';
import type { ViewerPermissions } from '../permissions/viewer-permissions.ts';
import { isRefusal, whileAllowed } from '../permissions/while-allowed.ts';

/** What is followed. */
export interface WatchedCollection<T extends KubernetesObject> {
  readonly client: ClusterClient;
  readonly permissions: ViewerPermissions;
  readonly type: ResourceType<T>;
  readonly selection: Selection;
}

/** One collection, followed until its signal aborts. */
export class ViewerWatch<T extends KubernetesObject, R> {
  readonly #watched: WatchedCollection<T>;
  readonly #project: (object: T) => R | undefined;
  readonly #changed: () => void;
  #informer: Informer<T, R> | undefined;
  /** Why the viewer may not read it. */
  #refusal: unknown;

  /** `changed` is called when a record changes, and when the collection becomes readable or unreadable. */
  constructor(watched: WatchedCollection<T>, project: (object: T) => R | undefined, changed: () => void) {
    [this.#watched, this.#project, this.#changed] = [watched, project, changed];
  }

  /** Never rejects. */
  run(signal: AbortSignal): Promise<void> {
    const { permissions, type, selection } = this.#watched;
    return whileAllowed(permissions, {
      check: (asked) => permissions.client.listPage(type, selection, { limit: 1 }, asked),
      work: (allowed) => this.#watch(allowed),
      refused: (error) => {
        [this.#refusal, this.#informer] = [error, undefined];
        this.#changed();
      },
    }, signal);
  }

  /** What is known; records stay while the API server does not answer, and are then said to be old. */
  get reading(): Reading<R> {
    if (this.#refusal !== undefined) return { kind: 'forbidden', message: failureText(this.#refusal) };
    if (this.#informer === undefined) return { kind: 'reading' };
    const { connection, hasSynced } = this.#informer;
    const problem = connection.kind === 'broken' ? failureText(connection.error) : undefined;
    if (hasSynced) return { kind: 'read', records: [...this.#informer.records()], outdated: problem };
    return problem === undefined ? { kind: 'reading' } : { kind: 'failed', message: problem };
  }

  /** Resolves to the refusal that has ended the watch. */
  async #watch(signal: AbortSignal): Promise<unknown> {
    const informer = new Informer({ ...this.#watched, logger: createLogger('silent'), project: this.#project });
    const ended = new AbortController();
    const forget = forwardAbort([signal], ended);
    let refusal: unknown;
    informer.onChange(this.#changed);
    informer.onListed(this.#changed);
    informer.onConnection((state) => {
      if (state.kind === 'broken' && isRefusal(state.error)) {
        refusal = state.error;
        ended.abort();
      } else this.#changed();
    });
    this.#informer = informer;
    await informer.run(ended.signal);
    forget();
    if (refusal !== undefined) this.#informer = undefined; // what was read is not shown while the reason is asked for
    return refusal;
  }
}
