// Each fault (docs/results/faults.md) and each attack (docs/results/attacks.md) that concerns the webhook has tests
// whose titles begin with its number.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

// Compiled tests are one folder deeper than their sources.
const TESTS = join(import.meta.dirname, '..', '..', '..', '..', 'test');
const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const ROWS = [...numbers(31, 38).map((row) => `fault ${row}`), ...[...numbers(6, 9), ...numbers(18, 28), 42].map(
  (row) => `C2-${row}`,
)];

const files = [['unit', 'webhook'], ['laws'], ['integration']].flatMap((path) => {
  const folder = join(TESTS, ...path);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return names.filter((name) => name.includes('webhook') || path[1] === 'webhook')
    .map((name) => readFileSync(join(folder, name), 'utf8'));
});
const titles = files.flatMap((text) => [...text.matchAll(/\bit\(\s*['"`]([^'"`]+)/g)].map(([, title = '']) => title));

/** What a title begins with: `fault 35`, `faults 35 and 37`, `C2-6 and C2-8`. */
function rowsOf(title: string): readonly string[] {
  const [before = ''] = title.split(':');
  const rows = before.replace(/^faults /, '').split(/, | and /);
  return before.startsWith('faults ') ? rows.map((row) => `fault ${row}`) : rows;
}

for (const row of ROWS) {
  it(`row ${row} has a test`, () => assert.ok(titles.some((title) => rowsOf(title).includes(row))));
}
