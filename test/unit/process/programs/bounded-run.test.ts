import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runBounded, type BoundedRun } from '../../../../process/programs/bounded-run.ts';
import { eventually } from '../../../support/history/eventually.ts';

const folder = mkdtempSync(join(tmpdir(), 'isthmus-run-'));
after(() => rmSync(folder, { recursive: true }));

const NEVER = new AbortController().signal;
const script = (text: string, more: Partial<BoundedRun> = {}): BoundedRun => ({
  command: '/bin/sh', args: ['-c', text], env: { PATH: '/usr/bin:/bin' }, timeoutMs: 60_000, maxBytes: 1_000,
  atTerminal: false, ...more,
});
/** A script that starts a program which writes its number into a file and goes on, and waits for it. */
const withChild = (name: string): string => `sh -c 'echo $$ > ${join(folder, name)}; exec sleep 600' & wait`;

function numberIn(name: string): string {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}

/** Waits until the program that wrote its number there has ended. */
async function untilEnded(name: string): Promise<void> {
  const pid = numberIn(name);
  assert.match(pid, /^\d+$/);
  await eventually(`${name} has ended`, async () => hasEnded(pid));
}

/** A zombie has ended: its parent has not asked yet. */
function hasEnded(pid: string): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

describe('a bounded run', () => {
  it('gives what the program printed, and its exit code', async () => {
    const run = script('echo out; echo err >&2');
    assert.deepEqual(await runBounded(run, NEVER), { kind: 'ended', code: 0, output: 'out\n' });
    assert.deepEqual(await runBounded(script('exit 7'), NEVER), { kind: 'ended', code: 7, output: '' });
  });

  it('passes the environment that it is given, and nothing of its own', async () => {
    const env = { PATH: '/usr/bin:/bin', A: '1' };
    const outcome = await runBounded(script('env | cut -d= -f1 | sort', { env }), NEVER);
    const names = outcome.kind === 'ended' ? outcome.output.trim().split('\n') : [];
    assert.deepEqual(names.filter((name) => !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name)), ['A', 'PATH']);
  });

  it('starts no shell: arguments are what they are', async () => {
    const run = script('', { command: 'echo', args: ['$(id)', ';', 'a b'] });
    assert.deepEqual(await runBounded(run, NEVER), { kind: 'ended', code: 0, output: '$(id) ; a b\n' });
  });

  it('gives nothing to read', async () => {
    assert.deepEqual(await runBounded(script('cat'), NEVER), { kind: 'ended', code: 0, output: '' });
  });

  it('says why a program does not start', async () => {
    const text = join(folder, 'text');
    writeFileSync(text, 'hello', { mode: 0o600 });
    for (const [command, why] of [['isthmus-no-such-program', 'ENOENT'], [text, 'EACCES']] as const) {
      assert.deepEqual(await runBounded(script('', { command }), NEVER), { kind: 'not-started', why });
    }
  });

  it('says which signal ended it', async () => {
    assert.deepEqual(await runBounded(script('kill -TERM $$'), NEVER), { kind: 'signalled', signal: 'SIGTERM' });
  });

  it('kills what takes too long, with all that it has started', async () => {
    // the program must have written its number before
    const run = script(withChild('slow'), { timeoutMs: 1_500 });
    assert.deepEqual(await runBounded(run, NEVER), { kind: 'timed-out' });
    await untilEnded('slow');
  });

  it('kills what ignores that it should end', async () => {
    assert.deepEqual(
      await runBounded(script('trap "" TERM INT HUP; while :; do sleep 1; done', { timeoutMs: 200 }), NEVER),
      { kind: 'timed-out' },
    );
  });

  it('kills what prints without end', async () => {
    const run = script('while :; do echo aaaaaaaaaaaaaaaa; done');
    assert.deepEqual(await runBounded(run, NEVER), { kind: 'printed-too-much' });
  });

  it('kills what nobody waits for any more', async () => {
    const stopped = new AbortController();
    const running = runBounded(script(withChild('unwanted')), stopped.signal);
    // the shell makes the file before it writes the number
    await eventually('the program has begun', async () => numberIn('unwanted') !== '');
    stopped.abort();
    assert.deepEqual(await running, { kind: 'aborted' });
    await untilEnded('unwanted');
    assert.deepEqual(await runBounded(script('sleep 600'), stopped.signal), { kind: 'aborted' });
  });
});
