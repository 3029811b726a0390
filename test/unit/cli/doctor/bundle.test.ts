import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { servedSource } from '../../../support/doubles/served-source.ts';

it('isthmus bundle writes a file that only its user can read, also over one that others can', async (t) => {
  const server = await AnsweringApiServer.start(servedSource([]));
  t.after(() => server.stop());
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-bundle-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'bundle.tar.gz');
  await writeFile(path, 'x'.repeat(1 << 20));
  await chmod(path, 0o644);
  const { code } = await isthmusHere('bundle', '--output', path, '--kubeconfig', await server.kubeconfig());
  const { mode, size } = await stat(path);
  assert.deepEqual([code, mode & 0o777, size < 1 << 20], [0, 0o600, true]);
});

it('isthmus bundle that is interrupted writes no archive', async (t) => {
  let isInterrupted = false;
  const lease = {
    get metadata() {
      if (!isInterrupted) isInterrupted = process.emit('SIGHUP');
      return { namespace: 'isthmus-system', name: 'isthmus-scheduler' };
    },
  };
  const server = await AnsweringApiServer.start(servedSource([], { leases: [lease] }));
  t.after(() => server.stop());
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-bundle-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'bundle.tar.gz');
  const { code } = await isthmusHere('bundle', '--output', path, '--kubeconfig', await server.kubeconfig());
  assert.deepEqual([isInterrupted, code, existsSync(path)], [true, 130, false]);
});
