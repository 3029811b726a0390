// Interns values that many objects have in common: resource requests, phases, node names. They are found by their
// bytes, so that neither a string nor an object is created again.

/** Reads the value between two indexes. */
export type ReadValue = (bytes: Buffer, start: number, end: number) => unknown;

interface Known {
  readonly bytes: Uint8Array;
  readonly value: unknown;
}

/** Slots of the cache; on a collision the newer value replaces the older. A power of two. */
const PLACES = 16_384;
/** Longer values are parsed each time: they rarely repeat. */
const LONGEST = 512;
/** About this many bytes of a value are hashed. */
const SAMPLES = 24;

/** A bounded cache of deeply frozen values by the bytes of their JSON. */
export class SharedValues {
  readonly #read: ReadValue;
  readonly #known: (Known | undefined)[] = Array.from({ length: PLACES });

  constructor(read: ReadValue) {
    this.#read = read;
  }

  /**
   * The value between two indexes; the same object for the same bytes while it is cached. Throws what reading it
   * throws.
   */
  get(bytes: Buffer, start: number, end: number): unknown {
    if (end - start > LONGEST) return this.#read(bytes, start, end);
    const place = placeOf(bytes, start, end);
    const known = this.#known[place];
    if (known !== undefined && isSame(known.bytes, bytes, start, end)) return known.value;
    const value = deepFreeze(this.#read(bytes, start, end));
    this.#known[place] = { bytes: Uint8Array.prototype.slice.call(bytes, start, end), value };
    return value;
  }
}

function placeOf(bytes: Uint8Array, start: number, end: number): number {
  const step = 1 + Math.floor((end - start) / SAMPLES);
  let hash = end - start;
  for (let at = start; at < end; at += step) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x0100_0193); // FNV
  return (hash ^ (hash >>> 15)) & (PLACES - 1);
}

function isSame(known: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let i = 0; i < known.length; i += 1) if (known[i] !== bytes[start + i]) return false;
  return true;
}

function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
