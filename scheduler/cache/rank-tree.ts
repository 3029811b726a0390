// The highest of many ranks, kept while single ones change: a tournament. Each match is won by the higher rank, among equals by the
// lower place, so that ties fall as in a scan from the front. A change plays the matches of one place anew, about ten for a thousand.

/** A tournament over a fixed number of places. */
export class RankTree {
  /** By place. */
  readonly #ranks: Float64Array;
  /** Winner's place by match; match 1 is the final, match n is decided between the winners of 2n and 2n + 1. */
  readonly #winners: Int32Array;
  readonly #leaves: number;

  /** All ranks begin as -Infinity. */
  constructor(places: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(2, places)));
    this.#ranks = new Float64Array(this.#leaves).fill(-Infinity);
    this.#winners = new Int32Array(this.#leaves * 2);
    for (let leaf = 0; leaf < this.#leaves; leaf += 1) this.#winners[this.#leaves + leaf] = leaf;
    for (let match = this.#leaves - 1; match >= 1; match -= 1) this.#winners[match] = this.#winners[2 * match] as number;
  }

  /** The rank at a place. */
  at(place: number): number {
    return this.#ranks[place] ?? -Infinity;
  }

  /** Gives a place another rank. */
  set(place: number, rank: number): void {
    if (this.#ranks[place] === rank) return;
    this.#ranks[place] = rank;
    for (let match = (this.#leaves + place) >> 1; match >= 1; match >>= 1) {
      const one = this.#winners[2 * match] as number;
      const other = this.#winners[2 * match + 1] as number;
      this.#winners[match] = (this.#ranks[other] as number) > (this.#ranks[one] as number) ? other : one;
    }
  }

  /** The first of the places with the highest rank; place 0 when all are -Infinity. */
  get best(): number {
    return this.#winners[1] as number;
  }

  /** The first of the places with the highest rank above `floor` that `mayCount`, or -1. */
  bestOf(places: number, floor: number, mayCount: (place: number) => boolean): number {
    let [best, highest] = [-1, floor];
    for (let place = 0; place < places; place += 1) {
      const rank = this.#ranks[place] as number;
      if (rank > highest && mayCount(place)) [best, highest] = [place, rank];
    }
    return best;
  }
}
