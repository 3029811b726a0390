// The response of a watch request: an open stream or an error.
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { forwardAbort, onAbort } from '../flow/abort.ts';
import { DeadlineError } from '../flow/api-error.ts';
import { toStreamHeaders } from './call-request.ts';
import type { ClusterAccess, TransportTimings } from './cluster-access.ts';
import type { CallRequest } from './pending-call.ts';
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

/** A watch to be opened. */
export interface StreamOpening {
  readonly access: ClusterAccess;
  readonly request: CallRequest;
  readonly timings: TransportTimings;
}

/**
 * Opens a stream that lasts until `signal` is aborted, the server ends it or the access is retired. Throws what ended
 * it before.
 */
export async function openStream(
  { access, request, timings }: StreamOpening, signal: AbortSignal,
): Promise<OpenStream> {
  const { callTimeoutMs } = timings;
  const opening = new AbortController();
  const timer = setTimeout(() => opening.abort(new DeadlineError(callTimeoutMs)), callTimeoutMs);
  const forget = forwardAbort([signal, access.retired.signal], opening);
  try {
    const session = await access.session();
    if (session.kind === 'h2' && opening.signal.aborted) session.session.release();
    opening.signal.throwIfAborted();
    const opened = session.kind === 'h2'
      ? await openGuarded(session.session.request(toStreamHeaders(request)), opening, timings.watchSilenceMs)
      : await openPlain(access.watches, request, opening.signal, timings);
    // From here on the same signals end the body, until it ends by itself.
    opened.body.once('close', forget);
    opened.body.on('error', () => undefined); // its reader gets the error; it may break before, or never be read
    return opened;
  } catch (error) {
    forget();
    if (opening.signal.aborted) throw opening.signal.reason;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for the response of an HTTP/2 stream, whose session is pinged. Throws what ended it before. */
async function openGuarded(
  stream: Parameters<typeof responseOf>[0], opening: AbortController, silenceMs: number,
): Promise<OpenStream> {
  onAbort(opening.signal, () => stream.destroy(opening.signal.reason as Error));
  const headers = await responseOf(stream);
  const retryAfter = headers['retry-after'];
  return { status: headers[':status'] ?? 0, retryAfter, body: stream, silenceMs };
}

/** The same over HTTP/1.1, which has no pings: there a silence of the stream counts. */
async function openPlain(
  pool: Dispatcher, request: Dispatcher.DispatchOptions, signal: AbortSignal,
  { callTimeoutMs, silenceMs }: Pick<TransportTimings, 'callTimeoutMs' | 'silenceMs'>,
): Promise<OpenStream> {
  const { statusCode, headers, body } =
    await pool.request({ ...request, signal, headersTimeout: callTimeoutMs, bodyTimeout: 0 });
  const retryAfter = headers['retry-after'];
  return { status: statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined, body, silenceMs };
}
