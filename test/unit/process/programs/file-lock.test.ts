// A lock file between processes: one owner at a time, and no lock outlives its owner.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { acquireLock, createExclusively, parseOwner } from '../../../../process/programs/file-lock.ts';
import { identify } from '../../../../process/programs/process-identity.ts';

let folder = '';
let path = '';
const never = new AbortController().signal;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-lock-'));
});
const inFolder = (): void => {
  beforeEach(async () => {
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    path = join(folder, 'build.lock');
  });
};
after(() => rm(folder, { recursive: true, force: true }));

/** The identity of a process that has ended, so that no process has it any more. */
async function deadOwner(): Promise<string> {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  const identity = await identify(child.pid!);
  child.stdin.end();
  await once(child, 'exit');
  return JSON.stringify(identity);
}

describe('acquireLock', () => {
  inFolder();
  it('names its owner in the file and leaves nothing behind', async () => {
    const lock = await acquireLock(path, {}, never);
    assert.equal(parseOwner(await readFile(path, 'utf8'))?.pid, process.pid);
    await lock.release();
    assert.deepEqual(await readdir(folder), []);
  });

  it('makes the second wait for the first, and tells it once for whom', async () => {
    const first = await acquireLock(path, {}, never);
    const waitedFor: number[] = [];
    const events = new EventEmitter();
    const told = once(events, 'waiting');
    const second = acquireLock(
      path,
      {
        pollMs: 5,
        onWait: (pid) => {
          waitedFor.push(pid);
          events.emit('waiting');
        },
      },
      never,
    );
    await told;
    await first.release();
    await (await second).release();
    assert.deepEqual(waitedFor, [process.pid]);
  });

  it('takes over the lock of a dead process without waiting', async () => {
    await writeFile(path, await deadOwner());
    const lock = await acquireLock(path, { onWait: () => assert.fail('waited for a dead process') }, never);
    assert.equal(parseOwner(await readFile(path, 'utf8'))?.pid, process.pid);
    await lock.release();
  });

  it('takes over a lock whose process id now means another process', async () => {
    await writeFile(path, JSON.stringify({ pid: process.pid, startTime: 'long ago' }));
    await (await acquireLock(path, { onWait: () => assert.fail('waited for a stranger') }, never)).release();
  });

  it('takes over a lock file that names nobody', async () => {
    await writeFile(path, '');
    await (await acquireLock(path, {}, never)).release();
  });

  it('lets one at a time in, also when many take over the same dead lock', async () => {
    await writeFile(path, await deadOwner());
    let inside = 0;
    let most = 0;
    const enter = async (): Promise<void> => {
      const lock = await acquireLock(path, { pollMs: 2 }, never);
      inside += 1;
      most = Math.max(most, inside);
      await readdir(folder);
      inside -= 1;
      await lock.release();
    };
    await Promise.all(Array.from({ length: 12 }, enter));
    assert.equal(most, 1);
    assert.deepEqual(await readdir(folder), []);
  });

  it('stops waiting when the signal aborts', async () => {
    const lock = await acquireLock(path, {}, never);
    const controller = new AbortController();
    const waiting =
      acquireLock(path, { pollMs: 5, onWait: () => controller.abort(new Error('enough')) }, controller.signal);
    await assert.rejects(waiting);
    await lock.release();
  });
});

describe('createExclusively', () => {
  inFolder();
  it('creates once and never overwrites', async () => {
    assert.equal(await createExclusively(path, 'one'), true);
    assert.equal(await createExclusively(path, 'two'), false);
    assert.equal(await readFile(path, 'utf8'), 'one');
    assert.deepEqual(await readdir(folder), ['build.lock']);
  });
});

describe('parseOwner', () => {
  for (const text of ['', 'null', '7', '{}', '{"pid":0,"startTime":"1"}', '{"pid":1.5,"startTime":"1"}', '{"pid":7}']) {
    it(`finds nobody in ${JSON.stringify(text)}`, () => assert.equal(parseOwner(text), undefined));
  }
});
