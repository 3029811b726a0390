// The WireGuard program as a child process that hangs: a program of the test's own stands in for it.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WireguardProcess } from '../../../../pod-plane/wireguard/wireguard-process.ts';

it('a program that does not answer is ended: no interface stays, nor is a late answer taken for another', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-wireguard-'));
  t.after(() => rm(folder, { recursive: true }));
  const program = join(folder, 'hangs');
  await writeFile(program, '#!/bin/sh\nexec sleep 600\n');
  await chmod(program, 0o700);
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
