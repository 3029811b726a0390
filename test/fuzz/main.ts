// The soak: `node build/test/fuzz/main.js [--runs N] [--seed N] [--only A,B]` fuzzes each reader, keeps the inputs that
// reach more code in test/fuzz/corpus, and writes what came of it to docs/results. A reader runs in a process of its
// own: one that hangs is ended and told.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeCommit, describeMachine } from '../../benchmarks/readings/machine.ts';
import { runCampaign, smallestCorpus, type Finding } from './campaign.ts';
import { readCorpus, writeCorpus } from './corpus.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { FUZZ_TARGETS } from './targets.ts';

/** A million runs take minutes on a quiet machine: a reader that takes three hours hangs. In ms. */
const TIMEOUT_MS = 10_800_000;
const RESULTS = new URL('../../../docs/results/', import.meta.url);

/** What a process that fuzzes one reader prints in the end. */
interface Told {
  readonly runs: number;
  readonly seconds: number;
  readonly slowestMs: number;
  /** By which the heap grew from the first tenth of the runs to the end. */
  readonly heapGrowthMiB: number;
  readonly findings: readonly Finding[];
  /** Base64. */
  readonly inputs: readonly string[];
}

/** What is told of one reader. */
interface Row extends Omit<Told, 'inputs'> {
  readonly name: string;
  readonly seed: number;
  readonly covered: number;
  readonly corpus: number;
  readonly date: string;
  readonly commit: string;
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' }, only: { type: 'string' },
    child: { type: 'string' },
  },
});
const [runs, seed] = [Number(values.runs), Number(values.seed)];

if (values.child === undefined) await runAll(values.only?.split(','));
else process.stdout.write(JSON.stringify(await runOne(values.child)));

async function runOne(name: string): Promise<Told> {
  let before: number | undefined;
  const heap = (): number => {
    (globalThis as { gc?: () => void }).gc?.();
    return process.memoryUsage().heapUsed / (1 << 20);
  };
  const onProgress = (done: number): void => {
    if (done >= runs / 10) before ??= heap();
  };
  const { corpus, ...outcome } =
    await runCampaign(targetNamed(name), { runs, seed, corpus: readCorpus(name), onProgress });
  const heapGrowthMiB = Math.round((heap() - (before ?? heap())) * 10) / 10;
  return {
    ...outcome, seconds: Math.round(outcome.seconds), slowestMs: Math.round(outcome.slowestMs), heapGrowthMiB,
    inputs: corpus.map((input) => input.toString('base64')),
  };
}

function targetNamed(name: string): FuzzTarget {
  const target = FUZZ_TARGETS.find((one) => one.name === name);
  if (target === undefined) throw new Error(`no reader is called ${name}`);
  return target;
}

async function runAll(only: readonly string[] | undefined): Promise<void> {
  const [date, commit] = [new Date().toISOString().slice(0, 10), await describeCommit()];
  for (const { name } of FUZZ_TARGETS.filter((one) => only?.includes(one.name) !== false)) {
    const options =
      ['--expose-gc', fileURLToPath(import.meta.url), '--child', name, '--runs', String(runs), '--seed', String(seed)];
    const child = spawn(
      process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'], timeout: TIMEOUT_MS, killSignal: 'SIGKILL' },
    );
    const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
    if (code !== 0) {
      throw new Error(`the reader ${name} ended with ${code ?? 'a signal: it hangs, or uses too much memory'}`);
    }
    const { inputs, ...told } = JSON.parse(printed) as Told;
    const { corpus, covered } =
      await smallestCorpus(targetNamed(name), inputs.map((input) => Buffer.from(input, 'base64')));
    writeCorpus(name, corpus);
    const row: Row = { name, seed, ...told, covered, corpus: corpus.length, date, commit };
    for (const { what, input } of row.findings) process.stderr.write(`${name}: ${what}\n  ${input.slice(0, 2_000)}\n`);
    process.stderr.write(`${name}: ${row.runs} runs in ${row.seconds} s, ${row.findings.length} bugs\n`);
    if (runs >= 1_000_000) writeResult(row);
    if (row.findings.length > 0) process.exitCode = 1;
  }
}

/** Figures are kept as JSON beside the page, so that one reader can be run again alone. */
function writeResult(row: Row): void {
  const file = new URL('fuzzing.json', RESULTS);
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Row[]) : [];
  const rows =
    FUZZ_TARGETS.flatMap(({ name }) => (name === row.name ? [row] : before.filter((one) => one.name === name)));
  writeFileSync(file, `[\n${rows.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`);
  writeFileSync(new URL('fuzzing.md', RESULTS), toPage(rows));
}

function toPage(rows: readonly Row[]): string {
  const { cpu, cores, node } = describeMachine();
  const reads = new Map(FUZZ_TARGETS.map((target) => [target.name, target.reads]));
  const lines = rows.map(
    (row) =>
      `| ${row.name} | ${reads.get(row.name) ?? ''} | ${row.runs.toLocaleString('en')} | ${row.seconds} | ` +
        `${row.covered.toLocaleString('en')} | ${row.corpus} | ${row.slowestMs} | ${row.heapGrowthMiB} | ` +
        `${row.findings.length} | ${row.date} ${row.commit.slice(0, 7)}${row.commit.endsWith('-dirty') ? '*' : ''} |`,
  );
  const missing = FUZZ_TARGETS.filter(({ name }) => !rows.some((row) => row.name === name)).map(({ name }) => name);
  return `# Fuzzing of what reads foreign bytes

\`npm run soak -- fuzz\` on ${cores} shared vCPU (${cpu}), Node ${node}. Led by coverage: V8's block counters tell
which inputs make code of ours run that no input before did, and those are changed further, by byte, by token, by the
structure of JSON and by splicing. It is a bug when a reader throws anything but the refusal that it documents, takes
more than 250 ms, leaves something on a prototype, or breaks a promise of its own (\`test/fuzz/*-targets.ts\`): a token
that nobody signed holds, a watch that is cut elsewhere reads otherwise, an amount that is printed reads as another one.
\`npm test\` runs the kept corpus and some thousand changes of it (\`test/laws/fuzz.test.ts\`).

Covered: characters of our compiled code that ran. Heap: MiB by which it grew after the first tenth of the runs. A star
marks a working copy that differed from its commit.

| reader | what it reads | runs | s | covered | corpus | slowest, ms | heap | bugs | when |
|---|---|---|---|---|---|---|---|---|---|
${lines.join('\n')}
${missing.length === 0 ? '' : `\nNot run a million times yet: ${missing.join(', ')}.\n`}`;
}
