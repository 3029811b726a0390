// The allocator on which the image runs. A benchmark of memory runs on the same one where this machine has it.
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const DOCKERFILE = new URL('../../../Dockerfile', import.meta.url);
const LIBRARIES = '/usr/lib';

/** What the image preloads. */
export interface ImageAllocator {
  /** The library's name, as the loader finds it. */
  readonly library: string;
  readonly isHere: boolean;
}

/** What a Dockerfile preloads. Throws Error when it preloads nothing. */
export function preloadedBy(dockerfile: string): string {
  const library = /^ENV LD_PRELOAD=(\S+)$/m.exec(dockerfile)?.[1];
  if (library === undefined) throw new Error('the Dockerfile preloads no allocator');
  return library;
}

/** The library that the Dockerfile preloads, and whether it is below `folder`, where Debian has libraries. */
export async function imageAllocator(folder = LIBRARIES): Promise<ImageAllocator> {
  const library = preloadedBy(await readFile(DOCKERFILE, 'utf8'));
  const folders = (await readdir(folder)).filter((name) => name.includes('-linux-'));
  const found = await Promise.all(
    folders.map((name) => access(join(folder, name, library)).then(() => true, () => false)),
  );
  return { library, isHere: found.includes(true) };
}

/** The environment of a process that runs on it; empty where it is not here. */
export function preloading({ library, isHere }: ImageAllocator): Readonly<Record<string, string>> {
  return isHere ? { LD_PRELOAD: library } : {};
}

/** For titles. */
export function allocatorWords({ library, isHere }: ImageAllocator): string {
  return isHere ? `on ${library} as in the image` : `without the image's ${library}, which is not here`;
}
