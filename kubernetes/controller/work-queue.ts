// A work queue of keys with client-go `util/workqueue` semantics: a key never runs twice at once, additions while it
// waits or runs merge, failures back off. Namespaces are served round robin, so many at once.
import type { QueueMetrics } from '../../process/metrics.ts';
import { onAbort } from '../flow/abort.ts';
import { backoffDelay, timerMs } from '../flow/backoff.ts';
import { FairQueue, namespaceOf } from '../flow/fair-queue.ts';
import { yieldToEventLoop } from '../flow/event-loop-yield.ts';

/** Processes one key. A rejection means: retry later. */
export type Work = (key: string) => Promise<void>;

const RETRY = { firstMs: 50, maxMs: 30_000 };

/** A keyed work queue. */
export class WorkQueue {
  /** Keys that are ready to run. */
  readonly #ready = new FairQueue<string>();
  readonly #concurrency: number;
  /** Runs that have started, also those that still wait for the event loop. */
  #started = 0;
  readonly #becameIdle: (() => void)[] = [];
  readonly #work: Work;
  readonly #signal: AbortSignal;
  readonly #observer: QueueMetrics | undefined;
  readonly #running = new Set<string>();
  /** Waiting to run, or to run again after the current run, with the time of the addition in ms. */
  readonly #wanted = new Map<string, number>();
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly due: number }>();
  readonly #failures = new Map<string, number>();

  /** Starts at once; stops accepting and starting work when `signal` is aborted. */
  constructor(work: Work, concurrency: number, signal: AbortSignal, observer?: QueueMetrics) {
    this.#work = work;
    this.#concurrency = concurrency;
    this.#signal = signal;
    this.#observer = observer;
    onAbort(signal, () => this.#stop());
  }

  /** Adds `key`. */
  add(key: string): void {
    if (this.#signal.aborted) return;
    this.#cancelTimer(key);
    if (this.#wanted.has(key)) return;
    this.#wanted.set(key, performance.now());
    this.#observer?.added();
    if (!this.#running.has(key)) this.#start(key);
  }

  /** Adds `key` after `ms`, or earlier if it is already due earlier. */
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

  /** Resolves when no key is ready and none runs; delayed keys do not count. */
  idle(): Promise<void> {
    if (this.#started === 0 && this.#ready.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#becameIdle.push(resolve));
  }

  #start(key: string): void {
    this.#ready.enqueue(key, namespaceOf(key));
    this.#startReady();
  }

  #startReady(): void {
    while (this.#started < this.#concurrency) {
      const key = this.#ready.dequeue();
      if (key === undefined) return;
      void this.#runInTurn(key);
    }
  }

  async #runInTurn(key: string): Promise<void> {
    this.#started += 1;
    await this.#run(key);
    this.#started -= 1;
    this.#startReady();
    if (this.#started > 0 || this.#ready.size > 0) return;
    for (const resolve of this.#becameIdle.splice(0)) resolve();
  }

  /** Never rejects. */
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
    this.#ready.clear();
    for (const { timer } of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#wanted.clear();
  }
}
