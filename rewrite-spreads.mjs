// Rewrites object literals that begin with a spread, in compiled files, where Node.js is older than 22: its V8 gives
// each object of `{ ...a, b }` a hidden class of its own (docs/adr/0127). A spread of undefined before it adds nothing
// and prevents that. Plain JavaScript, because the build runs it.
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from '@babel/parser';

/** Whether the Node.js that compiles needs it. */
export const NEEDS_SPREADS = Number(process.versions.node.split('.')[0]) < 22;

const FIRST = '...undefined, ';

/** Also of a text that is rewritten already, whose literals begin with a spread of undefined. */
const isSpread = ({ type, argument }) => type === 'SpreadElement' && argument.name !== 'undefined';

function* literalsIn(node) {
  if (node === null || typeof node !== 'object') return;
  const { type, properties = [], start } = node;
  if (type === 'ObjectExpression' && properties.length > 1 && isSpread(properties[0])) yield start + 1;
  for (const [name, child] of Object.entries(node)) if (name !== 'loc') yield* literalsIn(child);
}

/** The text of a module with these literals rewritten, each in its line. */
export function withSharedClasses(text) {
  if (!text.includes('...')) return text;
  let [rewritten, from] = ['', 0];
  for (const at of [...literalsIn(parse(text, { sourceType: 'module' }).program)].toSorted((a, b) => a - b)) {
    rewritten += text.slice(from, at) + FIRST;
    from = at;
  }
  return rewritten + text.slice(from);
}

/** Rewrites what was compiled below a folder since the last time, but for browsers. `.rewritten` there has that time. */
export function rewriteSpreads(folder) {
  const done = join(folder, '.rewritten');
  rewriteNewer(folder, existsSync(done) ? statSync(done).mtimeMs : 0);
  writeFileSync(done, '');
}

function rewriteNewer(folder, time) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && entry.name !== 'browser') rewriteNewer(path, time);
    if (!entry.isFile() || !entry.name.endsWith('.js') || statSync(path).mtimeMs < time) continue;
    const text = readFileSync(path, 'utf8');
    const rewritten = withSharedClasses(text);
    if (rewritten !== text) writeFileSync(path, rewritten);
  }
}
