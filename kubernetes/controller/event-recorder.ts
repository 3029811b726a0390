// Records Events (events.k8s.io/v1) in the background: recording never blocks and never fails. Repetitions become a
// series: with the first note, as in client-go `tools/events`, because the note of an Event is immutable. Events beyond
// the limits are dropped and counted.
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { EVENTS } from '../../api/resource-types.ts';
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { messageOf } from '../../process/errors.ts';
import { forwardAbort } from '../flow/abort.ts';
import { isAlreadyExists, isNotFound } from '../flow/api-error.ts';
import { delay } from '../flow/backoff.ts';
import type { ClusterClient } from '../client/cluster-client.ts';

/** Dependencies of a recorder. */
export interface RecorderOptions {
  readonly client: ClusterClient;
  /** `isthmus.dev/<component>`. */
  readonly controller: string;
  readonly logger: Logger;
  readonly limits?: Partial<RecorderLimits>;
}

/** Limits of a recorder. */
export interface RecorderLimits {
  /** Length of the write queue; more are dropped. */
  readonly waiting: number;
  /** Events that are remembered to turn repetitions into a series. */
  readonly remembered: number;
  /** An event that did not repeat for this long starts a new series, in ms. */
  readonly seriesEndsMs: number;
  /** Least interval between two writes of a series, in ms. */
  readonly seriesEveryMs: number;
}

const LIMITS: RecorderLimits = { waiting: 1_000, remembered: 4_096, seriesEndsMs: 6 * 60_000, seriesEveryMs: 30_000 };
const MAX_NOTE = 1_024;
/** Longest name of an object (Kubernetes "Object names", DNS subdomain). */
const MAX_NAME = 253;
/** Interval at which series are checked, in ms. */
const SERIES_CHECK_MS = 1_000;

/** Accepts events from controllers. */
export interface EventSink {
  /** Queues an event; returns at once and never throws. */
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
  /** Whether it is queued. */
  isWaiting: boolean;
}

/** Writes events one at a time until its signal aborts. */
export class EventRecorder implements EventSink {
  /** Events that were not written: the queue was full, or the API server rejected them. */
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

  /** Queues an event; returns at once and never throws. */
  record(event: EventRecord): void {
    const now = Date.now();
    const { regarding, related, type, reason, action, note, perNote } = event;
    const key = JSON.stringify([regarding.uid, related, type, reason, action, ...(perNote ? [note] : [])]);
    const known = this.#remembered.get(key);
    if (known !== undefined && now - known.lastAt < this.#limits.seriesEndsMs) {
      known.count += 1;
      known.lastAt = now;
      this.#remembered.delete(key); // least recently seen is evicted first
      this.#remembered.set(key, known);
      return this.#enqueue(known);
    }
    this.#sequence += 1;
    const name = eventName(regarding.name, `${now.toString(16)}${this.#sequence.toString(16).padStart(4, '0')}`);
    const fresh: Remembered =
      { event, name, firstAt: now, lastAt: now, count: 1, writtenCount: 0, writtenAt: 0, isWaiting: false };
    this.#remembered.set(key, fresh);
    this.#forget(now);
    this.#enqueue(fresh);
  }

  /** Forgets the least recently seen events: those beyond the limit, and those that start a new series anyway. */
  #forget(now: number): void {
    for (const [key, { lastAt }] of this.#remembered) {
      const isOver = now - lastAt >= this.#limits.seriesEndsMs;
      if (!isOver && this.#remembered.size <= this.#limits.remembered) return;
      this.#remembered.delete(key);
    }
  }

  /** Writes queued and new events until `signal` aborts. Never throws. */
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

  /** A new event is due at once, a series once its write interval has passed. */
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
    await delay(Math.min(SERIES_CHECK_MS, this.#limits.seriesEveryMs), woken.signal);
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
      if (writtenCount === 0) await client.metadataOnly().create(EVENTS, this.#toEvent(remembered), signal);
      else await client.metadataOnly().patch(EVENTS, at, { patchType: 'merge', patch: { series } }, signal);
    } catch (error) {
      this.dropped += 1;
      // an Event that does not exist cannot be continued as a series: its next repetition creates it
      if (writtenCount === 0 ? !isAlreadyExists(error) : isNotFound(error)) remembered.writtenCount = 0;
      logger.debug({ event: name, error: messageOf(error) }, 'an event was not written');
    }
  }

  #toEvent({ event, name, firstAt, lastAt, count }: Remembered): KubernetesObject {
    const { regarding, related, type, reason, action, note } = event;
    const written = {
      metadata: { namespace: regarding.namespace ?? 'default', name },
      eventTime: microTime(firstAt),
      reportingController: this.#options.controller,
      reportingInstance: hostname(),
      regarding, ...(related !== undefined && { related }), type, reason, action,
      note: Buffer.from(note, 'utf8').subarray(0, MAX_NOTE).toString('utf8').replace(/\uFFFD$/, ''),
      ...(count > 1 && { series: { count, lastObservedTime: microTime(lastAt) } }),
    };
    return written;
  }
}

/** As in client-go, but of a long name there is as much as fits, without a dot or dash at the end. */
function eventName(about: string, unique: string): string {
  const room = MAX_NAME - 1 - unique.length;
  return `${about.length > room ? about.slice(0, room).replace(/[.-]+$/, '') : about}.${unique}`;
}

function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
