// What a call without an answer says of its server. A server that says nothing at all may work on behind a broken
// network. One that refuses or ends connections is known to be gone, and only its nodes may still run: nothing there
// can stop a pod any more (ADR 0048).

/** Nothing came from the server in time. */
export class SilenceError extends Error {
  override readonly name: string = 'SilenceError';
}

/**
 * Codes of Node, libc and undici for calls that nobody on the server's side has answered, not even by refusing them.
 */
const SILENT_CODES: ReadonlySet<unknown> = new Set([
  'ETIMEDOUT', 'ENETUNREACH',
  'ENETDOWN', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT',
]);

/**
 * Whether nothing came from the server's side. False for whatever else there is: what is not known to be silence may be
 * the end of the server. Of a name with several addresses all must be silent.
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
  /** Who waits for an answer, and since when; undefined once the answer has come and the wait is ending. */
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

  /** Calls `back` once when the server answers anybody, but not at once. Returns what forgets it. */
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

  /** A call got no answer of the server's own. */
  fail(thrown: unknown): void {
    if (!isSilence(thrown)) this.noteRefused();
  }

  /** The server, or what stands before it, has refused or ended something without an answer of the server's own. */
  noteRefused(): void {
    this.#refusedAt = performance.now();
  }

  /** Whether the server has refused or ended something since it last answered. */
  get isRefusing(): boolean {
    return this.#refusedAt > this.#lastAnswerAt;
  }

  /**
   * For how long nothing at all has come from the server, in ms: it may work on behind a broken network. Undefined when
   * it was seen to be gone since it last answered, or has never answered: then nobody can know whether it works.
   */
  get silentMs(): number | undefined {
    return this.#lastAnswerAt > this.#refusedAt ? performance.now() - this.#lastAnswerAt : undefined;
  }
}
