// A tournament tree: the maximum of many ranks while single ranks change. The higher rank wins each match; on a tie the
// lower index wins, as in a scan from the front. A change replays the matches of one index, about ten for a thousand.

/** A tournament over a fixed number of entries. */
export class RankTree {
  /** By index. */
  readonly #ranks: Float64Array;
  /** Index of the winner by match. Match 1 is the final; match n is between the winners of 2n and 2n + 1. */
  readonly #winners: Int32Array;
  readonly #leaves: number;

  /** All ranks start as -Infinity. */
  constructor(count: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(2, count)));
    this.#ranks = new Float64Array(this.#leaves).fill(-Infinity);
    this.#winners = new Int32Array(this.#leaves * 2);
    for (let leaf = 0; leaf < this.#leaves; leaf += 1) this.#winners[this.#leaves + leaf] = leaf;
    for (let match = this.#leaves - 1; match >= 1; match -= 1) this.#winners[match] =
      this.#winners[2 * match] as number;
  }

  /** The rank at an index. */
  at(index: number): number {
    return this.#ranks[index] ?? -Infinity;
  }

  /** Changes the rank at an index. */
  set(index: number, rank: number): void {
    if (this.#ranks[index] === rank) return;
    this.#ranks[index] = rank;
    for (let match = (this.#leaves + index) >> 1; match >= 1; match >>= 1) {
      const one = this.#winners[2 * match] as number;
      const other = this.#winners[2 * match + 1] as number;
      this.#winners[match] = (this.#ranks[other] as number) > (this.#ranks[one] as number) ? other : one;
    }
  }

  /** Lowest index with the highest rank; 0 when all are -Infinity. */
  get best(): number {
    return this.#winners[1] as number;
  }

  /** Lowest index with the highest rank above `floor` for which `mayCount` holds, or -1. */
  bestOf(count: number, floor: number, mayCount: (index: number) => boolean): number {
    let [best, highest] = [-1, floor];
    for (let index = 0; index < count; index += 1) {
      const rank = this.#ranks[index] as number;
      if (rank > highest && mayCount(index)) [best, highest] = [index, rank];
    }
    return best;
  }
}
