// Programs of this machine in an image: each with the shared libraries that it says it needs.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Absolute paths of a program's shared libraries; none for a static one. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run('ldd', [program]).catch(() => ({ stdout: '' }));
  return [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
}

/** Puts a program into a folder as `to`, and its libraries where it looks for them. */
export async function placeProgram(folder: string, program: string, to: string): Promise<void> {
  const libraries = await librariesOf(program);
  for (const [from, path] of [[program, to], ...libraries.map((library) => [library, library] as const)] as const) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(await realpath(from), join(folder, path));
  }
}
