// An index from a value to the keys of its records. A value with only one record costs one entry and no Set.

/** One index of an informer. */
export class RecordIndex<R> {
  readonly #valueOf: (record: R) => string | undefined;
  readonly #keys = new Map<string, string | Set<string>>();

  constructor(valueOf: (record: R) => string | undefined) {
    this.#valueOf = valueOf;
  }

  /** The keys of the records with this value. */
  keys(value: string): Iterable<string> {
    const found = this.#keys.get(value);
    if (found === undefined) return [];
    return typeof found === 'string' ? [found] : found;
  }

  /** Updates the index after a record was added, changed or deleted. */
  update(key: string, before: R | undefined, after: R | undefined): void {
    const old = before === undefined ? undefined : this.#valueOf(before);
    const now = after === undefined ? undefined : this.#valueOf(after);
    if (old === now) return;
    if (old !== undefined) this.#remove(old, key);
    if (now !== undefined) this.#add(now, key);
  }

  #add(value: string, key: string): void {
    const found = this.#keys.get(value);
    if (found === undefined) this.#keys.set(value, key);
    else if (typeof found === 'string') this.#keys.set(value, new Set([found, key]));
    else found.add(key);
  }

  #remove(value: string, key: string): void {
    const found = this.#keys.get(value);
    if (found === key) this.#keys.delete(value);
    if (typeof found !== 'object') return;
    found.delete(key);
    if (found.size === 0) this.#keys.delete(value);
  }
}
