// The text of a compiled module of this checkout, as a release puts it into the script of the Headlamp plugin.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The text of a module by its path below the folder of compiled files. */
export function compiledModule(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8');
}
