// Deletions that a controller has observed itself. Before a finalizer is removed, an uncached read guards against a
// stale cache. Where the watch has delivered the object and its deletion, and nothing could be created afterwards, that
// read is not needed.

/** Deleted objects by the UID of the object that waits for the deletion. */
export class ObservedDeletions<Thing extends string> {
  readonly #seen = new Map<string, ReadonlySet<Thing>>();

  /** The watch delivered the deletion of an object that `uid` waits for. */
  note(uid: string, thing: Thing): void {
    this.#seen.set(uid, new Set([...(this.#seen.get(uid) ?? []), thing]));
  }

  /** Whether the deletions of all these objects were observed. */
  has(uid: string, things: readonly Thing[]): boolean {
    const seen = this.#seen.get(uid);
    return seen !== undefined && things.every((thing) => seen.has(thing));
  }

  /** Removes the entry. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }
}
