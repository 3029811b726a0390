// The record of a sandbox in its folder: who may have the folder, and what may be removed.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import {
  claimDirectory,
  foldersBetween,
  ownNames,
  parseRecord,
  readRecord,
  removeFiles,
  removeFolders,
  writeRecord,
  type SandboxRecord,
} from '../../../sandbox/sandbox-record.ts';
import { stopSandbox } from '../../../sandbox/stop-sandbox.ts';

const never = new AbortController().signal;
const nobody = { pid: process.pid, startTime: 'long ago' };
let base = '';

const inFolder = (): void => {
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'isthmus-record-'));
  });
  afterEach(() => rm(base, { recursive: true, force: true }));
};

async function leaveDeadSandbox(directory: string, madeFolders: readonly string[]): Promise<void> {
  const record: SandboxRecord = {
    state: 'ready', supervisor: nobody, clusters: [], processes: [{ ...nobody, cluster: 'source', component: 'etcd' }],
    madeFolders, ownNames: ownNames(1),
  };
  await mkdir(join(directory, 'source'), { recursive: true });
  await writeFile(join(directory, 'source.kubeconfig'), 'stale');
  await writeRecord(directory, record);
}

describe('claimDirectory', () => {
  inFolder();
  it('makes the folder, records its owner and takes all back', async () => {
    const directory = join(base, 'deep', 'sandbox');
    const record = await claimDirectory(directory, 1, never);
    assert.deepEqual(await readdir(directory), ['sandbox.json']);
    assert.equal((await readRecord(directory))?.supervisor.pid, process.pid);
    await removeFiles(directory, record);
    await removeFolders(record);
    assert.deepEqual(await readdir(base), []);
  });

  it('refuses a folder in which a sandbox runs, and says how to stop it', async () => {
    await claimDirectory(base, 1, never);
    await assert.rejects(
      claimDirectory(base, 1, never), { code: 'BadInput', message: /already runs in .* sandbox down --dir/ },
    );
  });

  it('clears away a dead sandbox, but no process that only has its id', async () => {
    await leaveDeadSandbox(base, []);
    await claimDirectory(base, 1, never);
    assert.deepEqual(await readdir(base), ['sandbox.json']);
  });

  it('refuses to mix with files that no sandbox made, and leaves them', async () => {
    await writeFile(join(base, 'source.kubeconfig'), 'precious');
    await assert.rejects(
      claimDirectory(base, 1, never), { code: 'BadInput', message: /already holds source\.kubeconfig/ },
    );
    assert.deepEqual(await readdir(base), ['source.kubeconfig']);
  });

  it('refuses a record that is none', async () => {
    await writeFile(join(base, 'sandbox.json'), '{"processes":[{"pid":1}]}');
    await assert.rejects(claimDirectory(base, 1, never), { code: 'BadInput', message: /not the record of a sandbox/ });
  });

  it('leaves what others put into the folder', async () => {
    const directory = join(base, 'sandbox');
    const record = await claimDirectory(directory, 1, never);
    await writeFile(join(directory, 'notes.txt'), 'mine');
    await removeFiles(directory, record);
    await removeFolders(record);
    assert.deepEqual(await readdir(directory), ['notes.txt']);
  });
});

describe('stopSandbox', () => {
  inFolder();
  it('says when there is nothing', async () => assert.equal(await stopSandbox(base, never), 'nothing-there'));

  it('says when there is not even a folder', async () => assert.equal(
    await stopSandbox(join(base, 'none'), never), 'nothing-there',
  ));

  it('clears away a dead sandbox with the folder it made', async () => {
    const directory = join(base, 'sandbox');
    await leaveDeadSandbox(directory, [directory]);
    assert.equal(await stopSandbox(directory, never), 'cleared');
    assert.deepEqual(await readdir(base), []);
  });
});

describe('parseRecord', () => {
  const good = { state: 'ready', supervisor: nobody, clusters: [], processes: [], madeFolders: [], ownNames: [] };
  it('reads what was written', () => assert.deepEqual(parseRecord(JSON.stringify(good)), good));
  const bad: readonly (readonly [string, unknown])[] = [
    ['nothing', null],
    ['a list', []],
    ['no supervisor', { ...good, supervisor: undefined }],
    ['process 1, which is never ours', { ...good, processes: [{ pid: 1, startTime: '0' }] }],
    ['a negative process id, which would mean a group', { ...good, processes: [{ pid: -7, startTime: '0' }] }],
    ['no list of names', { ...good, ownNames: 'source' }],
  ];
  for (const [what, value] of bad) {
    it(`refuses ${what}`, () => assert.equal(parseRecord(JSON.stringify(value)), undefined));
  }
  it('refuses half a file', () => assert.equal(parseRecord('{"state":'), undefined));
});

describe('foldersBetween', () => {
  it('lists from the deepest up', () => assert.deepEqual(foldersBetween('/a/b/c', '/a'), ['/a/b/c', '/a/b', '/a']));
  it('is the folder itself when only that was made', () => assert.deepEqual(foldersBetween('/a/b', '/a/b'), ['/a/b']));
});
