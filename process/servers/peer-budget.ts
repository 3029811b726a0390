// Per-address budget of a server for unauthenticated clients: a token bucket of new connections, and a limit of open
// ones. Pure except for its own counters; times are arguments.
import { unmapped } from '../../model/network/socket-address.ts';

/** Limits of one address, or of all unknown addresses together. */
export interface PeerLimits {
  /** Burst of new connections. */
  readonly burst: number;
  /** New connections per second. */
  readonly perSecond: number;
  /** Open connections that have not authenticated yet. */
  readonly open: number;
}

/** A token bucket. `now` is a monotonic clock, in ms. */
export class TokenBucket {
  #tokens: number | undefined;
  #filledAt = 0;

  /** Whether a token is available. */
  has(limits: PeerLimits, now: number): boolean {
    return this.#level(limits, now) >= 1;
  }

  /** Takes a token, if one is available. */
  take(limits: PeerLimits, now: number): boolean {
    const tokens = this.#level(limits, now);
    this.#tokens = tokens < 1 ? tokens : tokens - 1;
    this.#filledAt = now;
    return tokens >= 1;
  }

  /** Whether the bucket is full again. */
  isFull(limits: PeerLimits, now: number): boolean {
    return this.#level(limits, now) >= limits.burst;
  }

  #level({ burst, perSecond }: PeerLimits, now: number): number {
    if (this.#tokens === undefined) return burst;
    return Math.min(burst, this.#tokens + (Math.max(0, now - this.#filledAt) * perSecond) / 1_000);
  }
}

/**
 * The address that a connection counts for: an IPv4 address, or the /64 of an IPv6 address, which one machine has to
 * itself. An IPv4-mapped IPv6 address counts as IPv4.
 */
export function peerOf(address: string): string {
  const own = unmapped(address);
  if (!own.includes(':')) return own;
  const [head = '', tail] = own.replace(/%.*$/, '').split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = tail === undefined
    ? first
    : [...first, ...Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0'), ...last];
  return `${groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
