import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { customResourceDefinitions } from '../../../../manifests/objects/crds.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';
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

/** The text of the files of an archive, and the calls that were made for it. */
async function bundled(
  t: TestContext, ...given: Parameters<typeof AnsweringApiServer.start>
): Promise<{ readonly text: string; readonly calls: readonly string[] }> {
  const server = await AnsweringApiServer.start(...given);
  t.after(() => server.stop());
  const folder = await mkdtemp(join(tmpdir(), 'isthmus-bundle-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'bundle.tar.gz');
  const { code, stderr } = await isthmusHere('bundle', '--output', path, '--kubeconfig', await server.kubeconfig());
  assert.equal(code, 0, stderr);
  return { text: gunzipSync(await readFile(path)).toString('utf8'), calls: server.calls };
}

it('isthmus bundle has all our kinds, and our pods with the log of our container beside one of a mesh', async (t) => {
  const pod = {
    metadata: { namespace: 'isthmus-system', name: 'isthmus-scheduler-x', uid: 'x', resourceVersion: '1' },
    spec: { containers: [{ name: 'istio-proxy' }, { name: 'isthmus' }] },
    status: { containerStatuses: [{ name: 'isthmus', lastState: { terminated: { reason: 'OOMKilled' } } }] },
  };
  const { text, calls } = await bundled(t, servedSource([], { pods: [pod] }));
  assert.match(text, /source\/own-pods\.yaml[^]*reason: OOMKilled/);
  const logs = calls.flatMap((call) => /pods\/(.*\/log\?.*)&tail/.exec(call)?.[1] ?? []);
  assert.deepEqual(logs, ['isthmus-scheduler-x/log?container=isthmus']);
  const files = new Set([...text.matchAll(/source\/(\w+)\./g)].map(([, plural]) => plural));
  const kinds = customResourceDefinitions().map(({ spec: { names } }) => names.plural);
  assert.deepEqual(kinds.filter((plural) => !files.has(plural)), []);
});

it('isthmus bundle says why it has no pods and no logs of ours', async (t) => {
  const { text } = await bundled(t, (_method, { pathname }) => {
    if (pathname.endsWith('/kube-system')) return [200, { metadata: { name: 'kube-system', uid: 'u' } }];
    if (pathname.endsWith('/pods')) return [403, status(403, 'Forbidden', 'pods is forbidden: User "eve"')];
    return [200, { kind: 'List', metadata: {}, items: [] }];
  });
  assert.match(text, /source\/own-pods\.yaml[^]*# pods is forbidden: User "eve"/);
});
