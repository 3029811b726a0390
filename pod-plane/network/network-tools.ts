// Runs `ip`, `bridge` and `nft` with argument lists, never through a shell, and parses their JSON output.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf } from '../../process/errors.ts';
import type { NetworkCommand, ObservedNetwork } from '../plan/network-plan.ts';

const execute = promisify(execFile);
const LIMITS = { timeout: 10_000, maxBuffer: 64 << 20 } as const;

/** The observed network, for the links of these names. Throws when `ip` cannot be run. */
export async function observeNetwork(names: readonly string[]): Promise<ObservedNetwork> {
  const [links, addresses, routes, rules] = await Promise.all([
    readJson<ObservedNetwork['links']>('ip', ['-j', '-d', 'link', 'show']),
    readJson<ObservedNetwork['addresses']>('ip', ['-j', 'addr', 'show']),
    readJson<ObservedNetwork['routes']>('ip', ['-j', '-4', 'route', 'show', 'table', 'all']),
    readJson<ObservedNetwork['rules']>('ip', ['-j', '-4', 'rule', 'show']),
  ]);
  const ours = links.filter(({ ifname, linkinfo }) => names.includes(ifname) && linkinfo?.info_kind === 'vxlan')
    .map(({ ifname }) => ifname);
  const neighbours = await Promise.all(ours.map(
    async (dev) => (
      await readJson<ObservedNetwork['neighbours']>('ip', ['-j', '-4', 'neigh', 'show', 'dev', dev, 'nud', 'permanent'])
    ).map((one) => ({ ...one, dev })),
  ));
  const forwarding = await Promise.all(ours.map(
    async (ifname) => (
      await readJson<ObservedNetwork['forwarding']>('bridge', ['-j', 'fdb', 'show', 'dev', ifname])
    ).map((one) => ({ ...one, ifname })),
  ));
  return {
    links: links.filter(({ ifname }) => names.includes(ifname)), addresses, routes, rules,
    neighbours: neighbours.flat(), forwarding: forwarding.flat(),
  };
}

/**
 * Runs the commands in order, consecutive ones of a program in one process (`-batch`): a failover has no time for
 * twenty. No argument contains a blank or a line break. Throws an Error with the program's output.
 */
export async function runCommands(commands: readonly NetworkCommand[]): Promise<void> {
  for (const batch of batches(commands)) {
    const [[program] = ['ip']] = batch;
    const lines = batch.map(([, ...args]) => args);
    if (lines.flat().some((part) => !/^\S+$/.test(part))) {
      throw new RangeError('a part of a network command with a blank');
    }
    await runBatch(program, `${lines.map((line) => line.join(' ')).join('\n')}\n`);
  }
}

function batches(commands: readonly NetworkCommand[]): readonly (readonly NetworkCommand[])[] {
  const found: NetworkCommand[][] = [];
  for (const command of commands) {
    const last = found.at(-1);
    if (last?.[0]?.[0] === command[0]) last.push(command);
    else found.push([command]);
  }
  return found;
}

async function runBatch(program: string, input: string): Promise<void> {
  const child = spawn(program, ['-batch', '-'], { stdio: ['pipe', 'ignore', 'pipe'], timeout: LIMITS.timeout });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(
    `${program} failed: ${errors.trim().slice(0, 500)}; it was asked: ` +
      input.trim().replaceAll('\n', '; ').slice(0, 1_000),
  );
}

/** Loose reverse-path filtering: packets may return by another path; only unroutable source addresses are dropped. */
export async function loosenReversePath(device: string): Promise<void> {
  await writeFile(`/proc/sys/net/ipv4/conf/${device}/rp_filter`, '2');
}

/**
 * Runs an nft transaction passed as an argument: nft cannot read the sockets that Node gives to children. Throws an
 * Error with its output.
 */
export async function applyRuleset(ruleset: object): Promise<void> {
  await execute('nft', ['-j', JSON.stringify(ruleset)], LIMITS).catch((error: unknown) => {
    const errors = error instanceof Error && 'stderr' in error ? String(error.stderr) : messageOf(error);
    throw new Error(`nft refused the rules: ${errors.trim().slice(0, 1_000)}`, { cause: error });
  });
}

/** A table as nft lists it, without counters; undefined when it does not exist. */
export async function readTable(table: string): Promise<string | undefined> {
  const answer = await execute('nft', ['-j', 'list', 'table', 'ip', table], LIMITS).catch(() => undefined);
  return answer?.stdout.replace(/"handle": ?\d+/g, '');
}

async function readJson<T>(program: string, args: readonly string[]): Promise<T> {
  const { stdout } = await execute(program, [...args], LIMITS);
  return JSON.parse(stdout.trim() === '' ? '[]' : stdout) as T;
}
