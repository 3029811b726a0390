// The round-trip time to an API server, measured by the pings of its watch session at no extra cost.

/** Weight of a longer sample (RFC 6298 §2: 1/8). */
const LONGER_SAMPLE = 1 / 8;
/**
 * A change by this factor, and by so many ms, is reported: figures that users see, and decisions, must not flicker, and
 * each report costs a write.
 */
const NEWS = { factor: 1.5, ms: 5 };

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
    // A busy process or server lengthens a sample, nothing shortens one: a shorter sample is the better one.
    const before = this.#smoothed ?? ms;
    const smoothed = ms < before ? ms : before + (ms - before) * LONGER_SAMPLE;
    this.#smoothed = smoothed;
    const isNews = this.#reported === undefined || isFar(smoothed, this.#reported);
    const rounded = Number(smoothed.toPrecision(2));
    if (!isNews || rounded === this.#reported) return false;
    this.#reported = rounded;
    return true;
  }
}

function isFar(ms: number, from: number): boolean {
  return Math.abs(ms - from) >= NEWS.ms && (ms > from * NEWS.factor || ms < from / NEWS.factor);
}
