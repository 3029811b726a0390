// A sandbox as users start it, `isthmus sandbox up --detach`, and what one with real nodes leaves on this machine.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { isAlive } from '../../../process/programs/process-identity.ts';
import type { SandboxRecord } from '../../../sandbox/sandbox-record.ts';

const run = promisify(execFile);
const COMMAND = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.js');
/** What kubelet, containerd and the sandbox itself could change. */
const SETTINGS = [
  'fs/inotify/max_user_instances', 'vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops',
  'net/ipv4/ip_forward',
];

/** The machine's own settings by their names below /proc/sys. */
async function machineSettings(): Promise<Readonly<Record<string, string>>> {
  const texts = await Promise.all(SETTINGS.map((name) => readFile(join('/proc/sys', name), 'utf8')));
  return Object.fromEntries(SETTINGS.map((name, index) => [name, texts[index]?.trim() ?? '']));
}

/** Which of the traces in a sandbox's record are there: interfaces of this machine, and cgroups in any hierarchy. */
export async function presentTraces(
  { interfaces, cgroups }: NonNullable<SandboxRecord['traces']>,
): Promise<readonly string[]> {
  const { stdout } = await run('ip', ['-j', 'link']);
  const links = (JSON.parse(stdout) as readonly { readonly ifname: string }[]).map(({ ifname }) => ifname);
  const root = '/sys/fs/cgroup';
  const places = [root, ...(await readdir(root)).map((name) => join(root, name))];
  const found = await Promise.all(cgroups.map(async (cgroup) => {
    const there = places.map((place) => access(join(place, cgroup)).then(() => true, () => false));
    return (await Promise.all(there)).includes(true) ? [cgroup] : [];
  }));
  return [...interfaces.filter((name) => links.includes(name)), ...found.flat()];
}

/** A sandbox in a folder of its own below the system's folder for such. */
export class DetachedSandbox {
  /** The sandbox's folder, which is there while it runs. */
  readonly dir: string;
  readonly #parent: string;
  readonly #settings: Readonly<Record<string, string>>;

  private constructor(parent: string, settings: Readonly<Record<string, string>>) {
    this.#parent = parent;
    this.dir = join(parent, 'sandbox');
    this.#settings = settings;
  }

  /** Notes how the machine is; nothing runs yet. */
  static async make(): Promise<DetachedSandbox> {
    return new DetachedSandbox(await mkdtemp(join(tmpdir(), 'isthmus-detached-')), await machineSettings());
  }

  /** `isthmus sandbox up --detach` with more flags; gives what it prints. Rejects when it fails. */
  async up(flags: readonly string[], onLine: (line: string) => void = () => undefined): Promise<void> {
    const args = [COMMAND, 'sandbox', 'up', '--detach', '--dir', this.dir, ...flags];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const lines: string[] = [];
    createInterface(child.stderr).on('line', (line) => {
      lines.push(line);
      onLine(line);
    });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`isthmus sandbox up ended with ${code}: ${lines.slice(-5).join('\n')}`);
  }

  /** `isthmus sandbox down`; gives what it prints. */
  async down(): Promise<string> {
    return (await run(process.execPath, [COMMAND, 'sandbox', 'down', '--dir', this.dir])).stdout;
  }

  /** What the sandbox says of itself; rejects while there is none. */
  async record(): Promise<SandboxRecord> {
    return JSON.parse(await readFile(join(this.dir, 'sandbox.json'), 'utf8')) as SandboxRecord;
  }

  /** What is left of the sandbox of a record that was taken down: nothing, or what a failure should name. */
  async leftovers({ traces, processes, supervisor }: SandboxRecord): Promise<readonly string[]> {
    const now = await machineSettings();
    const alive = await Promise.all([supervisor, ...processes].map(isAlive));
    return [
      ...(traces === undefined ? [] : await presentTraces(traces)),
      ...[supervisor, ...processes].filter((_, index) => alive[index]).map(({ pid }) => `process ${pid}`),
      ...SETTINGS.filter((name) => now[name] !== this.#settings[name]).map((name) => `${name} = ${now[name]}`),
      ...(await readdir(this.#parent)).map((name) => `file ${name}`),
    ];
  }

  /** Takes it down if it still runs, and removes the folder. */
  async remove(): Promise<void> {
    await this.down();
    await rm(this.#parent, { recursive: true, force: true });
  }
}
