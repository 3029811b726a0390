// Annotates followed Services and Ingresses in the source: annotations for meshes and DNS and, without a pod plane, the
// selector of delegates. They are set at once, and removed after no elected pod has needed them for a while.
import { ignoreStale } from '../../kubernetes/flow/api-error.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import {
  DONE, startController, type Controller, type ReconcileResult,
} from '../../kubernetes/controller/controller.ts';
import { executePlan } from '../../kubernetes/controller/execute-plan.ts';
import type { EventSink } from '../../kubernetes/controller/event-recorder.ts';
import type { Logger } from 'pino';
import { noEndpointsHere } from './service-event.ts';
import { planFollowAnnotations, type FollowMarking, type SourceObject } from '../copies/follow-plan.ts';
import { followKey, parseFollowKey, type FollowedKind, type FollowedName } from '../copies/followed-kinds.ts';

/** What the controller works with. */
export interface FollowAnnotationsOptions {
  readonly source: ClusterClient;
  /** Sink of the Event that a Service has no endpoints here. */
  readonly events: EventSink;
  readonly logger: Logger;
  /** Resolves when all elected pods and targets are synced. */
  readonly ready: Promise<unknown>;
  readonly sourceObject: (object: FollowedName) => SourceObject | undefined | 'unknown';
  /** How an object should be annotated now. */
  readonly markingOf: (object: FollowedName) => FollowMarking;
}

const CONCURRENCY = 8;

/** Maintains the annotations. */
export class FollowAnnotations {
  readonly #options: FollowAnnotationsOptions;
  readonly #controller: Controller;
  /** Since when an annotated object is not followed, in ms, by key. */
  readonly #unfollowedSince = new Map<string, number>();

  constructor(options: FollowAnnotationsOptions, signal: AbortSignal) {
    this.#options = options;
    const { logger, ready } = options;
    const reconcile = (key: string) => this.#reconcile(key, signal);
    this.#controller =
      startController({ name: 'follow-marks', reconcile, concurrency: CONCURRENCY, logger, ready }, signal);
  }

  /** Enqueues an object. */
  enqueue(kind: FollowedKind, key: string): void {
    if (Object.keys(kind.sourceAnnotations).length > 0) this.#controller.enqueue(followKey(kind, key));
  }

  /** Resolves when all enqueued objects were written. */
  idle(): Promise<void> {
    return this.#controller.idle();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const at = parseFollowKey(key);
    const object = at === undefined ? undefined : this.#options.sourceObject(at);
    const wanted = at === undefined ? 'none' : this.#options.markingOf(at);
    if (wanted !== 'none' || typeof object !== 'object') this.#unfollowedSince.delete(key);
    if (at === undefined || typeof object !== 'object' || object.markings.includes(wanted)) return DONE;
    const ms = wanted === 'none' ? this.#msToLinger(key, at.kind) : 0;
    if (ms > 0) return { kind: 'requeue-after', ms };
    await this.#write(at, wanted, signal);
    return DONE;
  }

  async #write({ kind, namespace, name }: FollowedName, wanted: FollowMarking, signal: AbortSignal): Promise<void> {
    const { source } = this.#options;
    try {
      const live = await source.get(kind.type, { namespace, name }, signal);
      await executePlan(source, planFollowAnnotations(kind, live, wanted), signal);
      if (wanted === 'rewritten' && kind.need.kind === 'selects') this.#options.events.record(noEndpointsHere(live));
    } catch (error) {
      ignoreStale(error);
    }
  }

  #msToLinger(key: string, { lingerMs }: FollowedKind): number {
    const since = this.#unfollowedSince.get(key) ?? Date.now();
    this.#unfollowedSince.set(key, since);
    return since + lingerMs - Date.now();
  }
}
