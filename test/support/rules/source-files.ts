// All TypeScript sources of the repository, for the tests that judge them.
import { readdirSync, readFileSync } from 'node:fs';
import type { SourceFile } from './architecture.ts';

const ROOT = new URL('../../../../', import.meta.url);
const SKIPPED = /^(?:node_modules|build|docs|\.)/;

/** Every source file, by the order of folders. */
export function sourceFiles(): readonly SourceFile[] {
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !SKIPPED.test(entry.name));
  return folders.flatMap(({ name }) => {
    const paths = readdirSync(new URL(`${name}/`, ROOT), { recursive: true, encoding: 'utf8' });
    return paths.filter((path) => path.endsWith('.ts')).map(
      (path) => ({ path: `${name}/${path}`, text: readFileSync(new URL(`${name}/${path}`, ROOT), 'utf8') }),
    );
  });
}
