// Rows of the tables on the pages of results, for pages that repeat a figure.
import { textOf } from './documented-blocks.ts';

/** The cells after the first one of the first row that begins with `name`. Throws where the page has none. */
export function measuredRow(page: string, name: string): readonly string[] {
  const row = textOf(page).split('\n').find((line) => line.startsWith(`| ${name} |`));
  if (row === undefined) throw new Error(`${page} has no row that begins with "${name}"`);
  return row.split('|').slice(2, -1).map((cell) => cell.trim());
}
