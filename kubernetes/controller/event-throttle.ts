// Throttles informational Events (of successful placements, for example) that a burst of pods would cause. A few pass
// at once, then one a second. The rest waits in a bounded queue; overflow is dropped and counted. The binding's
// annotation records the same for every pod.
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { onAbort } from '../flow/abort.ts';
import type { EventSink } from './event-recorder.ts';

/** Burst size and rate. */
const AHEAD = 5;
const EVERY_MS = 1_000;
/** Queue length, two minutes' worth; more are dropped, for their pods may be gone by then. */
const MOST_WAITING = 120;

/** Forwards events at a limited rate. */
export class EventThrottle implements EventSink {
  /** Events dropped because the queue was full. */
  dropped = 0;
  readonly #sink: EventSink;
  readonly #waiting: EventRecord[] = [];
  #ahead = AHEAD;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(sink: EventSink, signal: AbortSignal) {
    this.#sink = sink;
    onAbort(signal, () => {
      this.#ended = true;
      clearTimeout(this.#timer);
    });
  }

  /** Queues an event; returns at once and never throws. */
  record(event: EventRecord): void {
    if (this.#ended) return;
    if (this.#ahead > 0) {
      this.#ahead -= 1;
      this.#sink.record(event);
    } else if (this.#waiting.length < MOST_WAITING) {
      this.#waiting.push(event);
    } else {
      this.dropped += 1;
    }
    this.#timer ??= this.#later();
  }

  #later(): NodeJS.Timeout {
    return setTimeout(() => this.#tick(), EVERY_MS).unref();
  }

  #tick(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#ahead += 1;
    else this.#sink.record(next);
    this.#timer = this.#ahead < AHEAD ? this.#later() : undefined;
  }
}
