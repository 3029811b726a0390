// Which places of a list have changed, in order, for many readers that each look now and then: a reader remembers how far it has read.
// Only the last changes are kept; a reader that comes too late looks at everything.

/** Changes that are kept, a power of 2. */
const KEPT = 4_096;

/** The last changes of a list. */
export class ChangedPlaces {
  readonly #places = new Int32Array(KEPT);
  #noted = 0;

  /** How many changes there have been; to be given to {@link since} later. */
  get mark(): number {
    return this.#noted;
  }

  /** Notes that the element at this place has changed. */
  note(place: number): void {
    this.#places[this.#noted % KEPT] = place;
    this.#noted += 1;
  }

  /** Calls `visit` with each place that was noted after `mark`, once for each note. Gives false, and visits none, when not all of them are kept. */
  since(mark: number, visit: (place: number) => void): boolean {
    if (this.#noted - mark > KEPT) return false;
    for (let at = mark; at < this.#noted; at += 1) visit(this.#places[at % KEPT] ?? 0);
    return true;
  }
}
