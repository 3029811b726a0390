// The round trip to an API server, from the pings of its watch session: no call is made for it.

/** Weight of a new sample (RFC 6298 §2: 1/8). */
const NEW_SAMPLE = 1 / 8;
/** A round trip is news when it has changed by this factor: figures that users see, and decisions, do not flicker. */
const NEWS_FACTOR = 1.5;

/** A smoothed round trip and the figure that others were last told. */
export class RoundTrip {
  #smoothed: number | undefined;
  #told: number | undefined;

  /** The figure in ms, two significant digits; undefined until measured. */
  get ms(): number | undefined {
    return this.#told;
  }

  /** Takes a sample in ms. Gives whether {@link ms} has changed. */
  sample(ms: number): boolean {
    const smoothed = this.#smoothed === undefined ? ms : this.#smoothed + (ms - this.#smoothed) * NEW_SAMPLE;
    this.#smoothed = smoothed;
    const isNews = this.#told === undefined || smoothed > this.#told * NEWS_FACTOR || smoothed < this.#told / NEWS_FACTOR;
    const told = Number(smoothed.toPrecision(2));
    if (!isNews || told === this.#told) return false;
    this.#told = told;
    return true;
  }
}
