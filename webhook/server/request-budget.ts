// How much work the webhook takes on at once. What is beyond that is turned away at once (503), so that what was taken on is answered
// in time: the API server waits five seconds at most, and retries or fails as its configuration says.

/** Most requests, and most bytes of their bodies, that are being received or answered at one time. */
export interface RequestLimits {
  readonly requests: number;
  readonly bytes: number;
}

/** Counts what is under way. */
export class RequestBudget {
  readonly #limits: RequestLimits;
  #requests = 0;
  #bytes = 0;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  /** Requests under way. */
  get requests(): number {
    return this.#requests;
  }

  /** Takes a request with a body of so many bytes on, and gives what ends it; undefined when there is no room. */
  take(bytes: number): (() => void) | undefined {
    if (this.#requests >= this.#limits.requests || (this.#requests > 0 && this.#bytes + bytes > this.#limits.bytes)) return undefined;
    this.#requests += 1;
    this.#bytes += bytes;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#requests -= 1;
      this.#bytes -= bytes;
    };
  }
}
