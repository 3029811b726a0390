// Reads the files that `-f` names, as kubectl does: files, folders with manifests in them, and `-` for standard input.
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { AppError, reasonOf } from '../../process/errors.ts';

/** A manifest and where it came from. */
export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

/** Which files of a folder are manifests (kubectl `resource.FileExtensions`). */
const EXTENSIONS = ['.json', '.yaml', '.yml'];

/** Largest file, in bytes; a snapshot of many targets has a few megabytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Adds `--filename`. */
export function withFilenames(command: Command): Command {
  return command.option(
    '-f, --filename <file>', 'manifest, directory of manifests, or - for standard input; can be repeated',
    (text: string, before: readonly string[]) => [...before, ...text.split(',')], [],
  );
}

/** Reads all of them, in order. Throws AppError `BadInput` that names what cannot be read. */
export async function readManifests(paths: readonly string[]): Promise<readonly ManifestFile[]> {
  const files: ManifestFile[] = [];
  for (const path of paths) files.push(...(await readPath(path)));
  return files;
}

async function readPath(path: string): Promise<readonly ManifestFile[]> {
  if (path === '-') return [{ path: 'standard input', text: await readBounded(process.stdin, 'standard input') }];
  const isFolder = await stat(path).then((found) => found.isDirectory(), () => false);
  if (!isFolder) return [{ path, text: await readNamed(path) }];
  const names = (await readdir(path)).filter((name) => EXTENSIONS.some((extension) => name.endsWith(extension)))
    .toSorted();
  if (names.length === 0) {
    throw new AppError('BadInput', `${path} is a folder without a manifest: ${EXTENSIONS.join(', ')} are read.`);
  }
  return Promise.all(names.map(async (name) => ({ path: join(path, name), text: await readNamed(join(path, name)) })));
}

/** Reads a text file. Throws AppError `BadInput` that names it. */
export async function readNamed(path: string): Promise<string> {
  try {
    return await readBounded(createReadStream(path), path);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('BadInput', `${path} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Reads to the end, which a device may not have. Throws AppError `BadInput` that names it if it is too long. */
async function readBounded(stream: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new AppError('BadInput', `${name} has more than ${MAX_BYTES / 1024 / 1024} MiB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
