// The last results of each benchmark: a file of JSON for each in docs/results/benchmarks, and the tables that the page
// docs/results/benchmarks.md makes of them. `bench --save` writes both, so that no figure is typed.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Goal } from '../benchmark.ts';
import type { Report, Result } from './report.ts';
import { significant, type Spread } from './statistics.ts';

const FOLDER = 'docs/results/benchmarks';
const PAGE = 'docs/results/benchmarks.md';
const RESULTS = ['what', 'ours', 'reference', 'ratio', 'goal', 'holds'];
const RUNS = ['#', 'measured on', 'commit', 'machine'];

/** Keeps the results of one benchmark in the checkout, and rewrites the page. Without any, the last ones stay. */
export async function saveResults(report: Report, checkout: string): Promise<void> {
  const [first] = report.results;
  if (first === undefined) return;
  await mkdir(join(checkout, FOLDER), { recursive: true });
  await writeFile(join(checkout, FOLDER, `${first.id}.json`), `${JSON.stringify(report, undefined, 2)}\n`);
  const page = join(checkout, PAGE);
  await writeFile(page, pageOf(await readFile(page, 'utf8'), await readSaved(checkout)));
}

/** The last report of each benchmark, P2 before P10. */
export async function readSaved(checkout: string): Promise<readonly Report[]> {
  const names = (await readdir(join(checkout, FOLDER))).toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const texts = await Promise.all(names.map((name) => readFile(join(checkout, FOLDER, name), 'utf8')));
  return texts.map((text) => JSON.parse(text) as Report);
}

/** The page with the tables of these reports in place of those that it has. */
export function pageOf(text: string, reports: readonly Report[]): string {
  const results = reports.flatMap((report) => report.results.map(cellsOf));
  return withTable(withTable(text, RESULTS, results), RUNS, reports.map(runOf));
}

/** Replaces the table with these columns. Throws where the page has none. */
function withTable(text: string, columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const [head, rule] = [line(columns), `|${'---|'.repeat(columns.length)}`];
  const [before, ...rest] = text.split(`${head}\n`);
  if (before === undefined || rest.length !== 1) throw new Error(`${PAGE} has no table with the columns ${head}`);
  const after = rest.join('').replace(/^(?:\|.*\n)*/, '');
  return `${before}${[head, rule, ...rows.map(line)].join('\n')}\n${after}`;
}

function line(cells: readonly string[]): string {
  return `|${cells.map((cell) => (cell === '' ? ' |' : ` ${cell} |`)).join('')}`;
}

function cellsOf({ id, title, unit, ratio, goal, holds, ...spreads }: Result): readonly string[] {
  return [
    `${id} ${title}`, figureOf(spreads.oursSpread, unit),
    spreads.referenceSpread === null ? '' : figureOf(spreads.referenceSpread, unit),
    ratio === null ? '' : String(significant(ratio, 3)), goal === null ? '' : goalOf(goal, unit),
    holds === null ? '' : holds ? 'yes' : '**no**',
  ];
}

function figureOf({ median, min, max, count }: Spread, unit: string): string {
  const spread = count === 1 ? '' : ` (${significant(min, 3)}–${significant(max, 3)}, n=${count})`;
  return `${significant(median, 3)} ${unit}${spread}`;
}

function goalOf(goal: Goal, unit: string): string {
  const bound = 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
  return goal.figure === 'ours' ? `${bound} ${unit}` : bound;
}

function runOf({ machine, commit, measuredOn, results: [first] }: Report): readonly string[] {
  const { cpu, cores, memoryBytes, node, loadAverage: [load = 0] } = machine;
  const memory = `${significant(memoryBytes / 1_024 ** 3, 3)} GiB`;
  const [hash = commit] = commit.split('-');
  return [
    first?.id ?? '', measuredOn, `${hash.slice(0, 8)}${commit.slice(hash.length)}`,
    `${cores} shared cores (${cpu}), ${memory}, Node.js ${node}, load ${load.toFixed(1)} at the start`,
  ];
}
