// Runs suites by name, one after the other: `npm run soak -- NAME… [-- ARGUMENTS]`. Without a name it lists them.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SUITES, TEST_SUITES, type Suite } from './suites.ts';

const BUILD = fileURLToPath(new URL('..', import.meta.url));

/** A running Node.js. */
interface Run {
  readonly child: ChildProcess;
  /** Its exit code, 1 where a signal has ended it. */
  readonly code: Promise<number>;
}

function node(...args: readonly string[]): Run {
  return running(spawn(process.execPath, [...args], { stdio: 'inherit' }));
}

/** Runs it beside others: they have the processors first, and no line of theirs is written over by its progress. */
function nodeBeside(...args: readonly string[]): Run {
  const child = spawn(process.execPath, [...args], { stdio: ['ignore', 'inherit', 'pipe'] });
  child.stderr.pipe(process.stderr);
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW);
  return running(child);
}

function running(child: ChildProcess): Run {
  return { child, code: once(child, 'close').then(([code]) => (code as number | null) ?? 1) };
}

/** Compiled files that a pattern names. Throws when there is none: a suite that runs nothing would pass. */
function filesOf(pattern: string): readonly string[] {
  const folder = join(BUILD, 'test', dirname(pattern));
  const [before = '', after] = basename(pattern).split('*');
  const isNamed = (name: string): boolean =>
    (after === undefined ? name === before : name.startsWith(before) && name.endsWith(after));
  const files = readdirSync(folder).filter(isNamed).toSorted().map((name) => join(folder, name));
  if (files.length === 0) throw new Error(`no compiled file is called ${pattern}; run the build first`);
  return files;
}

const BUILT: Readonly<Record<Exclude<Suite['needs'], 'nothing'>, readonly string[]>> = {
  'control-planes': [], tools: ['--tools'], 'real-nodes': ['--tools', '--nodes'],
};

/** Builds what a suite needs; undefined where that is nothing. */
function prepare({ needs }: Suite, start = node): Run | undefined {
  if (needs === 'nothing') return undefined;
  return start(join(BUILD, 'cli', 'main.js'), 'sandbox', 'build', ...BUILT[needs]);
}

/**
 * Builds what the last suite needs while the others run, which often wait for clocks. It does so for the last suite
 * alone, since two builds of one program would only wait for each other.
 */
function prepareLast(suites: readonly Suite[]): Run | undefined {
  const last = suites.at(-1);
  return last === undefined || suites.length < 2 ? undefined : prepare(last, nodeBeside);
}

async function run(suite: Suite, given: readonly string[], building = prepare(suite)): Promise<number> {
  const prepared = await building?.code ?? 0;
  if (prepared !== 0) return prepared;
  const files = [...new Set(suite.files.flatMap(filesOf))];
  const { timeoutSeconds, concurrency = 1, node: flags = [], args = [] } = suite;
  if (timeoutSeconds !== undefined) {
    const limits = [String(concurrency), String(timeoutSeconds)];
    return node(...flags, join(BUILD, 'test', 'run-files.js'), ...limits, ...files).code;
  }
  for (const file of files) {
    const code = await node(...flags, '--test-reporter=spec', file, ...(given.length > 0 ? given : args)).code;
    if (code !== 0) return code;
  }
  return 0;
}

/** Runs suites one after the other, up to the first that fails; gives its exit code. */
async function runAll(suites: readonly Suite[], given: readonly string[]): Promise<number> {
  const building = prepareLast(suites);
  for (const suite of suites) {
    const code = await run(suite, given, suite === suites.at(-1) ? building : undefined);
    if (code === 0) continue;
    building?.child.kill();
    return code;
  }
  return 0;
}

function list(): string {
  const width = Math.max(...Object.keys(SUITES).map((name) => name.length));
  return Object.entries(SUITES).map(([name, { about }]) => `${name.padEnd(width)}  ${about}`).join('\n');
}

/** Exit code of what the command line asks for. */
async function main(words: readonly string[]): Promise<number> {
  const end = words.indexOf('--');
  const asked = end === -1 ? words : words.slice(0, end);
  const given = end === -1 ? [] : words.slice(end + 1);
  const names = asked.length === 1 && asked[0] === 'test' ? TEST_SUITES : asked;
  const unknown = names.filter((name) => !Object.hasOwn(SUITES, name));
  if (names.length === 0 || unknown.length > 0) {
    if (unknown.length > 0) console.error(`There is no suite called ${unknown.join(', ')}. Suites:`);
    console.log(list());
    return unknown.length > 0 ? 1 : 0;
  }
  return runAll(names.flatMap((name) => SUITES[name] ?? []), given);
}

process.exitCode = await main(process.argv.slice(2));
