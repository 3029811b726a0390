// A stream that is open: a watch, or the error that there is instead of one.
import type { Readable } from 'node:stream';
import { onAbort } from '../flow/abort.ts';
import { responseOf } from './watch-session.ts';

/** The open stream of a watch. */
export interface WatchStream {
  readonly body: Readable;
  /** After this many ms of silence it must be taken for dead; a stream that pings guard may be silent for longer. */
  readonly silenceMs: number;
}

/** A stream whose answer has begun. */
export interface OpenStream extends WatchStream {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Waits for the answer of a stream of HTTP/2, whose session is pinged. Throws what ended it before. */
export async function openGuarded(stream: Parameters<typeof responseOf>[0], opening: AbortController, silenceMs: number): Promise<OpenStream> {
  onAbort(opening.signal, () => stream.destroy(opening.signal.reason as Error));
  const headers = await responseOf(stream);
  const retryAfter = headers['retry-after'];
  return { status: headers[':status'] ?? 0, retryAfter, body: stream, silenceMs };
}
