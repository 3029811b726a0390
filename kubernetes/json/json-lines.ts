// Splits a watch response into JSON documents, one per line. Chunks may end anywhere, even inside a UTF-8 character.
import { LimitError } from '../connect/connection-limits.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import { skipSpace } from './json-scan.ts';

const NEWLINE = 0x0a;
/** Longest line in bytes: an object has at most 1.5 MB in etcd, somewhat more as JSON. */
const MAX_LINE_BYTES = 16 << 20;

/** Reads the document between two byte indexes. Throws SyntaxError when it is malformed. */
export type ReadDocument = (bytes: Buffer, start: number, end: number) => unknown;

/**
 * Splits bytes into lines and parses each. Only whole lines are decoded, so a character that a chunk cuts survives. An
 * unfinished last line is never returned: the stream broke there, and the watch resumes from the version before it.
 */
export class JsonLines {
  readonly #read: ReadDocument;
  readonly #pending = new GatheredBytes();
  readonly #maxBytes: number;

  constructor(read: ReadDocument, maxBytes = MAX_LINE_BYTES) {
    this.#read = read;
    this.#maxBytes = maxBytes;
  }

  /**
   * The lines completed by this chunk. Consume them all before passing the next chunk.
   * @throws SyntaxError when a complete line is malformed, LimitError when a line is too long.
   */
  *push(chunk: Uint8Array): Generator {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const from = start;
      start = end + 1;
      if (this.#pending.length > 0) yield* this.#line(this.#withPending(bytes.subarray(from, end)));
      // most lines lie within one chunk and are parsed in place
      else if (skipSpace(bytes, from) < end) yield this.#read(bytes, from, end);
    }
    if (start === bytes.length) return;
    this.#pending.add(bytes.subarray(start));
    if (this.#pending.length > this.#maxBytes) {
      throw new LimitError(`it sends an object of more than ${this.#maxBytes} bytes`);
    }
  }

  *#line(bytes: Buffer): Generator {
    if (skipSpace(bytes, 0) < bytes.length) yield this.#read(bytes, 0, bytes.length);
  }

  #withPending(last: Uint8Array): Buffer {
    this.#pending.add(last);
    return this.#pending.take();
  }
}
