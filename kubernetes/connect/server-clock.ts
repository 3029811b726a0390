// What time it is at a server, by the Date headers of its answers: between two bounds that hold however its clock and ours differ. A Date is of
// whole seconds, and was made between the sending of the request and the arrival of the answer. The last answer counts: clocks are set.

/** The clock of one server. Our own times are in ms of a monotonic clock, its times in ms since the epoch. */
export class ServerClock {
  #earliest: number | undefined;
  #latest: number | undefined;

  /** Takes over the Date header of an answer; one that is no date is left out. */
  hear(date: string | undefined, sentAt: number, heardAt: number): void {
    const time = Date.parse(date ?? '');
    if (Number.isNaN(time)) return;
    this.#earliest = time - heardAt;
    this.#latest = time + 1_000 - sentAt;
  }

  /** It is at least so late there; undefined before anything was heard. */
  earliest(now: number): number | undefined {
    return this.#earliest === undefined ? undefined : this.#earliest + now;
  }

  /** It is at most so late there; undefined before anything was heard. */
  latest(now: number): number | undefined {
    return this.#latest === undefined ? undefined : this.#latest + now;
  }
}
