// Each top-level folder of code opens with a README.md that names its folders and what it may import.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { TOP_FOLDERS } from '../../support/rules/architecture.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

const MOST_LINES = 25;
/** Folders that hold code and are no part of the product. */
const OUTSIDE = ['benchmarks', 'test'];

/** Names in code that stand in the first cell of a row. */
function namedFirst(text: string): readonly string[] {
  const cells = text.split('\n').filter((line) => line.startsWith('| `')).map((line) => line.split('|')[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** Names in code of the item that says what may be imported. */
function importsNamed(text: string): readonly string[] {
  const item = text.split('\n').find((line) => line.startsWith('- **May import:** ')) ?? '';
  const [first = ''] = item.split('. ');
  return [...first.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

interface Told {
  readonly imports: readonly string[];
  readonly folders: readonly string[];
}

/** What a folder's page says that is not so. */
function problemsOf(text: string, { imports, folders }: Told): readonly string[] {
  const named = namedFirst(text);
  const unnamed = folders.filter((folder) => !named.includes(folder));
  const wrong = [...unnamed, ...named.filter((name) => !folders.includes(name))];
  const except = importsNamed(text);
  const isEvery = /^- \*\*May import:\*\* every /m.test(text);
  const isRight = isEvery ? except.every((name) => !imports.includes(name)) : except.join() === imports.join();
  return [...wrong, ...(isRight ? [] : [`may import ${imports.join(', ')}`])];
}

describe('the README.md of a folder', () => {
  for (const [top, table] of Object.entries(TOP_FOLDERS)) {
    it(`${top}: names its folders, and what it may import`, () => {
      const told = { imports: table.imports, folders: Object.keys(table.folders) };
      assert.deepEqual(problemsOf(textOf(`${top}/README.md`), told), []);
    });
  }

  for (const folder of [...Object.keys(TOP_FOLDERS), ...OUTSIDE]) {
    it(`${folder}: is short, and says what comes in and what goes out`, () => {
      const text = textOf(`${folder}/README.md`);
      assert.ok(text.trimEnd().split('\n').length <= MOST_LINES);
      const parts = [`# ${folder}\n`, '- **In:** ', '- **Out:** ', '- **May import:** '];
      assert.deepEqual(parts.filter((part) => !text.includes(part)), []);
    });
  }

  it('of the tests names each of its folders', () => {
    const entries = readdirSync(join(ROOT, 'test'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const named = namedFirst(textOf('test/README.md'));
    assert.deepEqual(entries.map(({ name }) => name).filter((name) => !named.includes(name)), []);
  });

  it('of the benchmarks names each of its folders', () => {
    const entries = readdirSync(join(ROOT, 'benchmarks'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    assert.deepEqual(namedFirst(textOf('benchmarks/README.md')).toSorted(), folders.toSorted());
  });

  it('would be missed with a folder too few, a folder too many, or a wrong import', () => {
    const text = '- **May import:** `api`. `b` acts.\n| `a` | x |\n';
    assert.deepEqual(problemsOf(text, { imports: ['api'], folders: ['a'] }), []);
    assert.deepEqual(problemsOf(text, { imports: ['model'], folders: ['b'] }), ['b', 'a', 'may import model']);
  });
});
