// Events (events.k8s.io/v1) for users to read. They are written behind the back of the work that they tell of: recording never
// waits and never fails, repetitions become a series (of the first note, as client-go `tools/events` has it), and what is too much is
// dropped and counted.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { EVENTS } from '../../api/resource-types.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { messageOf } from '../../process/errors.ts';
import { forwardAbort } from '../flow/abort.ts';
import { delay } from '../flow/backoff.ts';
import type { ClusterClient } from '../client/cluster-client.ts';

/** What a recorder works with. */
export interface RecorderOptions {
  readonly client: ClusterClient;
  /** `isthmus.dev/<component>`. */
  readonly controller: string;
  readonly logger: Logger;
  readonly limits?: Partial<RecorderLimits>;
}

/** Bounds of a recorder. */
export interface RecorderLimits {
  /** Events that wait to be written; more are dropped. */
  readonly waiting: number;
  /** Events that are remembered, so that their repetitions become a series. */
  readonly remembered: number;
  /** An event that did not happen again for this long begins a new one, in ms. */
  readonly seriesEndsMs: number;
  /** A series is written at most this often, in ms. */
  readonly seriesEveryMs: number;
}

const LIMITS: RecorderLimits = { waiting: 1_000, remembered: 4_096, seriesEndsMs: 6 * 60_000, seriesEveryMs: 30_000 };
const MAX_NOTE = 1_024;
/** How often it is looked whether a series is due, in ms. */
const SERIES_LOOK_MS = 1_000;

/** Where controllers put events. */
export interface EventSink {
  /** Takes an event; returns at once and never throws. */
  record(event: EventRecord): void;
}

interface Remembered {
  readonly event: EventRecord;
  readonly name: string;
  readonly firstAt: number;
  count: number;
  lastAt: number;
  writtenCount: number;
  writtenAt: number;
  /** Whether it waits to be written. */
  isWaiting: boolean;
}

/** Writes events one after another until its signal aborts. */
export class EventRecorder implements EventSink {
  /** Events that were not written: too many waited, or the server refused them. */
  dropped = 0;
  readonly #options: RecorderOptions;
  readonly #limits: RecorderLimits;
  readonly #remembered = new Map<string, Remembered>();
  readonly #waiting: Remembered[] = [];
  #wake: () => void = () => undefined;
  #sequence = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Takes an event; returns at once and never throws. */
  record(event: EventRecord): void {
    const now = Date.now();
    const key = JSON.stringify([event.regarding.uid, event.type, event.reason, event.action]);
    const known = this.#remembered.get(key);
    if (known !== undefined && now - known.lastAt < this.#limits.seriesEndsMs) {
      known.count += 1;
      known.lastAt = now;
      this.#remembered.delete(key); // the one that happened last is forgotten last
      this.#remembered.set(key, known);
      return this.#enqueue(known);
    }
    this.#sequence += 1;
    const name = `${event.regarding.name}.${now.toString(16)}${this.#sequence.toString(16).padStart(4, '0')}`;
    const fresh: Remembered = { event, name, firstAt: now, lastAt: now, count: 1, writtenCount: 0, writtenAt: 0, isWaiting: false };
    this.#remembered.set(key, fresh);
    for (const [oldest] of this.#remembered) {
      if (this.#remembered.size <= this.#limits.remembered) break;
      this.#remembered.delete(oldest);
    }
    this.#enqueue(fresh);
  }

  /** Writes what was and will be recorded until `signal` aborts. Never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#takeDue();
      if (next === undefined) await this.#untilWoken(signal);
      else await this.#write(next, signal);
    }
  }

  #enqueue(remembered: Remembered): void {
    if (remembered.isWaiting) return;
    if (this.#waiting.length >= this.#limits.waiting) {
      this.dropped += 1;
      return;
    }
    remembered.isWaiting = true;
    this.#waiting.push(remembered);
    this.#wake();
  }

  /** A new event is due at once, a series when its last write is long enough ago. */
  #takeDue(): Remembered | undefined {
    const now = Date.now();
    const index = this.#waiting.findIndex(({ writtenAt }) => now - writtenAt >= this.#limits.seriesEveryMs);
    const [next] = index === -1 ? [] : this.#waiting.splice(index, 1);
    if (next !== undefined) next.isWaiting = false;
    return next;
  }

  async #untilWoken(signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const forget = forwardAbort([signal], woken);
    await delay(Math.min(SERIES_LOOK_MS, this.#limits.seriesEveryMs), woken.signal);
    forget();
    this.#wake = () => undefined;
  }

  async #write(remembered: Remembered, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const { event: { regarding }, name, writtenCount, count } = remembered;
    remembered.writtenAt = Date.now();
    remembered.writtenCount = count;
    const at = { namespace: regarding.namespace ?? 'default', name };
    const series = { count, lastObservedTime: microTime(remembered.lastAt) };
    try {
      if (writtenCount === 0) await client.create(EVENTS, this.#toEvent(remembered), signal);
      else await client.patch(EVENTS, at, { patchType: 'merge', patch: { series } }, signal);
    } catch (error) {
      this.dropped += 1;
      logger.debug({ event: name, error: messageOf(error) }, 'an event was not written');
    }
  }

  #toEvent({ event, name, firstAt, lastAt, count }: Remembered): KubernetesObject {
    const { regarding, type, reason, action, note } = event;
    const written = {
      metadata: { namespace: regarding.namespace ?? 'default', name },
      eventTime: microTime(firstAt),
      reportingController: this.#options.controller,
      reportingInstance: hostname(),
      regarding, type, reason, action,
      note: Buffer.from(note, 'utf8').subarray(0, MAX_NOTE).toString('utf8').replace(/\uFFFD$/, ''),
      ...(count > 1 && { series: { count, lastObservedTime: microTime(lastAt) } }),
    };
    return written;
  }
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
