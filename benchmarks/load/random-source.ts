// Seeded random numbers (xorshift32), so that a simulation can be repeated.

/** A source of random numbers. */
export class RandomSource {
  #state: number;

  /** `seed` is any integer. */
  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) | 1;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return Math.floor(((x >>> 0) / 2 ** 32) * end);
  }

  /** One of several values. Throws RangeError when there is none. */
  oneOf<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('no values to choose from');
    return value;
  }

  /** True this often, from 0 to 1. */
  chance(fraction: number): boolean {
    return this.below(1_000_000) < fraction * 1_000_000;
  }
}
