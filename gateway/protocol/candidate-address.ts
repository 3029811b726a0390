// Which of a peer's addresses to try: each in turn, for a while, until one answers. A working connection stays on its
// address until it is dead.

/** An attempt at one of the addresses. */
export interface Attempt {
  /** Counter of attempts; modulo the number of addresses. */
  readonly number: number;
  readonly sinceMs: number;
}

/** Observed state of the peer. */
export interface Signs {
  readonly addresses: number;
  /** Time of the last handshake, 0 before the first. */
  readonly lastHandshakeMs: number;
  /** Whether it answers through the tunnel. */
  readonly answers: boolean;
}

/** Handshake timeout of an address in ms. */
const HANDSHAKE_TIMEOUT_MS = 2_000;
/** How long after a handshake the peer may take to answer through the tunnel, in ms: its gateway may be starting. */
const ANSWER_TIMEOUT_MS = 8_000;

/** The next attempt; the same object while nothing changes. */
export function nextAttempt(attempt: Attempt, { addresses, lastHandshakeMs, answers }: Signs, nowMs: number): Attempt {
  if (answers || addresses === 0) return attempt;
  const begun = Math.max(attempt.sinceMs, lastHandshakeMs);
  const patience = lastHandshakeMs > attempt.sinceMs ? ANSWER_TIMEOUT_MS : HANDSHAKE_TIMEOUT_MS;
  return nowMs - begun < patience ? attempt : { number: attempt.number + 1, sinceMs: nowMs };
}
