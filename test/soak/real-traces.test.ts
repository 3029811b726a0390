// `npm run soak -- real-nodes`: a sandbox with real nodes that is killed leaves nothing on the machine once it is taken
// down: no process, interface, route, cgroup or folder, and every setting of the kernel as before.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { isAlive } from '../../process/programs/process-identity.ts';
import type { SandboxRecord } from '../../sandbox/sandbox-record.ts';

const run = promisify(execFile);
const COMMAND = join(import.meta.dirname, '..', '..', 'cli', 'main.js');
const SETTINGS = [
  'fs/inotify/max_user_instances', 'vm/overcommit_memory', 'kernel/panic', 'kernel/panic_on_oops', 'net/ipv4/ip_forward',
];

let parent = '';
let dir = '';

before(async () => {
  parent = await mkdtemp(join(tmpdir(), 'real-traces-'));
  dir = join(parent, 'sandbox');
});
after(async () => {
  await sandbox('down');
  await rm(parent, { recursive: true, force: true });
});

async function sandbox(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [COMMAND, 'sandbox', ...args, '--dir', dir]);
  return stdout;
}

function settings(): Promise<readonly string[]> {
  return Promise.all(SETTINGS.map((name) => readFile(join('/proc/sys', name), 'utf8')));
}

/** Which of the names are there: interfaces of this machine, and cgroups in any hierarchy. */
async function traces({ interfaces, cgroups }: NonNullable<SandboxRecord['traces']>): Promise<readonly string[]> {
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

describe('a sandbox with real nodes that was killed', () => {
  it('is cleared away', async () => {
    const before = await settings();
    await sandbox('up', '--targets', '1', '--nodes', 'real', '--bare', '--detach');
    const record = JSON.parse(await readFile(join(dir, 'sandbox.json'), 'utf8')) as SandboxRecord;
    const named = record.traces;
    assert.ok(named !== undefined);
    assert.deepEqual(await traces(named), [...named.interfaces, ...named.cgroups], 'while it runs all of it is there');
    process.kill(record.supervisor.pid, 'SIGKILL');
    assert.match(await sandbox('down'), /had died/);
    assert.deepEqual(await traces(named), []);
    const alive = await Promise.all(record.processes.map(isAlive));
    assert.deepEqual(record.processes.filter((_, index) => alive[index]), []);
    assert.deepEqual(await settings(), before);
    assert.deepEqual(await readdir(parent), []);
  });
});
