// Reads text that a user names, up to a limit: a device may have no end.
import { createReadStream } from 'node:fs';
import { AppError, reasonOf } from '../../process/errors.ts';

/** Largest file, in bytes; a snapshot of many targets has a few megabytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Reads a text file. Throws AppError `BadInput` that names it. */
export async function readNamed(path: string): Promise<string> {
  try {
    return await readBounded(createReadStream(path), path);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('BadInput', `${path} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Reads to the end. Throws AppError `BadInput` that names it if it is too long. */
export async function readBounded(stream: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new AppError('BadInput', `${name} has more than ${MAX_BYTES / 1024 / 1024} MiB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
