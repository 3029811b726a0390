import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isInstanceGone, ownInstanceId } from '../../../process/instance-id.ts';

const onLinux = process.platform === 'linux' ? {} : { skip: 'only Linux tells' };

describe('an instance ID', () => {
  it('is not gone while its process runs', () => {
    assert.equal(isInstanceGone(ownInstanceId()), false);
  });

  it('is gone when its process has ended, also when its id was given to another', onLinux, async () => {
    const file = fileURLToPath(new URL('../../../process/instance-id.js', import.meta.url));
    const child = spawn(process.execPath, [
      '--input-type=module', '-e',
      `process.stdout.write((await import(${JSON.stringify(file)})).ownInstanceId()); setTimeout(() => {}, 60_000)`,
    ]);
    const [name] = (await once(child.stdout, 'data')) as [Buffer];
    assert.equal(isInstanceGone(String(name)), false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(isInstanceGone(String(name)), true);
    assert.equal(isInstanceGone(ownInstanceId().replace(/-\d+$/, '-1')), true);
  });

  for (const elsewhere of ['', 'host', 'host_0123456789abcdef', 'host_0123456789ab-1-1', 'x_y-1-2']) {
    it(`is not taken for gone when nobody here can know: "${elsewhere}"`, () => {
      assert.equal(isInstanceGone(elsewhere), false);
    });
  }
});
