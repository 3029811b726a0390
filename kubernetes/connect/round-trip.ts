// The round-trip time to an API server, measured by the pings of its watch session at no extra cost.

/**
 * Number of recent samples whose minimum is the round trip. A busy process or server lengthens a sample, nothing
 * shortens one (as BBR filters its min_rtt). Pings come every 10 s.
 */
const SAMPLES = 6;
/**
 * A change by this factor, and by so many ms, is reported: values that users see, and decisions, must not flicker, and
 * each report costs a write.
 */
const NEWS = { factor: 1.5, ms: 5 };

/** The round-trip time of the last samples and the last reported value. */
export class RoundTrip {
  readonly #samples: number[] = [];
  #reported: number | undefined;

  /** The reported value in ms, two significant digits; undefined until measured. */
  get ms(): number | undefined {
    return this.#reported;
  }

  /** Adds a sample in ms. Returns whether {@link ms} has changed. */
  sample(ms: number): boolean {
    this.#samples.push(ms);
    if (this.#samples.length > SAMPLES) this.#samples.shift();
    const least = Math.min(...this.#samples);
    const isNews = this.#reported === undefined || isFar(least, this.#reported);
    const rounded = Number(least.toPrecision(2));
    if (!isNews || rounded === this.#reported) return false;
    this.#reported = rounded;
    return true;
  }
}

function isFar(ms: number, from: number): boolean {
  return Math.abs(ms - from) >= NEWS.ms && (ms > from * NEWS.factor || ms < from / NEWS.factor);
}
