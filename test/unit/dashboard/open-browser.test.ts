import assert from 'node:assert/strict';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openBrowser } from '../../../dashboard/open-browser.ts';

const ADDRESS = 'http://127.0.0.1:8470/targets#key=one-time-key';

describe('opening the browser', () => {
  const path = process.env['PATH'];
  let dir: string;

  /** An opener that writes its arguments into a file at once. */
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'opener-'));
    const script = `printf %s "$*" > ${dir}/said.new && mv ${dir}/said.new ${dir}/said`;
    await writeFile(join(dir, 'xdg-open'), `#!/bin/sh\n${script}\n`);
    await chmod(join(dir, 'xdg-open'), 0o755);
    process.env['PATH'] = `${dir}:${path}`;
  });
  after(async () => {
    process.env['PATH'] = path;
    await rm(dir, { recursive: true });
  });

  async function said(): Promise<string> {
    for (;;) {
      const text = await readFile(join(dir, 'said'), 'utf8').catch(() => undefined);
      if (text !== undefined) return text;
    }
  }

  it('tells it a file that only this user can read, and not the key, which every user could see', async () => {
    const { isStarted, forget } = await openBrowser(ADDRESS, 'linux');
    assert.equal(isStarted, true);
    const file = await said();
    assert.ok(!file.includes('key'), file);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(dirname(file))).mode & 0o777, 0o700);
    assert.ok((await readFile(file, 'utf8')).includes(ADDRESS));
    await forget();
    await assert.rejects(stat(file));
  });

  it('says when there is nothing to open it with', async () => {
    process.env['PATH'] = join(dir, 'empty');
    const missing = await openBrowser(ADDRESS, 'linux');
    process.env['PATH'] = `${dir}:${path}`;
    const unknown = await openBrowser(ADDRESS, 'sunos');
    assert.deepEqual([missing.isStarted, unknown.isStarted], [false, false]);
    await Promise.all([missing.forget(), unknown.forget()]);
  });
});
