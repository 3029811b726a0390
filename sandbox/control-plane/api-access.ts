// The API requests needed to start a sandbox: readiness checks and node creation. Everything else uses `kubernetes/`.
import { Agent, request } from 'undici';
import { forwardAbort } from '../../kubernetes/flow/abort.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { KeyPair } from '../../process/crypto/certificate-authority.ts';
import { AppError } from '../../process/errors.ts';

/** An answer: its status code and its body, parsed when it is JSON. */
export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** A connection to one API server as its administrator. */
export interface ApiAccess {
  get(path: string, signal: AbortSignal): Promise<ApiAnswer>;
  post(path: string, body: unknown, signal: AbortSignal): Promise<ApiAnswer>;
  close(): Promise<void>;
}

/** Polling interval of a starting program, in ms. */
const pollMs = 50;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** Opens access to the API server at `server`; `authority` is the PEM that its certificate must chain to. */
export function openApiAccess(server: string, authority: string, client: KeyPair): ApiAccess {
  const dispatcher = new Agent({
    connections: 2,
    connect: { ca: authority, cert: client.certificate, key: client.key, timeout: 5_000 },
    headersTimeout: 10_000,
  });
  const send = async (method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal): Promise<ApiAnswer> => {
    const ending = new AbortController();
    // all clusters wait on one signal, and undici would listen to it once for each
    const forget = forwardAbort([signal], ending);
    try {
      const answer = await request(new URL(path, server), {
        method,
        dispatcher,
        signal: ending.signal,
        headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'isthmus-sandbox' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, body: parsed(await answer.body.text()) };
    } finally {
      forget();
    }
  };
  return {
    get: (path, signal) => send('GET', path, undefined, signal),
    post: (path, body, signal) => send('POST', path, body, signal),
    close: () => dispatcher.destroy(),
  };
}

/**
 * Waits until `look` answers true; what it throws counts as not yet. Throws the signal's reason when aborted and
 * AppError
 * `StartFailed` after `timeoutMs`.
 */
export async function waitUntil(
  what: string, look: () => Promise<boolean>, timeoutMs: number, signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    if (await look().catch(() => false)) return;
    if (performance.now() > deadline) {
      throw new AppError('StartFailed', `${what} is not there after ${timeoutMs / 1_000} s.`);
    }
    await delay(pollMs, signal);
  }
}
