// A change log of list positions. Many readers each remember how far they have read. Only the last changes are stored;
// a reader that is too far behind scans the whole list.

/** Number of changes that are stored, a power of 2. */
const KEPT = 4_096;

/** The last changes of a list. */
export class ChangeLog {
  readonly #indexes = new Int32Array(KEPT);
  #noted = 0;

  /** Number of changes so far; pass it to {@link since} later. */
  get revision(): number {
    return this.#noted;
  }

  /** Records that the element at this index has changed. */
  note(index: number): void {
    this.#indexes[this.#noted % KEPT] = index;
    this.#noted += 1;
  }

  /**
   * Calls `visit` with each index recorded after `revision`, once per record. Returns false, without any call, when
   * some are no longer stored.
   */
  since(revision: number, visit: (index: number) => void): boolean {
    if (this.#noted - revision > KEPT) return false;
    for (let at = revision; at < this.#noted; at += 1) visit(this.#indexes[at % KEPT] ?? 0);
    return true;
  }
}
