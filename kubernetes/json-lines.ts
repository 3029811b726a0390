// A watch is a stream of JSON documents, one a line, cut into chunks anywhere, even inside a UTF-8 character.

const NEWLINE = 0x0a;

/**
 * Splits a byte stream into parsed lines. Bytes are decoded a whole line at a time, so a character that is cut by a chunk survives.
 * An unfinished last line is dropped: the stream broke there, and the watch is resumed from the version before it.
 * @throws SyntaxError when a finished line is no JSON.
 */
export async function* parseJsonLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator {
  let pending: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      pending.push(chunk.subarray(start, end));
      const line = Buffer.concat(pending).toString('utf8');
      pending = [];
      start = end + 1;
      if (line.trim() !== '') yield JSON.parse(line) as unknown;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
}
