import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isGone, ownIncarnation } from '../../../process/incarnation.ts';

const onLinux = process.platform === 'linux' ? {} : { skip: 'only Linux tells' };

describe('an incarnation', () => {
  it('is not gone while its process runs', () => {
    assert.equal(isGone(ownIncarnation()), false);
  });

  it('is gone when its process has ended, also when its id was given to another', onLinux, async () => {
    const file = fileURLToPath(new URL('../../../process/incarnation.js', import.meta.url));
    const child = spawn(process.execPath, [
      '--input-type=module', '-e',
      `process.stdout.write((await import(${JSON.stringify(file)})).ownIncarnation()); setTimeout(() => {}, 60_000)`,
    ]);
    const [name] = (await once(child.stdout, 'data')) as [Buffer];
    assert.equal(isGone(String(name)), false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(isGone(String(name)), true);
    assert.equal(isGone(ownIncarnation().replace(/-\d+$/, '-1')), true);
  });

  for (const elsewhere of ['', 'host', 'host_0123456789abcdef', 'host_0123456789ab-1-1', 'x_y-1-2']) {
    it(`is not taken for gone when nobody here can know: "${elsewhere}"`, () => assert.equal(isGone(elsewhere), false));
  }
});
