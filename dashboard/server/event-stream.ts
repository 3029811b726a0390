// One screen as server-sent events: a whole snapshot at each change, never more than one behind. A slow client gets
// fewer snapshots, one that reads nothing is disconnected.
import { hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { OpenScreen } from '../wire/screen-source.ts';

/** Times of a stream in ms. */
export interface StreamTimes {
  /** Least time between two snapshots: changes within it are one. The first one is sent at once. */
  readonly gather: number;
  /** A comment is sent this often, so that the page notices a lost connection. */
  readonly heartbeat: number;
  /** A client that takes nothing for this long is disconnected. */
  readonly stuck: number;
}

/** The times that the page's server uses. */
export const STREAM_TIMES: StreamTimes = { gather: 250, heartbeat: 15_000, stuck: 30_000 };

/** Proxies pass snapshots on at once; nginx gathers them to a page of memory where the last field does not say so. */
const PASSED_ON = {
  'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no',
};

/** Sends a screen until the client goes. */
export class EventStream {
  readonly #answer: ServerResponse;
  readonly #screen: OpenScreen;
  readonly #times: StreamTimes;
  /** Digest of the last snapshot that was sent. */
  #lastId: string;
  #gathering: NodeJS.Timeout | undefined;
  #hasChanged = false;
  #stuck: NodeJS.Timeout | undefined;
  #isBehind = false;

  /** `lastId` is that of the client's last snapshot, which is not repeated; `''` for none. */
  constructor(answer: ServerResponse, screen: OpenScreen, lastId: string, times: StreamTimes = STREAM_TIMES) {
    [this.#answer, this.#screen, this.#lastId, this.#times] = [answer, screen, lastId, times];
  }

  /** Starts with these headers added. */
  open(headers: Readonly<Record<string, string>>): void {
    this.#answer.writeHead(200, { ...headers, ...PASSED_ON });
    this.#answer.flushHeaders();
    const heartbeat = setInterval(() => this.#write(':\n\n'), this.#times.heartbeat);
    this.#answer.on('drain', () => this.#drained());
    this.#answer.once('close', () => {
      clearInterval(heartbeat);
      clearTimeout(this.#gathering);
      clearTimeout(this.#stuck);
      this.#screen.close();
    });
    this.#screen.onChange(() => this.#changed());
    this.#send();
  }

  #changed(): void {
    if (this.#answer.destroyed) return;
    this.#hasChanged = true;
    this.#gathering ??= setTimeout(() => this.#flush(), 0); // with those of the same turn of the event loop
  }

  /** Sends what has changed and gathers again; nothing to send ends the gathering. */
  #flush(): void {
    this.#gathering = undefined;
    if (!this.#hasChanged) return;
    this.#hasChanged = false;
    this.#send();
    this.#gathering = setTimeout(() => this.#flush(), this.#times.gather);
  }

  #send(): void {
    if (this.#answer.writableNeedDrain) {
      this.#isBehind = true;
      return;
    }
    const screen = this.#current();
    if (screen === undefined) return;
    const text = JSON.stringify(screen);
    const id = hash('sha256', text, 'base64url').slice(0, 22);
    if (id === this.#lastId) return;
    this.#lastId = id;
    this.#write(`id: ${id}\ndata: ${text}\n\n`);
  }

  /** A screen that cannot be made ends its own stream, never the process: it shows what strangers have written. */
  #current(): object | undefined {
    try {
      return this.#screen.current();
    } catch {
      this.#answer.destroy();
      return undefined;
    }
  }

  #write(text: string): void {
    if (this.#answer.write(text)) return;
    this.#stuck ??= setTimeout(() => this.#answer.destroy(), this.#times.stuck);
  }

  #drained(): void {
    clearTimeout(this.#stuck);
    this.#stuck = undefined;
    if (!this.#isBehind) return;
    this.#isBehind = false;
    this.#send();
  }
}
