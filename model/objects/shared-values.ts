// Keeps one of equal values that many cached records have in common, such as the names of nodes and the labels of
// replicas: a hundred thousand records would hold a hundred thousand copies.

/** After this many different values the cache is cleared: unique values gain nothing, and must not accumulate. */
const MOST_VALUES = 256;
/** Longer values, in characters of JSON, are unlikely to be shared. */
const LONGEST = 256;
/** No status has texts deeper than this. */
const DEEPEST = 12;
/** Fields of a status that no two pods have in common: they would only stay after their pods. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['podIP', 'ip', 'containerID']);

/** Values in common. A shared value is frozen, since other records have it, too. */
export class SharedValues {
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, object>();
  #lastTime = '';

  /** The one text that equals this one. */
  text(text: string): string {
    if (text.length > LONGEST) return text;
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= MOST_VALUES) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }

  /**
   * A copy of a status whose texts are those in common: images, types and reasons. What is a pod's own is left alone;
   * of times, which are its own as well, the last one is kept, since much happens in the same second.
   */
  texts<T>(value: T, depth = DEEPEST): T {
    if (typeof value === 'string') return this.text(value) as T & string;
    if (typeof value !== 'object' || value === null || depth === 0) return value;
    if (Array.isArray(value)) return value.map((part: unknown) => this.texts(part, depth - 1)) as T & unknown[];
    const copy = { ...(value as Record<string, unknown>) }; // has the hidden class of the original
    for (const name of Object.keys(copy)) {
      if (name.endsWith('Time') || name.endsWith('At')) copy[name] = this.#time(copy[name]);
      else if (!OWN_FIELDS.has(name)) copy[name] = this.texts(copy[name], depth - 1);
    }
    return copy as T;
  }

  #time(time: unknown): unknown {
    if (typeof time !== 'string') return time;
    if (time !== this.#lastTime) this.#lastTime = time;
    return this.#lastTime;
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
