// The reconcile loop that all controllers share: a key in, a result out. Errors are logged once and the key is retried.
import type { Logger } from 'pino';
import { messageOf } from '../../process/errors.ts';
import { queueMetrics } from '../../process/metrics.ts';
import { ApiError, UnreachableError } from '../flow/api-error.ts';
import { NotLeaderError } from '../flow/fence.ts';
import { FencedKeys } from './fenced-keys.ts';
import { yieldToEventLoop } from '../flow/event-loop-yield.ts';
import { UnreachableKeys } from './unreachable-keys.ts';
import { WorkQueue } from './work-queue.ts';

/** Nothing to do until something changes. */
export interface Done {
  readonly kind: 'done';
}

/** Reconcile the key again after `ms`, even if nothing changes. */
export interface RequeueAfter {
  readonly kind: 'requeue-after';
  readonly ms: number;
}

/** Result of a reconcile. */
export type ReconcileResult = Done | RequeueAfter;

/** The usual result. */
export const DONE: Done = { kind: 'done' };

/**
 * Reconciles the object named by `key`. Level-triggered: it reads all state again, and the key never says what
 * happened.
 */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

/** Options of a controller. */
export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Concurrent reconciles. */
  readonly concurrency: number;
  readonly logger: Logger;
  /** Reconciles start once this resolves, usually when caches have synced; keys added before are queued. */
  readonly ready?: Promise<unknown>;
}

/** Informer handlers enqueue keys here. */
export interface Controller {
  enqueue(key: string): void;
  /** Resolves when all running reconciles have ended. */
  idle(): Promise<void>;
}

/**
 * Retry interval in ms of a key that needs a write while this process is not leader; it is retried at once on becoming
 * leader.
 */
const NOT_LEADING_RETRY_MS = 10_000;

/** Starts a controller that works until `signal` is aborted. */
export function startController(options: ControllerOptions, signal: AbortSignal): Controller {
  const logger = options.logger.child({ controller: options.name });
  const queue = new WorkQueue(
    async (key) => {
      unreachable.remove(key);
      try {
        const result = await options.reconcile(key, signal);
        if (result.kind === 'requeue-after') queue.addAfter(key, result.ms);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof NotLeaderError) {
          refused.add(key, error.fence);
          queue.addAfter(key, NOT_LEADING_RETRY_MS);
          return;
        }
        if (error instanceof ApiError && error.retryAfterMs !== undefined) {
          queue.addAfter(key, error.retryAfterMs);
          return;
        }
        if (error instanceof UnreachableError) unreachable.add(key, error);
        logger.warn({ key, error: messageOf(error) }, 'reconcile failed, will retry');
        throw error;
      }
    },
    options.concurrency,
    signal,
    queueMetrics(options.name, () => queue.depth, signal),
  );
  const unreachable = new UnreachableKeys((key) => queue.add(key));
  const refused = new FencedKeys((key) => queue.add(key), signal);
  const early = new EarlyKeys((key) => queue.add(key));
  void early.forwardAfter(options.ready ?? Promise.resolve());
  return { enqueue: (key) => early.add(key), idle: () => queue.idle() };
}

/** Keys that arrive before the caches have synced; later ones are forwarded at once. */
class EarlyKeys {
  readonly #forward: (key: string) => void;
  #held: Set<string> | undefined = new Set();

  constructor(forward: (key: string) => void) {
    this.#forward = forward;
  }

  add(key: string): void {
    if (this.#held === undefined) this.#forward(key);
    else this.#held.add(key);
  }

  async forwardAfter(ready: Promise<unknown>): Promise<void> {
    await ready;
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const key of held) {
      const turn = yieldToEventLoop();
      if (turn !== undefined) await turn;
      this.#forward(key);
    }
  }
}
