// Events that a whole burst of pods may give rise to, those of success say: good to have, and nothing that the burst should pay for. A few are handed on at once, then one a
// second, behind the burst; what is too much is dropped and counted. The binding's annotation says the same of every pod.
import type { EventRecord } from '../../model/proxy/event-record.ts';
import { onAbort } from '../flow/abort.ts';
import type { EventSink } from './event-recorder.ts';

/** Events handed on ahead of the pace, and how fast they may be again. */
const AHEAD = 5;
const EVERY_MS = 1_000;
/** Events that wait, two minutes of them; more are dropped: nobody looks for them later, and their pods may be gone. */
const MOST_WAITING = 120;

/** Hands events on at a pace. */
export class EventThrottle implements EventSink {
  /** Events that were not handed on, because too many waited. */
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

  /** Takes an event; returns at once and never throws. */
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
