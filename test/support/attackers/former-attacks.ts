// What came of the attacks that once got through, kept as JSON beside the page that shows it: the run before they were
// answered, and the last one since.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** The commit at which they were found. */
const FOUND = '6ea8936';

/** One attack and what came of it. */
export interface AttackRow {
  /** Number of the finding, 1 to 12. */
  readonly finding: number;
  readonly what: string;
  /** `not made` where the attack could not be tried, which tells nothing. */
  readonly outcome: 'gets through' | 'stopped' | 'not made';
  /** What shows it, in one line. */
  readonly got: string;
}

/** All attacks on one commit. */
export interface AttackRun {
  readonly commit: string;
  /** ISO 8601, a day. */
  readonly date: string;
  readonly rows: readonly AttackRow[];
}

/** The runs that are kept; none when the file is not there. */
export function keptRuns(file: URL): readonly AttackRun[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly AttackRun[]) : [];
}

/** Keeps a run in the place of the one before of its sort; what it has not tried stays, if it is of the same commit. */
export function keepRun(file: URL, run: AttackRun): void {
  const isFormer = ({ commit }: AttackRun): boolean => commit.startsWith(FOUND);
  const kept = keptRuns(file);
  const untried = kept
    .filter(({ commit }) => commit === run.commit)
    .flatMap(({ rows }) => rows)
    .filter(({ finding }) => !run.rows.some((row) => row.finding === finding));
  const merged = { ...run, rows: [...untried, ...run.rows].toSorted((one, other) => one.finding - other.finding) };
  const others = kept.filter((each) => isFormer(each) !== isFormer(run));
  const runs = [...others, merged].toSorted((one, other) => Number(isFormer(other)) - Number(isFormer(one)));
  writeFileSync(file, `${JSON.stringify(runs, undefined, 1)}\n`);
}

/** Rows of Markdown: an attack, and for each run what came of it. */
export function formerAttacksTable(runs: readonly AttackRun[]): string {
  const attacks = runs.at(-1)?.rows ?? [];
  const head = [
    '',
    'Attack',
    ...runs.map(({ commit, date }) => `${commit.slice(0, 7)}${commit.endsWith('-dirty') ? '*' : ''}, ${date}`),
  ];
  const lines = attacks.map(({ finding, what }) => [
    String(finding),
    cell(what),
    ...runs.map(({ rows }) => outcomeOf(rows.find((row) => row.what === what))),
  ]);
  return `${[head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function outcomeOf(row: AttackRow | undefined): string {
  if (row === undefined) return 'not made';
  return `${row.outcome === 'gets through' ? '**gets through**' : row.outcome}: ${cell(row.got)}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;');
}
