// Which Targets of a namespace are used when their number is limited: the oldest. Sorted, so that a namespace with
// thousands of them costs little.
import type { TargetObject } from './target-object.ts';

/** The sort order of a Target: its age and key. */
export type RankedTarget = Pick<TargetObject, 'createdAt'> & { readonly key: string };

/** The Targets of one namespace. */
export class TargetsOfTenant {
  readonly #most: number;
  readonly #ranked: RankedTarget[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether none is left. */
  get isEmpty(): boolean {
    return this.#ranked.length === 0;
  }

  /** Whether a Target is among those used. */
  isUsed(target: RankedTarget): boolean {
    const index = this.#indexOf(target);
    return this.#isAt(index, target) && index < this.#most;
  }

  /** Adds a Target. Returns the key of the one that is displaced, if any. */
  add(target: RankedTarget): string | undefined {
    const index = this.#indexOf(target);
    if (this.#isAt(index, target)) return undefined;
    this.#ranked.splice(index, 0, target);
    return index < this.#most ? this.#ranked[this.#most]?.key : undefined;
  }

  /** Removes a Target. Returns the key of the one that is used in its place, if any. */
  remove(target: RankedTarget): string | undefined {
    const index = this.#indexOf(target);
    if (!this.#isAt(index, target)) return undefined;
    this.#ranked.splice(index, 1);
    return index < this.#most ? this.#ranked[this.#most - 1]?.key : undefined;
  }

  #isAt(index: number, { key }: RankedTarget): boolean {
    return this.#ranked[index]?.key === key;
  }

  /** Its index, or its insertion point. */
  #indexOf(target: RankedTarget): number {
    let [from, to] = [0, this.#ranked.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const at = this.#ranked[middle];
      if (at !== undefined && isBefore(at, target)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function isBefore(one: RankedTarget, other: RankedTarget): boolean {
  return one.createdAt === other.createdAt ? one.key < other.key : one.createdAt < other.createdAt;
}
