// Keeps one of equal values that many cached records have in common, such as the names of nodes and the labels of
// replicas: a hundred thousand records would hold a hundred thousand copies.

/** After so many different values it begins anew: what is unique to each record gains nothing, and must not stay. */
const MOST_VALUES = 256;
/** Longer values, as JSON, are hardly those of others, in characters. */
const LONGEST = 256;

/** Values in common. A shared value is frozen, since other records have it, too. */
export class SharedValues {
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, object>();

  /** The one text that equals this one. */
  text(text: string): string {
    if (text.length > LONGEST) return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= MOST_VALUES) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  /** The one JSON value that is written as this one is. */
  value<T extends object>(value: T): T {
    const written = JSON.stringify(value);
    if (written.length > LONGEST) return value;
    const known = this.#values.get(written) as T | undefined;
    if (known !== undefined) return known;
    if (this.#values.size >= MOST_VALUES) this.#values.clear();
    this.#values.set(written, deeplyFrozen(value));
    return value;
  }
}

function deeplyFrozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deeplyFrozen(part as object);
  return Object.freeze(value);
}
