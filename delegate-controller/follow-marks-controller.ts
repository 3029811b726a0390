// The marks of followed Services and Ingresses in the source: annotations for meshes and DNS, and the selector of delegates (contract §4).
// They are put on at once, and taken off when nothing elected has needed them for a while.
import { isConflict, isNotFound } from '../kubernetes/api-error.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import { DONE, startController, type Controller, type ReconcileResult } from '../kubernetes/controller.ts';
import { executePlan } from '../kubernetes/execute-plan.ts';
import type { Logger } from 'pino';
import { planMarks, type SourceObject } from './follow-plan.ts';
import { followKey, parseFollowKey, type FollowedKind, type FollowedName } from './followed-kinds.ts';

/** What the controller works with. */
export interface MarksOptions {
  readonly source: ClusterClient;
  readonly logger: Logger;
  /** Resolves when all elected pods and targets are known. */
  readonly ready: Promise<unknown>;
  readonly sourceObject: (object: FollowedName) => SourceObject | undefined | 'unknown';
  readonly isFollowed: (object: FollowedName) => boolean;
}

const CONCURRENCY = 8;

/** Keeps the marks of objects as they should be. */
export class SourceMarks {
  readonly #options: MarksOptions;
  readonly #controller: Controller;
  /** By key, since when an object that has marks is not followed, in ms. */
  readonly #unfollowedSince = new Map<string, number>();

  constructor(options: MarksOptions, signal: AbortSignal) {
    this.#options = options;
    const { logger, ready } = options;
    const reconcile = (key: string) => this.#reconcile(key, signal);
    this.#controller = startController({ name: 'follow-marks', reconcile, concurrency: CONCURRENCY, logger, ready }, signal);
  }

  /** Asks for an object to be looked at. */
  enqueue(kind: FollowedKind, key: string): void {
    if (Object.keys(kind.marks).length > 0) this.#controller.enqueue(followKey(kind, key));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const at = parseFollowKey(key);
    const object = at === undefined ? undefined : this.#options.sourceObject(at);
    const isFollowed = at !== undefined && this.#options.isFollowed(at);
    if (isFollowed || typeof object !== 'object') this.#unfollowedSince.delete(key);
    if (at === undefined || typeof object !== 'object' || (isFollowed ? object.isMarked : !object.hasMarks)) return DONE;
    const ms = isFollowed ? 0 : this.#msToLinger(key, at.kind);
    if (ms > 0) return { kind: 'requeue-after', ms };
    await this.#write(at, isFollowed, signal);
    return DONE;
  }

  async #write({ kind, namespace, name }: FollowedName, isFollowed: boolean, signal: AbortSignal): Promise<void> {
    const { source } = this.#options;
    try {
      const live = await source.get(kind.type, { namespace, name }, signal);
      await executePlan(source, planMarks(kind, live, isFollowed), signal);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error; // the watch brings what has changed meanwhile
    }
  }

  #msToLinger(key: string, { lingerMs }: FollowedKind): number {
    const since = this.#unfollowedSince.get(key) ?? Date.now();
    this.#unfollowedSince.set(key, since);
    return since + lingerMs - Date.now();
  }
}
