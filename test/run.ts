// Runs suites by name, one after the other: `npm run soak -- NAME… [-- ARGUMENTS]`. Without a name it lists them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SUITES, TEST_SUITES, type Suite } from './suites.ts';

const BUILD = fileURLToPath(new URL('..', import.meta.url));

/** Runs Node.js; gives its exit code, 1 for one that a signal has ended. */
async function node(...args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...args], { stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
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

async function prepare({ needs }: Suite): Promise<number> {
  if (needs === 'nothing') return 0;
  return node(join(BUILD, 'cli', 'main.js'), 'sandbox', 'build', ...BUILT[needs]);
}

async function run(suite: Suite, given: readonly string[]): Promise<number> {
  const prepared = await prepare(suite);
  if (prepared !== 0) return prepared;
  const files = suite.files.flatMap(filesOf);
  const { timeoutSeconds, concurrency = 1, node: flags = [], args = [] } = suite;
  if (timeoutSeconds !== undefined) {
    const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${timeoutSeconds * 1_000}`];
    return node(...flags, '--test', ...limits, '--test-reporter=spec', ...files);
  }
  for (const file of files) {
    const code = await node(...flags, '--test-reporter=spec', file, ...(given.length > 0 ? given : args));
    if (code !== 0) return code;
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
  for (const name of names) {
    const suite = SUITES[name];
    const code = suite === undefined ? 1 : await run(suite, given);
    if (code !== 0) return code;
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
