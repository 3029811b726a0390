// Values that many objects have in common, kept once: the requests of a workload's pods, phases, names of nodes. Found by their bytes,
// so that neither a text nor an object is made for them again.

/** Reads the value that lies between two indexes. */
export type ReadValue = (bytes: Buffer, start: number, end: number) => unknown;

interface Known {
  readonly bytes: Uint8Array;
  readonly value: unknown;
}

/** Places for values; one that finds its place taken by another takes it over. A power of two. */
const PLACES = 16_384;
/** Longer values are read each time: they are not the ones that repeat. */
const LONGEST = 512;
/** About so many bytes of a value are looked at to find its place. */
const SAMPLES = 24;

/** Remembers a bounded number of values, deeply frozen, by the bytes of their JSON. */
export class SharedValues {
  readonly #read: ReadValue;
  readonly #known: (Known | undefined)[] = Array.from({ length: PLACES });

  constructor(read: ReadValue) {
    this.#read = read;
  }

  /** The value between two indexes; the same one for the same bytes, as long as it is remembered. Throws what reading it throws. */
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
