// How much a server does for one remote address before it knows who that is: a bucket of connections that it may begin, and how many of them are open.
// Pure but for its own counts; times are given.

/** What one address, or all strangers together, may begin. */
export interface PeerLimits {
  /** Connections that may begin at once after a pause. */
  readonly burst: number;
  /** Connections that may begin each second from then on. */
  readonly perSecond: number;
  /** Connections that are open at a time and have not shown yet that they are known. */
  readonly open: number;
}

/** A bucket that fills with time. `now` is a monotonic clock, in ms. */
export class TokenBucket {
  #tokens: number | undefined;
  #filledAt = 0;

  /** Whether there is one to take out. */
  has(limits: PeerLimits, now: number): boolean {
    return this.#level(limits, now) >= 1;
  }

  /** Takes one out, if there is one. */
  take(limits: PeerLimits, now: number): boolean {
    const tokens = this.#level(limits, now);
    this.#tokens = tokens < 1 ? tokens : tokens - 1;
    this.#filledAt = now;
    return tokens >= 1;
  }

  /** Whether nothing was taken out that has not been filled up again. */
  isFull(limits: PeerLimits, now: number): boolean {
    return this.#level(limits, now) >= limits.burst;
  }

  #level({ burst, perSecond }: PeerLimits, now: number): number {
    if (this.#tokens === undefined) return burst;
    return Math.min(burst, this.#tokens + (Math.max(0, now - this.#filledAt) * perSecond) / 1_000);
  }
}

/**
 * Whose connection it is: an IPv4 address, or the /64 of an IPv6 address, which is what one machine has to itself. An IPv4 address in IPv6 form is
 * the same as without.
 */
export function peerOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = tail === undefined ? first : [...first, ...Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0'), ...last];
  return `${groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
