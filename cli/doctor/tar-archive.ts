// Writes a compressed tar archive (POSIX.1-1988 ustar) of small texts: all that a support archive needs.
import { gzipSync } from 'node:zlib';

const BLOCK = 512;
const MAX_NAME = 100;

/** A file of an archive. */
export interface ArchivedFile {
  /** With slashes, at most 100 bytes. */
  readonly name: string;
  readonly text: string;
}

/**
 * The bytes of a `.tar.gz`; `at` is the time of all files, in ms since the epoch. Throws RangeError for a name that is
 * too long.
 */
export function tarArchive(files: readonly ArchivedFile[], at: number): Buffer {
  const parts = files.flatMap(({ name, text }) => {
    const bytes = Buffer.from(text, 'utf8');
    return [header(name, bytes.length, at), bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)];
  });
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]));
}

function header(name: string, size: number, at: number): Buffer {
  if (Buffer.byteLength(name) > MAX_NAME) throw new RangeError(`${name} is too long for a file name in an archive`);
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 'utf8');
  block.write('0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write(`${Math.floor(at / 1_000).toString(8).padStart(11, '0')}\0`, 136);
  block.write(' '.repeat(8), 148); // the checksum counts itself as spaces
  block.write('0', 156);
  block.write('ustar', 257);
  block.write('00', 263);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
