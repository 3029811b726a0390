// Removes `metadata.managedFields` from JSON before parsing: a third of a usual object, many small values that are the
// most expensive to parse and that nothing here reads.
import { placeForScan } from './json-nesting.ts';
import { endOfValue } from './json-scan.ts';

const KEY = Buffer.from('"managedFields":[');
const METADATA = Buffer.from('"metadata":{');
const SPEC = Buffer.from('"spec":');
const COMMA = 0x2c;

/** Parses JSON without its managedFields; see {@link withoutManagedFields}. Throws SyntaxError. */
export function readSlim(json: Buffer, start = 0, end = json.length): unknown {
  return JSON.parse(withoutManagedFields(json.subarray(start, end)));
}

/**
 * The text of an object, or of a list of them, without the managedFields of their metadata. A key with its quotes and
 * an opening bracket cannot be inside a string, where its quotes would be escaped. metadata precedes all other fields
 * that may hold a field of that name: what follows `"spec":` is left alone up to the next object's `"metadata":`.
 */
export function withoutManagedFields(json: Buffer): string {
  const first = json.indexOf(KEY);
  if (first === -1) return json.toString('utf8');
  const memory = placeForScan(json) ?? Buffer.from(json); // in a copy, since bytes are moved
  const bytes = memory.subarray(0, json.length);
  const [kept, place] = [new KeptBytes(bytes), new Place(bytes)];
  for (let at = first; at !== -1; at = bytes.indexOf(KEY, at + KEY.length)) {
    if (!place.isMetadataAt(at)) continue;
    const close = endOfList(memory, at + KEY.length - 1, bytes.length);
    if (close === undefined) break; // the text is cut off: the parser will report it
    const isLast = bytes[close] !== COMMA;
    kept.leaveOut(isLast && bytes[at - 1] === COMMA ? at - 1 : at, isLast ? close : close + 1);
    place.leave(close);
    at = close - KEY.length;
  }
  return kept.text();
}

/** What is kept of some bytes. It is moved together in place, behind what is still to be read. */
class KeptBytes {
  readonly #bytes: Buffer;
  /** Index from which on nothing is decided yet. */
  #from = 0;
  #length = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  leaveOut(start: number, end: number): void {
    this.#keepUntil(start);
    this.#from = end;
  }

  text(): string {
    this.#keepUntil(this.#bytes.length);
    return this.#bytes.toString('utf8', 0, this.#length);
  }

  #keepUntil(end: number): void {
    if (this.#length < this.#from) this.#bytes.copyWithin(this.#length, this.#from, end);
    this.#length += end - this.#from;
  }
}

/** Tells whether an index is inside metadata. It reads each byte once, however many keys have that name. */
class Place {
  readonly #bytes: Buffer;
  #seen = 0;
  #isMetadata = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Call with growing indexes of keys. */
  isMetadataAt(at: number): boolean {
    const unseen = this.#bytes.subarray(this.#seen, at);
    const metadata = unseen.lastIndexOf(METADATA);
    if (metadata !== -1) this.#isMetadata = true;
    if (this.#isMetadata && unseen.indexOf(SPEC, Math.max(metadata, 0)) !== -1) this.#isMetadata = false;
    this.#seen = at;
    return this.#isMetadata;
  }

  /** Up to here is decided: an object has one such list in its metadata. */
  leave(at: number): void {
    this.#seen = at;
    this.#isMetadata = false;
  }
}

/** Index behind the bracket that closes the one at `from`; undefined when the document ends before. */
function endOfList(memory: Buffer, from: number, end: number): number | undefined {
  try {
    return endOfValue(memory, from, end);
  } catch {
    return undefined;
  }
}
