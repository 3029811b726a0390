// What a call without an answer says of its server. A server that says nothing at all may work on behind a broken
// network. One that refuses or ends connections was seen to be gone, and only its nodes may run on: nobody there can
// stop a pod any more (ADR 0048).

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

/** When a server was heard last, and whether what came since was silence. Times are in ms of a monotonic clock. */
export class ServerSigns {
  /** Hears that the server has answered something. */
  onHeard: () => void = () => undefined;
  #heardAt = -Infinity;
  #turnedAwayAt = -Infinity;

  /** When the server last answered anything, a ping included. */
  get heardAt(): number {
    return this.#heardAt;
  }

  /** The server has answered. */
  hear(): void {
    this.#heardAt = performance.now();
    this.onHeard();
  }

  /** A call got no answer of the server's own. */
  fail(thrown: unknown): void {
    if (!isSilence(thrown)) this.turnAway();
  }

  /** The server, or what stands before it, has refused or ended something without an answer of the server's own. */
  turnAway(): void {
    this.#turnedAwayAt = performance.now();
  }

  /**
   * For how long nothing at all has come from the server, in ms: it may work on behind a broken network. Undefined when
   * it was seen to be gone since it last answered, or has never answered: then nobody can know whether it works.
   */
  get silentMs(): number | undefined {
    return this.#heardAt > this.#turnedAwayAt ? performance.now() - this.#heardAt : undefined;
  }
}
