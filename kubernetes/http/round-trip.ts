// The round-trip time to an API server, measured by the pings of its watch session at no extra cost.

/** Weight of a new sample (RFC 6298 §2: 1/8). */
const NEW_SAMPLE = 1 / 8;
/** A change by this factor is reported: figures that users see, and decisions, must not flicker. */
const NEWS_FACTOR = 1.5;

/** A smoothed round-trip time and the last reported figure. */
export class RoundTrip {
  #smoothed: number | undefined;
  #reported: number | undefined;

  /** The figure in ms, two significant digits; undefined until measured. */
  get ms(): number | undefined {
    return this.#reported;
  }

  /** Adds a sample in ms. Returns whether {@link ms} has changed. */
  sample(ms: number): boolean {
    const smoothed = this.#smoothed === undefined ? ms : this.#smoothed + (ms - this.#smoothed) * NEW_SAMPLE;
    this.#smoothed = smoothed;
    const isNews = this.#reported === undefined || smoothed > this.#reported * NEWS_FACTOR
      || smoothed < this.#reported / NEWS_FACTOR;
    const rounded = Number(smoothed.toPrecision(2));
    if (!isNews || rounded === this.#reported) return false;
    this.#reported = rounded;
    return true;
  }
}
