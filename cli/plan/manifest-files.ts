// Reads the files that `-f` names, as kubectl does: files, folders with manifests in them, and `-` for standard input.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { AppError } from '../../process/errors.ts';
import { readBounded, readNamed } from '../placement/bounded-file.ts';

/** A manifest and where it came from. */
export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

/** Which files of a folder are manifests (kubectl `resource.FileExtensions`). */
const EXTENSIONS = ['.json', '.yaml', '.yml'];

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
