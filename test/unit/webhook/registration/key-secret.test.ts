// The Secret that all replicas of the webhook share: no replica undoes what another one wrote.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pino } from 'pino';
import { WEBHOOK_CERTIFICATES_SECRET } from '../../../../api/objects/own-names.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { keyNamespace } from '../../../../model/access/key-namespace.ts';
import { AppError } from '../../../../process/errors.ts';
import {
  keySecretSelection, logUnreadable, writeKeySecret,
} from '../../../../webhook/registration/key-secret.ts';

const AT = { namespace: keyNamespace('isthmus'), name: WEBHOOK_CERTIFICATES_SECRET };
const { signal } = new AbortController();
const data = { 'tls.key': 'a2V5' };

/** A client that answers every write so, and what was written. */
function aClient(answer: Error | undefined) {
  const written: { readonly call: string; readonly what: unknown }[] = [];
  const answering = (call: string) => async (_type: unknown, ...rest: readonly unknown[]) => {
    written.push({ call, what: rest.slice(0, -1) });
    if (answer !== undefined) throw answer;
  };
  return { client: { create: answering('create'), patch: answering('patch') } as unknown as ClusterClient, written };
}

const write = (answer: Error | undefined, resourceVersion: string) => {
  const { client, written } = aClient(answer);
  return { written, done: writeKeySecret({ client, installNamespace: 'isthmus' }, { data, resourceVersion }, signal) };
};

describe('keys that are written', () => {
  it('are created where there were none: a second replica that tries so too is told that it exists', async () => {
    const { written, done } = write(undefined, '');
    assert.equal(await done, true);
    assert.equal(written[0]?.call, 'create');
  });
  it('replace those of the version that was read, and of no other', async () => {
    const { written, done } = write(undefined, '17');
    assert.equal(await done, true);
    assert.deepEqual(written, [{
      call: 'patch', what: [AT, { patchType: 'merge', patch: { metadata: { resourceVersion: '17' }, data } }],
    }]);
  });
  it('are not written when another replica was first, and that is no error', async () => {
    assert.equal(await write(new ApiError(409, 'AlreadyExists', '-'), '').done, false);
    assert.equal(await write(new ApiError(409, 'Conflict', '-'), '17').done, false);
  });
  it('need a namespace, and whoever upgraded without it is told what to do', async () => {
    await assert.rejects(write(new ApiError(404, 'NotFound', '-'), '').done, (error) =>
      error instanceof AppError && error.code === 'NotFound' && error.message.includes(AT.namespace)
        && error.message.includes('isthmus install'));
  });
  it('are not taken for a missing namespace when the Secret was deleted meanwhile', async () => {
    const gone = new ApiError(404, 'NotFound', '-');
    await assert.rejects(write(gone, '17').done, (error) => error === gone);
  });
  it('fail with any other error as it is', async () => {
    for (const error of [new ApiError(403, 'Forbidden', '-'), new Error('timeout')]) {
      await assert.rejects(write(error, '').done, (thrown) => thrown === error);
    }
  });
});

describe('the Secret of keys', () => {
  it('is watched by its name in its own namespace, where no other component reads', () => assert.deepEqual(
    keySecretSelection('isthmus'), { namespace: AT.namespace, fieldSelector: `metadata.name=${AT.name}` },
  ));
  it('that may not be read is logged with what to do, and other trouble is left to the watch', () => {
    const lines: string[] = [];
    const told = logUnreadable('isthmus', pino({}, { write: (line: string) => void lines.push(line) }));
    told({ kind: 'open' });
    told({ kind: 'broken', error: new Error('timeout') });
    assert.deepEqual(lines, []);
    told({ kind: 'broken', error: new ApiError(403, 'Forbidden', 'secrets is forbidden') });
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /isthmus install/);
  });
});
