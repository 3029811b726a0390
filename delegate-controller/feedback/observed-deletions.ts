// What a controller has itself seen to go. A live read before a finalizer is taken away protects from a cache that has not heard yet of what
// was made; where the watch has shown that very thing, and its end after nothing could be made any more, there is nothing to ask.

/** Things that have gone, by the UID of what waits for that. */
export class ObservedDeletions<Thing extends string> {
  readonly #seen = new Map<string, ReadonlySet<Thing>>();

  /** The watch has shown the end of a thing that `uid` waits for. */
  note(uid: string, thing: Thing): void {
    this.#seen.set(uid, new Set([...(this.#seen.get(uid) ?? []), thing]));
  }

  /** Whether the ends of all these things were seen. */
  has(uid: string, things: readonly Thing[]): boolean {
    const seen = this.#seen.get(uid);
    return seen !== undefined && things.every((thing) => seen.has(thing));
  }

  /** Nobody waits any more. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}
