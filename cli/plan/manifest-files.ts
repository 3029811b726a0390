// Reads the files that `-f` names, as kubectl does: files, folders with manifests in them, and `-` for standard input.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { AppError, reasonOf } from '../../process/errors.ts';

/** A manifest and where it came from. */
export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

/** Which files of a folder are manifests (kubectl `resource.FileExtensions`). */
const EXTENSIONS = ['.json', '.yaml', '.yml'];

/** Reads all of them, in order. Throws AppError `BadInput` that names what cannot be read. */
export async function readManifests(paths: readonly string[]): Promise<readonly ManifestFile[]> {
  const files: ManifestFile[] = [];
  for (const path of paths) files.push(...(await readPath(path)));
  return files;
}

async function readPath(path: string): Promise<readonly ManifestFile[]> {
  if (path === '-') return [{ path: 'standard input', text: await readAll(process.stdin) }];
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
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new AppError('BadInput', `${path} cannot be read: ${reasonOf(error)}.`, { cause: error });
  }
}
