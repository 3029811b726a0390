// Collects chunks of bytes into one buffer. Chunks are copied and released: a chunk may be one byte that keeps a whole
// socket buffer alive.

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

  /** All bytes, handed over to the caller; the buffer is empty afterwards. */
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
