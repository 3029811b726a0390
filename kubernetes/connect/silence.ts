// What a call without an answer says of its server. A server that says nothing at all may work on behind a broken
// network. One that refuses or ends connections is known to be gone, and only its nodes may still run: nothing there
// can stop a pod any more (ADR 0048).

/** Nothing came from the server in time. */
export class SilenceError extends Error {
  override readonly name: string = 'SilenceError';
}

/**
 * Codes of Node, libc and undici for calls that got no response from the server's side, not even a refusal.
 */
const SILENT_CODES: ReadonlySet<unknown> = new Set([
  'ETIMEDOUT', 'ENETUNREACH',
  'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT',
]);

/**
 * Whether nothing came from the server's side. False for every other error: it may mean that the server has stopped. If
 * a name has several addresses, all of them must be silent.
 */
export function isSilence(thrown: unknown): boolean {
  if (thrown instanceof AggregateError && thrown.errors.length > 0) return thrown.errors.every(isSilence);
  if (!(thrown instanceof Error)) return false;
  return thrown instanceof SilenceError || ('code' in thrown && SILENT_CODES.has(thrown.code))
    || isSilence(thrown.cause);
}

/**
 * Callers that wait for an answer are notified of none that comes sooner than this, in ms: a server that answers some
 * calls and fails others is not called in a tight loop.
 */
const LEAST_WAIT_MS = 500;

/** When a server last answered, and whether what followed was silence. Times are in ms of a monotonic clock. */
export class ServerActivity {
  /** Called when the server has answered something. */
  onAnswer: () => void = () => undefined;
  #lastAnswerAt = -Infinity;
  #refusedAt = -Infinity;
  /** Callbacks that wait for an answer, and since when; undefined once the answer has come and the wait is ending. */
  readonly #waiting = new Map<() => void, number | undefined>();

  /** When the server last answered anything: a call or an HTTP/2 ping. */
  get lastAnswerAt(): number {
    return this.#lastAnswerAt;
  }

  /** The server has answered. */
  noteAnswer(): void {
    this.#lastAnswerAt = performance.now();
    this.onAnswer();
    if (this.#waiting.size > 0) this.#wakeAll();
  }

  /** Calls `back` once the server has answered any call, but not at once. Returns a function that cancels this. */
  onceReachable(back: () => void): () => void {
    this.#waiting.set(back, performance.now());
    return () => void this.#waiting.delete(back);
  }

  #wakeAll(): void {
    for (const [back, since] of this.#waiting) {
      if (since === undefined) continue;
      this.#waiting.set(back, undefined);
      setTimeout(() => this.#wake(back), Math.max(0, since + LEAST_WAIT_MS - performance.now())).unref();
    }
  }

  #wake(back: () => void): void {
    if (this.#waiting.delete(back)) back();
  }

  /** A call got no answer from the server itself. */
  fail(thrown: unknown): void {
    if (!isSilence(thrown)) this.noteRefused();
  }

  /** The server, or a proxy before it, has refused or closed a connection without an answer of the server. */
  noteRefused(): void {
    this.#refusedAt = performance.now();
  }

  /** Whether the server has refused or closed a connection since it last answered. */
  get isRefusing(): boolean {
    return this.#refusedAt > this.#lastAnswerAt;
  }

  /**
   * For how long nothing at all has come from the server, in ms: it may work on behind a broken network. Undefined when
   * it was seen to be gone since it last answered, or has never answered: then it is unknown whether it works.
   */
  get silentMs(): number | undefined {
    return this.#lastAnswerAt > this.#refusedAt ? performance.now() - this.#lastAnswerAt : undefined;
  }
}
