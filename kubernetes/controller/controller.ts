// The loop that every controller shares: a key in, a result out; what is thrown is logged once and retried.
import type { Logger } from 'pino';
import { messageOf } from '../../process/errors.ts';
import { queueMetrics } from '../../process/metrics.ts';
import { ApiError } from '../flow/api-error.ts';
import { NotLeaderError } from '../flow/fence.ts';
import { FencedKeys } from './fenced-keys.ts';
import { yieldToEventLoop } from '../flow/event-loop-yield.ts';
import { WorkQueue } from './work-queue.ts';

/** The key is settled until something changes. */
export interface Done {
  readonly kind: 'done';
}

/** The key must be looked at again after `ms`, even if nothing changes. */
export interface RequeueAfter {
  readonly kind: 'requeue-after';
  readonly ms: number;
}

/** What a reconcile gives back. */
export type ReconcileResult = Done | RequeueAfter;

/** The usual result. */
export const DONE: Done = { kind: 'done' };

/** Brings the object named by `key` a step nearer to what it should be. Reads all state anew; the key never says what happened. */
export type Reconcile = (key: string, signal: AbortSignal) => Promise<ReconcileResult>;

/** How a controller runs. */
export interface ControllerOptions {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** Keys worked on at once. */
  readonly concurrency: number;
  readonly logger: Logger;
  /** Work waits for this, usually for caches to be complete; keys that are asked for meanwhile are kept. */
  readonly ready?: Promise<unknown>;
}

/** Where events of informers put keys. */
export interface Controller {
  enqueue(key: string): void;
  /** Resolves when all work in hand is done. */
  idle(): Promise<void>;
}

/** While this process does not lead, a key that needs a write is looked at this often, in ms; at once when it leads again. */
const NOT_LEADING_RETRY_MS = 10_000;

/** Starts a controller that works until `signal` is aborted. */
export function startController(options: ControllerOptions, signal: AbortSignal): Controller {
  const logger = options.logger.child({ controller: options.name });
  const queue = new WorkQueue(
    async (key) => {
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
        logger.warn({ key, error: messageOf(error) }, 'reconcile failed, will retry');
        throw error;
      }
    },
    options.concurrency,
    signal,
    queueMetrics(options.name, () => queue.depth, signal),
  );
  const refused = new FencedKeys((key) => queue.add(key), signal);
  const gate = new Gate((key) => queue.add(key));
  void gate.openAfter(options.ready ?? Promise.resolve());
  return { enqueue: (key) => gate.pass(key), idle: () => queue.idle() };
}

/** Holds keys back until it is opened. */
class Gate {
  readonly #forward: (key: string) => void;
  #held: Set<string> | undefined = new Set();

  constructor(forward: (key: string) => void) {
    this.#forward = forward;
  }

  pass(key: string): void {
    if (this.#held === undefined) this.#forward(key);
    else this.#held.add(key);
  }

  async openAfter(ready: Promise<unknown>): Promise<void> {
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
