// Which of a peer's addresses to try: each gets a while, in turn, until one answers. A cable that carried something stays where it is until it is dead.

/** An attempt at one of the addresses. */
export interface Attempt {
  /** Which address, counted on without end; the remainder by the number of addresses says which. */
  readonly number: number;
  readonly sinceMs: number;
}

/** What has been seen of the peer. */
export interface Signs {
  readonly addresses: number;
  /** Of the last handshake, 0 before the first. */
  readonly lastHandshakeMs: number;
  /** Whether it answers through the tunnel. */
  readonly answers: boolean;
}

/** How long an address may take for a handshake, in ms. */
export const HANDSHAKE_TIMEOUT_MS = 2_000;
/** How long after a handshake the peer may take to answer through the tunnel, in ms: its own gateway may be just starting. */
export const ANSWER_TIMEOUT_MS = 8_000;

/** The attempt to go on with; the same object while nothing changes. */
export function nextAttempt(attempt: Attempt, { addresses, lastHandshakeMs, answers }: Signs, nowMs: number): Attempt {
  if (answers || addresses === 0) return attempt;
  const begun = Math.max(attempt.sinceMs, lastHandshakeMs);
  const patience = lastHandshakeMs > attempt.sinceMs ? ANSWER_TIMEOUT_MS : HANDSHAKE_TIMEOUT_MS;
  return nowMs - begun < patience ? attempt : { number: attempt.number + 1, sinceMs: nowMs };
}
