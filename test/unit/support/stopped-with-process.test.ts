import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';

const MODULE = new URL('../../support/processes/stopped-with-process.js', import.meta.url).href;
const SCRIPT = `
  const { once } = await import('node:events');
  const { stopWithProcess } = await import(${JSON.stringify(MODULE)});
  for (const name of ['one', 'other']) stopWithProcess(async () => {
    const again = once(process, 'SIGTERM');
    process.send('stopping');
    await again;
    console.log(name);
  });
  setInterval(() => undefined, 60_000);
  process.send('ready');
`;

for (const [signal, code] of [['SIGTERM', 143], ['SIGINT', 130]] as const) {
  it(`what a test has started is stopped by ${signal}, once, before its process ends`, async () => {
    const child = spawn(
      process.execPath, ['--input-type=module', '--eval', SCRIPT], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
    );
    const [printed, ended] = [text(child.stdout!), once(child, 'exit')];
    await once(child, 'message');
    child.kill(signal);
    await once(child, 'message'); // of two signals that wait at once any may come first
    child.kill('SIGTERM');
    assert.deepEqual([(await printed).trim().split('\n').toSorted(), (await ended)[0]], [['one', 'other'], code]);
  });
}
