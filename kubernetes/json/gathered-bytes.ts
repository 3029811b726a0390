// Bytes that come in chunks, in one piece of memory. Chunks are copied and let go: each may be a byte, and keep a whole buffer of the socket alive.

const FIRST_BYTES = 65_536;
const NOTHING = Buffer.alloc(0);

/** Grows as chunks are added. */
export class GatheredBytes {
  #buffer: Buffer = NOTHING;
  #length = 0;

  /** How many bytes there are. */
  get length(): number {
    return this.#length;
  }

  /** Adds a copy of the chunk. */
  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(chunk, this.#length);
    this.#length = length;
  }

  /** All bytes; they belong to the caller, and none are left. */
  take(): Buffer {
    const all = this.#buffer.subarray(0, this.#length);
    [this.#buffer, this.#length] = [NOTHING, 0];
    return all;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.max(FIRST_BYTES, this.#buffer.length * 2, length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
