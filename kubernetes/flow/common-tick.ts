// Periodic work of many targets, done at common times. A process that wakes up for each Lease and each ping finds
// nothing in the processor's caches, and reads and writes one socket at a time: the same work costs three times as
// much.

/** Ticks in one interval. */
const TICKS = 10;
/** Part of a tick by which a timer may have fired too early. */
const EARLY = 0.1;

/**
 * How long to wait, in ms, until the last common tick within an interval: at most `intervalMs` (a timer that has fired
 * somewhat early waits longer by as much), and at least nine tenths of it. `now` is in ms of the process's monotonic
 * clock. `before` is the part of a tick, of 0 to 1, by which to come before it and so apart from the others.
 */
export function untilCommonTick(intervalMs: number, now: number, before = 0): number {
  const tickMs = intervalMs / TICKS;
  return (Math.floor((now + intervalMs) / tickMs + EARLY) - before) * tickMs - now;
}
