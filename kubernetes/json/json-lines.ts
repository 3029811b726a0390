// A watch is a stream of JSON documents, one a line, cut into chunks anywhere, even inside a UTF-8 character.
import { LimitError } from '../connect/connection-limits.ts';
import { GatheredBytes } from './gathered-bytes.ts';
import { skipSpace } from './json-scan.ts';

const NEWLINE = 0x0a;
/** Longest line that is kept, in bytes: an object has at most 1.5 MB in etcd, in JSON somewhat more. */
export const MAX_LINE_BYTES = 16 << 20;

/** Reads the document between two indexes of bytes. Throws SyntaxError when it is none. */
export type ReadDocument = (bytes: Buffer, start: number, end: number) => unknown;

/**
 * Splits bytes into lines and reads each. Bytes are read a whole line at a time, so a character that is cut by a chunk survives.
 * An unfinished last line is never given: the stream broke there, and the watch is resumed from the version before it.
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
   * The lines that end in this chunk. Take them all before the next chunk comes.
   * @throws SyntaxError when a finished line is no JSON, LimitError when a line is longer than it may be.
   */
  *push(chunk: Uint8Array): Generator {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const from = start;
      start = end + 1;
      if (this.#pending.length > 0) yield* this.#line(this.#withPending(bytes.subarray(from, end)));
      else if (skipSpace(bytes, from) < end) yield this.#read(bytes, from, end); // most lines lie within one chunk and are read where they are
    }
    if (start === bytes.length) return;
    this.#pending.add(bytes.subarray(start));
    if (this.#pending.length > this.#maxBytes) throw new LimitError(`it sends an object of more than ${this.#maxBytes} bytes`);
  }

  *#line(bytes: Buffer): Generator {
    if (skipSpace(bytes, 0) < bytes.length) yield this.#read(bytes, 0, bytes.length);
  }

  #withPending(last: Uint8Array): Buffer {
    this.#pending.add(last);
    return this.#pending.take();
  }
}

/** The documents of a whole stream; see {@link JsonLines}. */
export async function* readJsonLines(chunks: AsyncIterable<Uint8Array>, read: ReadDocument): AsyncGenerator {
  const lines = new JsonLines(read);
  for await (const chunk of chunks) yield* lines.push(chunk);
}
