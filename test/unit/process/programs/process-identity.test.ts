// Processes named by id and start time.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import {
  identify, isAlive, signalGroup, startTimeOfStat, stateOfStat, waitForEnd,
} from '../../../../process/programs/process-identity.ts';

describe('the text of /proc/PID/stat', () => {
  const fields = Array.from({ length: 50 }, (_, index) => String(index + 4)).join(' ');
  for (const name of ['node', 'a b', 'odd) R 1 (name']) {
    it(`is read right for a process named ${name}`, () => {
      assert.equal(startTimeOfStat(`17 (${name}) S ${fields}`), '22');
      assert.equal(stateOfStat(`17 (${name}) S ${fields}`), 'S');
    });
  }
});

describe('identify', () => {
  it('finds this process, the same each time', async () => {
    const self = await identify(process.pid);
    assert.deepEqual(await identify(process.pid), self);
    assert.ok(self !== undefined && (await isAlive(self)));
  });

  it('finds no process under an id that none has', async () => assert.equal(await identify(2 ** 30), undefined));

  it('knows that a process ended, and signals nothing then', async () => {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    await once(child, 'spawn');
    const identity = (await identify(child.pid!))!;
    assert.ok(await isAlive(identity));
    assert.ok(signalGroup(identity.pid, 'SIGKILL'));
    await once(child, 'exit');
    assert.equal(await isAlive(identity), false);
    assert.equal(signalGroup(identity.pid, 'SIGKILL'), false);
  });

  it('waits for the end of a process that was told to end, and no longer than it was asked to', async () => {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    await once(child, 'spawn');
    const identity = (await identify(child.pid!))!;
    const never = new AbortController().signal;
    assert.equal(await waitForEnd(identity, 0, never), false);
    const ended = waitForEnd(identity, 30_000, never);
    signalGroup(identity.pid, 'SIGKILL');
    assert.equal(await ended, true);
    await assert.rejects(
      waitForEnd((await identify(process.pid))!, 30_000, AbortSignal.abort(new Error('changed my mind'))),
    );
  });

  it('does not take another process with the same id for it', async () => {
    assert.equal(await isAlive({ pid: process.pid, startTime: 'another time' }), false);
  });
});
