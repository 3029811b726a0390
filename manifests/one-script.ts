// Puts compiled modules that import one another into one script, for programs that load a single file. It knows the
// forms of import and export that this repository has, and refuses any other. Nothing is left out or shortened, so that
// the script can be read.
import { dirname, join } from 'node:path';

/** A module without its imports and exports. */
interface Part {
  readonly path: string;
  /** What it takes from others, as `[names, path]`; a name may be `a as b`. */
  readonly imports: readonly (readonly [names: readonly string[], path: string])[];
  readonly exports: readonly string[];
  readonly body: string;
}

const IMPORT = /^import \{([^{}]*)\} from '([^']+)';\n/gm;
const EXPORT = /^export (?=(?:const|function|class) (\w+))/gm;
const NOTHING = /^export \{\};\n/gm;
const SOURCE_MAP = /^\/\/# sourceMappingURL=.*\n?/gm;
const OTHER = /^(?:import|export)\b.*/m;

/**
 * One script that runs the module `entry`, and each module that it imports before it. `read` gives the text of a module
 * by its path. Throws for a module that takes something from a package, and for an import or export of another form.
 */
export function oneScript(entry: string, read: (path: string) => string): string {
  const parts = new Map<string, Part>();
  const visit = (path: string): void => {
    if (parts.has(path)) return;
    const part = partOf(path, read(path));
    for (const [, imported] of part.imports) visit(imported);
    parts.set(path, part);
  };
  visit(entry);
  const names = new Map([...parts.keys()].map((path, index) => [path, `module${index}`]));
  return `(() => {\n'use strict';\n${[...parts.values()].map((part) => written(part, names)).join('')}})();\n`;
}

function partOf(path: string, text: string): Part {
  const imports = [...text.matchAll(IMPORT)].map(([, names = '', from = '']) => {
    if (!from.startsWith('.')) throw new Error(`${path} imports ${from}, which would have to be put into the script`);
    return [listOf(names), join(dirname(path), from)] as const;
  });
  const exports = [...text.matchAll(EXPORT)].map(([, name = '']) => name);
  const body = [IMPORT, EXPORT, NOTHING, SOURCE_MAP].reduce((rest, form) => rest.replace(form, ''), text);
  const [other] = OTHER.exec(body) ?? [];
  if (other !== undefined) throw new Error(`${path} has an import or export of another form: ${other}`);
  return { path, imports, exports, body };
}

function listOf(names: string): readonly string[] {
  return names.split(',').map((name) => name.trim()).filter((name) => name !== '');
}

/** Modules do not import one another in a circle, so that each can be a function that has run before it is needed. */
function written({ path, imports, exports, body }: Part, names: ReadonlyMap<string, string>): string {
  const taken = imports.map(([list, from]) => (
    `const { ${list.map((name) => name.replace(' as ', ': ')).join(', ')} } = ${names.get(from) ?? ''};\n`
  ));
  return `\n// --- ${path}\nconst ${names.get(path) ?? ''} = (() => {\n${taken.join('')}${body}`
    + `return { ${exports.join(', ')} };\n})();\n`;
}
