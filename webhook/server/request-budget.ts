// Limits the webhook's concurrent work. Requests beyond the limit are rejected at once (503), so that accepted ones are
// answered in time: the API server waits five seconds at most, and retries or fails according to its configuration.

/** Limits for concurrent requests and the bytes of their bodies. */
export interface RequestLimits {
  readonly requests: number;
  readonly bytes: number;
}

/** Counts work in flight. */
export class RequestBudget {
  readonly #limits: RequestLimits;
  #requests = 0;
  #bytes = 0;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  /** Requests in flight. */
  get requests(): number {
    return this.#requests;
  }

  /**
   * Admits a request with a body of this many bytes and returns the function that releases it; undefined when the
   * budget is exhausted.
   */
  take(bytes: number): (() => void) | undefined {
    if (this.#requests >= this.#limits.requests || (this.#requests > 0 && this.#bytes + bytes > this.#limits.bytes)) {
      return undefined;
    }
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
