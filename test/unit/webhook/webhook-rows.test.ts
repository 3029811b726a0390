// Each fault (table B2) and each bad input (table C2) of the design's reference that concerns the webhook has tests that begin with its row.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

// Compiled tests are one folder deeper than their sources.
const TESTS = join(import.meta.dirname, '..', '..', '..', '..', 'test');
const numbers = (from: number, to: number): readonly number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const ROWS = [...numbers(31, 38).map((row) => `B2-${row}`), ...[...numbers(6, 9), ...numbers(18, 28), 42].map((row) => `C2-${row}`)];

const files = [['unit', 'webhook'], ['laws'], ['integration']].flatMap((path) => {
  const folder = join(TESTS, ...path);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return names.filter((name) => name.includes('webhook') || path[1] === 'webhook').map((name) => readFileSync(join(folder, name), 'utf8'));
});
const titles = files.flatMap((text) => [...text.matchAll(/\bit\(\s*['"`]([^'"`]+)/g)].map(([, title = '']) => title));
const rowsOf = (title: string): readonly string[] => title.split(':')[0]?.split(', ') ?? [];

for (const row of ROWS) {
  it(`row ${row} has a test`, () => assert.ok(titles.some((title) => rowsOf(title).includes(row))));
}
