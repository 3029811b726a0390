// The response of a watch request: an open stream or an error.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { onAbort } from '../flow/abort.ts';
import type { TransportTimings } from './cluster-access.ts';
import { responseOf } from './watch-session.ts';

/** The open stream of a watch. */
export interface WatchStream {
  readonly body: Readable;
  /** A silence of this many ms means that it is dead; longer for a stream on a session that is pinged. */
  readonly silenceMs: number;
}

/** A stream whose response has begun. */
export interface OpenStream extends WatchStream {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** Waits for the response of an HTTP/2 stream, whose session is pinged. Throws what ended it before. */
export async function openGuarded(
  stream: Parameters<typeof responseOf>[0], opening: AbortController, silenceMs: number,
): Promise<OpenStream> {
  onAbort(opening.signal, () => stream.destroy(opening.signal.reason as Error));
  const headers = await responseOf(stream);
  const retryAfter = headers['retry-after'];
  return { status: headers[':status'] ?? 0, retryAfter, body: stream, silenceMs };
}

/** The same over HTTP/1.1, which has no pings: there a silence of the stream counts. */
export async function openPlain(
  pool: Dispatcher, request: Dispatcher.DispatchOptions, signal: AbortSignal,
  { callTimeoutMs, silenceMs }: Pick<TransportTimings, 'callTimeoutMs' | 'silenceMs'>,
): Promise<OpenStream> {
  const { statusCode, headers, body } =
    await pool.request({ ...request, signal, headersTimeout: callTimeoutMs, bodyTimeout: 0 });
  const retryAfter = headers['retry-after'];
  return { status: statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined, body, silenceMs };
}
