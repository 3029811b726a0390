import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import { CredentialSource } from '../../../../kubernetes/credentials/credential-source.ts';
import { readExec } from '../../../../kubernetes/credentials/exec-credential.ts';
import { ExecPlugin } from '../../../../kubernetes/credentials/exec-plugin.ts';
import type { RunOutcome } from '../../../../process/programs/bounded-run.ts';
import type { ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import type { Credentials } from '../../../../kubernetes/credentials/kubeconfig-user.ts';

const MAX_AGE_MS = TRANSPORT_TIMINGS.credentialsMaxAgeMs;
const connection = (credentials: Credentials, reread?: () => Promise<ClusterConnection>): ClusterConnection => ({
  server: new URL('https://10.0.0.1:6443'), insecure: false, credentials, ...(reread !== undefined && { reread }),
});

let folder: string;
let path: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-credentials-'));
  path = join(folder, 'token');
});
after(() => rm(folder, { recursive: true }));

/** A clock that stands until it is moved. */
function standingClock(t: TestContext): { pass(ms: number): void } {
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  return {
    pass: (ms) => {
      now += ms;
    },
  };
}

describe('credentials that cannot change', () => {
  it('are read once', async (t) => {
    const clock = standingClock(t);
    const source = new CredentialSource(connection({ kind: 'token', token: 'a' }), MAX_AGE_MS);
    assert.equal(source.isDue, true);
    assert.deepEqual((await source.read()).resolved, { token: 'a' });
    clock.pass(3_600_000);
    assert.equal(source.isDue, false);
    assert.equal(await source.renew(), false);
  });

  it('are replaced by another connection at once, which counts as a change only if it qualifies', async (t) => {
    standingClock(t);
    const source = new CredentialSource(connection({ kind: 'token', token: 'a' }), MAX_AGE_MS);
    await source.read();
    source.use(connection({ kind: 'token', token: 'b' }));
    assert.equal(source.isDue, true);
    const { resolved, changed } = await source.read();
    assert.deepEqual([resolved, changed], [{ token: 'b' }, true]);
    source.use(connection({ kind: 'token', token: 'b' }));
    assert.equal((await source.read()).changed, false);
  });

  it('may be a user name and a password', async () => {
    const { resolved } =
      await new CredentialSource(connection({ kind: 'basic', username: 'u', password: 'p:w' }), MAX_AGE_MS).read();
    assert.deepEqual(resolved, { basic: 'u:p:w' });
  });
});

describe('a token file', () => {
  beforeEach(() => writeFile(path, 'one\n'));
  const ofFile = () => new CredentialSource(connection({ kind: 'token-file', path }), MAX_AGE_MS);

  it('is looked at again when its time has come, and found changed or not', async (t) => {
    const clock = standingClock(t);
    const source = ofFile();
    assert.deepEqual((await source.read()).resolved, { token: 'one' });
    clock.pass(MAX_AGE_MS - 1);
    assert.equal(source.isDue, false);
    clock.pass(1);
    assert.equal(source.isDue, true);
    assert.equal((await source.read()).changed, false);
    await writeFile(path, 'two');
    clock.pass(MAX_AGE_MS);
    const { resolved, changed } = await source.read();
    assert.deepEqual([resolved, changed], [{ token: 'two' }, true]);
  });

  it('is read at once when the server does not accept it, but not again and again', async (t) => {
    const clock = standingClock(t);
    const source = ofFile();
    await source.read();
    assert.equal(await source.renew(), false, 'the file holds what was refused');
    await writeFile(path, 'two');
    assert.equal(await source.renew(), false, 'it was just looked at');
    clock.pass(MAX_AGE_MS);
    assert.equal(await source.renew(), true);
    assert.equal(source.isDue, true);
    assert.deepEqual((await source.read()).resolved, { token: 'two' });
  });

  it('is read once for all calls that the server rejects, also for one that hears of it later', async (t) => {
    const clock = standingClock(t);
    const source = ofFile();
    await source.read();
    await writeFile(path, 'two');
    clock.pass(MAX_AGE_MS);
    assert.deepEqual(await Promise.all([source.renew(), source.renew()]), [true, true]);
    assert.equal((await source.read()).changed, true);
    assert.equal(await source.renew(), true);
    assert.equal(source.isDue, false, 'it was not read again');
  });

  it('that is missing fails the read, and helps no renewal', async (t) => {
    const clock = standingClock(t);
    const source = ofFile();
    await source.read();
    await rm(path);
    clock.pass(MAX_AGE_MS);
    assert.equal(await source.renew(), false);
    await assert.rejects(source.read(), { code: 'CredentialsUnavailable' });
  });

  it('says why there are no credentials, until there are', async (t) => {
    const clock = standingClock(t);
    const source = ofFile();
    const told: (string | undefined)[] = [];
    source.onProblem = () => void told.push(source.problem);
    await source.read();
    assert.deepEqual(told, []);
    await rm(path);
    for (let read = 0; read < 2; read += 1) {
      clock.pass(MAX_AGE_MS);
      await assert.rejects(source.read());
    }
    await writeFile(path, 'two');
    await source.read();
    assert.deepEqual(
      told, [`the token file ${path} gives no credentials: it cannot be read: no such file or directory`, undefined],
    );
  });
});

describe('a kubeconfig that is read again', () => {
  it('keeps the connection while it cannot be read, as when it is just being written', async () => {
    let next: () => Promise<ClusterConnection> = () => Promise.reject(new Error('half a file'));
    const source = new CredentialSource(connection({ kind: 'token', token: 'a' }, () => next()), MAX_AGE_MS);
    assert.deepEqual((await source.read()).resolved, { token: 'a' });
    next = async () => connection({ kind: 'token', token: 'b' });
    const { resolved, changed } = await source.read();
    assert.deepEqual([resolved, changed], [{ token: 'b' }, true]);
  });

  it('gives way to a connection that is given while it is read', async () => {
    const source: CredentialSource = new CredentialSource(connection({ kind: 'none' }, async () => {
      source.use(connection({ kind: 'token', token: 'given' }));
      return connection({ kind: 'token', token: 'read' });
    }), MAX_AGE_MS);
    assert.deepEqual((await source.read()).resolved, { token: 'given' });
    assert.equal(source.isDue, false);
  });

  it('is a change when only the server or its authority is another one', async () => {
    let server = 'https://10.0.0.1';
    const current = (): ClusterConnection =>
      ({ ...connection({ kind: 'token', token: 'a' }, async () => current()), server: new URL(server) });
    const source = new CredentialSource(current(), MAX_AGE_MS);
    await source.read();
    assert.equal((await source.read()).changed, false);
    server = 'https://10.0.0.2';
    assert.equal((await source.read()).changed, true);
  });
});

describe('an exec plugin', () => {
  /** One that gives these tokens one after the other. */
  function plugin(...tokens: readonly string[]): ExecPlugin {
    const apiVersion = 'client.authentication.k8s.io/v1';
    const exec = readExec({ apiVersion, command: 'aws', interactiveMode: 'Never' }, {}, undefined);
    const left = [...tokens];
    const run = async (): Promise<RunOutcome> => ({
      kind: 'ended', code: 0,
      output: JSON.stringify({ apiVersion, kind: 'ExecCredential', status: { token: left.shift() ?? 'last' } }),
    });
    const place = { env: {}, atTerminal: false, isInteractive: false };
    return new ExecPlugin(exec, place, { run, now: () => performance.now() });
  }

  it('is asked again when the server does not accept what it gave', async (t) => {
    const clock = standingClock(t);
    const source = new CredentialSource(connection({ kind: 'exec', plugin: plugin('one', 'two') }), MAX_AGE_MS);
    assert.deepEqual((await source.read()).resolved, { token: 'one' });
    clock.pass(MAX_AGE_MS);
    assert.equal(source.isDue, true);
    assert.equal((await source.read()).changed, false, 'what it gave still holds');
    assert.equal(await source.renew(), true);
    const { resolved, changed } = await source.read();
    assert.deepEqual([resolved, changed], [{ token: 'two' }, true]);
  });

  it('is killed with the connection', async () => {
    const one = plugin();
    let stopped = 0;
    one.stop = () => void (stopped += 1);
    new CredentialSource(connection({ kind: 'exec', plugin: one }), MAX_AGE_MS).close();
    assert.equal(stopped, 1);
  });
});
