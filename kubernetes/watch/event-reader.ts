// Reads the events of an open watch. It listens to the stream itself: an async iterator would keep three kilobytes
// more for each watch, of which a source has five for each target, and make promises for each chunk.
import type { Readable } from 'node:stream';
import { JsonLines, type ReadDocument } from '../json/json-lines.ts';

/** A watch whose response has begun. */
export interface EventStream {
  readonly body: Readable;
  /** Silence in ms after which the watch counts as dead. */
  readonly silenceMs: number;
  readonly read: ReadDocument;
  /** Of one event; the usual limit when undefined. */
  readonly maxLineBytes: number | undefined;
}

/** Nothing came over the watch for too long, although its connection may live. */
export class SilentWatchError extends Error {
  override readonly name = 'SilentWatchError';

  constructor() {
    super('the watch was silent for too long');
  }
}

/** Time in ms for which the events of one watch are read before the event loop has a turn. */
const TIME_SLICE_MS = 5;

let turn = 0;
let isCounted = false;

/** The number of this turn of the event loop. */
function currentTurn(): number {
  if (!isCounted) setImmediate(countTurn);
  isCounted = true;
  return turn;
}

function countTurn(): void {
  turn += 1;
  isCounted = false;
}

/**
 * Passes each event to `take` until the stream ends.
 * @throws what ended the stream before its end, or what `read` or `take` threw.
 */
export function readEvents(stream: EventStream, take: (event: unknown) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const reader = new EventReader(stream, take, (error) => (error === undefined ? resolve() : reject(error)));
    reader.start();
  });
}

class EventReader {
  readonly #body: Readable;
  readonly #lines: JsonLines;
  readonly #take: (event: unknown) => void;
  readonly #ended: (error: unknown) => void;
  readonly #watchdog: NodeJS.Timeout;
  /** The rest of a chunk, until its turn. No chunk is kept after its last event: a list's may have a megabyte. */
  #rest: Iterator<unknown> | undefined;
  /** The last turn in which events were read, and when that began (monotonic clock, ms). */
  #slice = { turn: -1, began: 0 };
  #isOver = false;

  /** `ended` gets the first reason for the end; undefined when the server ended the stream normally. */
  constructor(
    { body, silenceMs, read, maxLineBytes }: EventStream, take: (event: unknown) => void,
    ended: (error: unknown) => void,
  ) {
    [this.#body, this.#take, this.#ended] = [body, take, ended];
    this.#lines = new JsonLines(read, maxLineBytes);
    this.#watchdog = setTimeout(() => body.destroy(new SilentWatchError()), silenceMs);
  }

  start(): void {
    const body = this.#body;
    const end = (error?: unknown): void => this.#end(error);
    body.on('error', end); // also what a stream reports that has ended
    body.on('end', () => this.#rest === undefined && end()); // it comes with the last chunk, paused or not
    body.on('close', () => !body.readableEnded && end(new Error('the watch was closed before its end')));
    body.on('data', (chunk: Uint8Array) => this.#deliver(this.#lines.push(chunk)));
    if (body.destroyed) end(body.errored ?? new Error('the watch was closed before it was read'));
  }

  #deliver(events: Iterator<unknown>): void {
    this.#rest = undefined;
    this.#beginSlice();
    try {
      for (let next = events.next(); next.done !== true; next = events.next()) {
        this.#take(next.value);
        if (this.#isOver) return;
        if (performance.now() - this.#slice.began >= TIME_SLICE_MS) return this.#continueNextTurn(events);
      }
      if (this.#body.readableEnded) return this.#end(undefined);
      this.#watchdog.refresh();
      if (this.#body.isPaused()) this.#body.resume();
    } catch (error) {
      this.#end(error);
    }
  }

  /** All chunks that arrive within one turn have one slice. */
  #beginSlice(): void {
    const now = currentTurn();
    if (now !== this.#slice.turn) this.#slice = { turn: now, began: performance.now() };
  }

  #continueNextTurn(events: Iterator<unknown>): void {
    this.#rest = events;
    this.#watchdog.refresh();
    this.#body.pause();
    setImmediate(() => {
      if (!this.#isOver) this.#deliver(events);
    });
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#rest = undefined;
    clearTimeout(this.#watchdog);
    this.#ended(error);
    this.#body.destroy();
  }
}
