// A watch is a stream of JSON documents, one a line, cut into chunks anywhere, even inside a UTF-8 character.
import { withoutManagedFields } from './managed-fields.ts';

const NEWLINE = 0x0a;
/** Longest line that is kept, in bytes: an object has at most 1.5 MB in etcd, in JSON somewhat more. */
export const MAX_LINE_BYTES = 16 << 20;

/**
 * Splits bytes into parsed lines, without managedFields. Bytes are decoded a whole line at a time, so a character that is cut by a chunk
 * survives. An unfinished last line is never given: the stream broke there, and the watch is resumed from the version before it.
 */
export class JsonLines {
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  /**
   * The lines that end in this chunk. Take them all before the next chunk comes.
   * @throws SyntaxError when a finished line is no JSON, RangeError when a line is longer than {@link MAX_LINE_BYTES}.
   */
  *push(chunk: Uint8Array): Generator {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = decode(this.#pending, chunk.subarray(start, end));
      if (this.#pendingBytes > 0) [this.#pending, this.#pendingBytes] = [[], 0];
      start = end + 1;
      if (line.trim() !== '') yield JSON.parse(withoutManagedFields(line)) as unknown;
    }
    if (start === chunk.length) return;
    this.#pending.push(chunk.subarray(start));
    this.#pendingBytes += chunk.length - start;
    if (this.#pendingBytes > MAX_LINE_BYTES) throw new RangeError(`a line is longer than ${MAX_LINE_BYTES} bytes`);
  }
}

/** The parsed lines of a whole stream; see {@link JsonLines}. */
export async function* parseJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator {
  const lines = new JsonLines();
  for await (const chunk of chunks) yield* lines.push(chunk);
}

/** Most lines lie within one chunk and are decoded where they are. */
function decode(pending: readonly Uint8Array[], last: Uint8Array): string {
  if (pending.length > 0) return Buffer.concat([...pending, last]).toString('utf8');
  return Buffer.from(last.buffer, last.byteOffset, last.byteLength).toString('utf8');
}
