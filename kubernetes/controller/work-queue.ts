// Keys that wait to be worked on. p-queue bounds how many run at once; this adds what it does not know: keys.
// A key never runs twice at the same time, additions while it waits or runs merge, failures back off (client-go `util/workqueue`),
// and namespaces take turns.
import PQueue from 'p-queue';
import { onAbort } from '../flow/abort.ts';
import { backoffDelay, timerMs } from '../flow/backoff.ts';
import { FairQueue, namespaceOf, type FairOptions } from '../flow/fair-queue.ts';
import { yieldToEventLoop } from '../flow/event-loop-yield.ts';

/** Does the work of one key. Rejecting means: again, later. */
export type Work = (key: string) => Promise<void>;

/** Hears what a queue does, to measure it. Times are in ms. */
export interface QueueObserver {
  /** A key that did not wait waits now. */
  added(): void;
  /** A run began, so long after the key was added. */
  started(waitedMs: number): void;
  ended(ranMs: number, outcome: 'done' | 'failed'): void;
}

const RETRY = { firstMs: 50, maxMs: 30_000 };

/** A keyed work queue. */
export class WorkQueue {
  readonly #queue: PQueue<FairQueue, FairOptions>;
  readonly #work: Work;
  readonly #signal: AbortSignal;
  readonly #observer: QueueObserver | undefined;
  readonly #running = new Set<string>();
  /** Waiting for a place, or to run again once the present run has ended, with the time of the addition in ms. */
  readonly #wanted = new Map<string, number>();
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly due: number }>();
  readonly #failures = new Map<string, number>();

  /** Starts at once; stops taking and starting work when `signal` is aborted. */
  constructor(work: Work, concurrency: number, signal: AbortSignal, observer?: QueueObserver) {
    this.#work = work;
    this.#queue = new PQueue<FairQueue, FairOptions>({ concurrency, queueClass: FairQueue });
    this.#signal = signal;
    this.#observer = observer;
    onAbort(signal, () => this.#stop());
  }

  /** Asks for `key` to be worked on, as soon as there is a place. */
  add(key: string): void {
    if (this.#signal.aborted) return;
    this.#cancelTimer(key);
    if (this.#wanted.has(key)) return;
    this.#wanted.set(key, performance.now());
    this.#observer?.added();
    if (!this.#running.has(key)) this.#start(key);
  }

  /** Asks for `key` in `ms`, or earlier when it is already due earlier. */
  addAfter(key: string, ms: number): void {
    if (this.#signal.aborted || this.#wanted.has(key)) return;
    const due = performance.now() + ms;
    const waiting = this.#timers.get(key);
    if (waiting !== undefined && waiting.due <= due) return;
    this.#cancelTimer(key);
    this.#timers.set(key, { due, timer: setTimeout(() => this.add(key), timerMs(ms)) });
  }

  /** Keys that wait, run, or both. */
  get depth(): number {
    let both = 0;
    for (const key of this.#running) if (this.#wanted.has(key)) both += 1;
    return this.#wanted.size + this.#running.size - both;
  }

  /** Resolves when no key waits for a place and none runs; keys that are due later do not count. */
  idle(): Promise<void> {
    return this.#queue.onIdle();
  }

  #start(key: string): void {
    void this.#queue.add(() => this.#run(key), { group: namespaceOf(key) });
  }

  async #run(key: string): Promise<void> {
    const turn = yieldToEventLoop();
    if (turn !== undefined) await turn;
    const startedAt = performance.now();
    const addedAt = this.#wanted.get(key) ?? startedAt;
    this.#wanted.delete(key);
    if (this.#signal.aborted) return;
    this.#running.add(key);
    this.#observer?.started(startedAt - addedAt);
    let outcome: 'done' | 'failed' = 'done';
    try {
      await this.#work(key);
      this.#failures.delete(key);
    } catch {
      outcome = 'failed';
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.addAfter(key, backoffDelay(RETRY, failures, Math.random()));
    } finally {
      this.#running.delete(key);
      this.#observer?.ended(performance.now() - startedAt, outcome);
      if (this.#wanted.has(key)) this.#start(key);
    }
  }

  #cancelTimer(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer);
    this.#timers.delete(key);
  }

  #stop(): void {
    this.#queue.clear();
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#wanted.clear();
  }
}
