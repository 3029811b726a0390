import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import type { Pod } from '../../../../api/objects/core.ts';
import { withPodBackup } from '../../../../cli/pods/pod-backup.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { AppError } from '../../../../process/errors.ts';

const POD: Pod = {
  apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ns', name: 'web' },
  spec: { containers: [{ name: 'main', image: 'i' }] },
};

/** Runs it; gives where the manifest was, and what was thrown. */
async function keep(
  make: (path: string) => Promise<void>, remove: () => Promise<void> = async () => undefined,
): Promise<{ readonly path: string; readonly error: unknown }> {
  let path = '';
  const tell = (line: string) => (path = / in (\S+) until /.exec(line)?.[1] ?? '');
  const error = await withPodBackup(POD, tell, { remove, make: () => make(path) }).then(
    () => undefined, (thrown: unknown) => thrown,
  );
  return { path, error };
}

describe('withPodBackup', () => {
  it('has the manifest in a file of this user alone while the work lasts, and takes it away after it', async () => {
    const { path, error } = await keep(async (at) => {
      assert.deepEqual(JSON.parse(await readFile(at, 'utf8')), POD);
      assert.equal((await stat(at)).mode & 0o777, 0o600);
      assert.equal((await stat(dirname(at))).mode & 0o777, 0o700);
    });
    assert.equal(error, undefined);
    assert.equal(existsSync(dirname(path)), false);
  });

  it('leaves nothing behind where the pod may not be deleted: it is still there', async () => {
    const refusal = new ApiError(403, 'Forbidden', 'pods "web" is forbidden');
    const { path, error } = await keep(() => assert.fail('it is not made'), () => Promise.reject(refusal));
    assert.deepEqual([error, existsSync(dirname(path))], [refusal, false]);
  });

  it('leaves it there where the pod may have been deleted: no answer, or no pod any more', async () => {
    for (const thrown of [new Error('no answer'), new ApiError(404, 'NotFound', 'it has gone')]) {
      const { path } = await keep(() => assert.fail('it is not made'), () => Promise.reject(thrown));
      assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), POD);
      await rm(dirname(path), { recursive: true });
    }
  });

  for (
    const [thrown, code] of [
      [new AppError('Timeout', 'It has not gone.'), 'Timeout'], [new Error('quota is used up'), 'NotRecreated'],
    ] as const
  ) {
    it(`leaves it there and says how the pod is made from it after: ${thrown.message}`, async () => {
      const { path, error } = await keep(() => Promise.reject(thrown));
      assert(error instanceof AppError);
      assert.equal(error.code, code);
      assert.equal(error.cause, thrown);
      assert.ok(
        error.message.startsWith(thrown.message) && error.message.includes(`kubectl create -f ${path}`), error.message,
      );
      assert.deepEqual(JSON.parse(await readFile(path, 'utf8')), POD);
      await rm(dirname(path), { recursive: true });
    });
  }
});
