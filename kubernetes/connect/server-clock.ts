// Estimates a server's clock from the Date headers of its responses: a lower and an upper bound that hold under any
// clock skew. A Date has whole seconds, and was set between the request and the response. Only the last response
// counts, because clocks can be set.

/** The clock of one server. Local times are in ms of a monotonic clock, server times in ms since the epoch. */
export class ServerClock {
  #earliest: number | undefined;
  #latest: number | undefined;

  /** Records the Date header of a response; an invalid date is ignored. */
  observe(date: string | undefined, sentAt: number, answeredAt: number): void {
    const time = Date.parse(date ?? '');
    if (Number.isNaN(time)) return;
    this.#earliest = time - answeredAt;
    this.#latest = time + 1_000 - sentAt;
  }

  /** Lower bound of the server's time; undefined before the first response. */
  earliest(now: number): number | undefined {
    return this.#earliest === undefined ? undefined : this.#earliest + now;
  }

  /** The server's time, at most a second too early; that of this machine before the first response. */
  now(): number {
    return this.earliest(performance.now()) ?? Date.now();
  }

  /** Upper bound of the server's time; undefined before the first response. */
  latest(now: number): number | undefined {
    return this.#latest === undefined ? undefined : this.#latest + now;
  }
}
