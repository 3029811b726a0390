// The WireGuard program as a child process that hangs: a program of the test's own stands in for it.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, mock, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WireguardProcess } from '../../../../pod-plane/wireguard/wireguard-process.ts';

async function madeProgram(t: TestContext, lines: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-wireguard-'));
  t.after(() => rm(folder, { recursive: true }));
  const program = join(folder, 'hangs');
  await writeFile(program, `#!/bin/sh\n${lines}exec sleep 600\n`);
  await chmod(program, 0o700);
  return program;
}

it('a program that does not answer is ended: no interface stays, nor is a late answer taken for another', async (t) => {
  const program = await madeProgram(t, '');
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let hasEnded: (said: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (hasEnded = resolve));
  const starting =
    WireguardProcess.start({ program, interfaceName: 'none', mtu: 1_420, ended: (said) => hasEnded(said) });
  const failed = assert.rejects(starting, /WireGuard does not answer/);
  await nextTurn();
  mock.timers.tick(5_000);
  await failed;
  await ended;
});

it('what is asked of a program that was ended fails at once, each of the questions', async (t) => {
  const program = await madeProgram(t, "read -r line\nread -r line\nprintf 'errno=0\\n\\n'\n");
  let hasEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (hasEnded = resolve));
  const running =
    await WireguardProcess.start({ program, interfaceName: 'none', mtu: 1_420, ended: () => hasEnded() });
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const failures: string[] = [];
  for (let looks = 0; looks < 3; looks += 1) void running.peers().catch(({ message }) => failures.push(message));
  await nextTurn();
  mock.timers.tick(5_000);
  await ended;
  await nextTurn();
  assert.deepEqual(failures.map((failure) => failure.split(':')[0]), [
    'WireGuard does not answer', 'WireGuard has ended', 'WireGuard is not running',
  ]);
});
