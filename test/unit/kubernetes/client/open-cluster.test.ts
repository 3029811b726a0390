import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connectionOf, mergeKubeconfigs, userAgent } from '../../../../kubernetes/client/open-cluster.ts';
import { readKubeconfig } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { readEnvironment } from '../../../../process/config.ts';
import { AppError } from '../../../../process/errors.ts';

const kubeconfig = (name: string, current = name): string =>
  JSON.stringify({
    clusters: [{ name, cluster: { server: `https://${name}.example` } }],
    users: [{ name, user: { token: name } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': current,
  });

let folder: string;
const file = (name: string): string => join(folder, name);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-open-'));
  await mkdir(file('home/.kube'), { recursive: true });
  await writeFile(file('home/.kube/config'), kubeconfig('home'));
  await writeFile(file('a'), kubeconfig('a'));
  await writeFile(file('b'), kubeconfig('b'));
  await writeFile(file('broken'), 'clusters: []\ncurrent-context: x\n');
});

after(() => rm(folder, { recursive: true }));

const hostFor =
  async (env: NodeJS.ProcessEnv, choice: { kubeconfigPath?: string; context?: string } = {}): Promise<string> =>
  (await connectionOf(choice, readEnvironment({ HOME: file('nowhere'), ...env }))).server.host;

const isInvalid = (pattern: RegExp) =>
  (error: unknown) => error instanceof AppError && error.code === 'KubeconfigInvalid' && pattern.test(error.message);

describe('which cluster a command opens', () => {
  it('is reached through the gateway it was told, also when its file is read again, changed or not', async () => {
    const gateway = { clusterId: 'eu', endpoints: [new URL('http://127.0.0.1:8132')] };
    await writeFile(file('tunnelled'), kubeconfig('c'));
    const connection =
      await connectionOf({ kubeconfigPath: file('tunnelled'), gateway }, readEnvironment({ HOME: file('nowhere') }));
    const unchanged = await connection.reread?.();
    await writeFile(file('tunnelled'), kubeconfig('d'));
    const changed = await connection.reread?.();
    const again = await changed?.reread?.();
    assert.deepEqual([connection, unchanged, changed, again].map((one) => [one?.server.host, one?.gateway]), [
      ['c.example', gateway], ['c.example', gateway], ['d.example', gateway], ['d.example', gateway],
    ]);
  });

  it('is reached through the proxy of the environment where its kubeconfig names none, as by kubectl', async () => {
    const own = JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://c.example', 'proxy-url': 'http://own.example:1' } }],
      contexts: [{ name: 'c', context: { cluster: 'c' } }], 'current-context': 'c',
    });
    await writeFile(file('proxied'), own);
    const proxyOf = async (name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> => {
      const choice = { kubeconfigPath: file(name) };
      return (await connectionOf(choice, readEnvironment({ HOME: file('nowhere'), ...env }))).proxy?.host;
    };
    const HTTPS_PROXY = 'http://proxy.example:3128';
    assert.equal(await proxyOf('a', { HTTPS_PROXY }), 'proxy.example:3128');
    assert.equal(await proxyOf('a', { HTTPS_PROXY, NO_PROXY: '.example' }), undefined);
    assert.equal(await proxyOf('proxied', { HTTPS_PROXY }), 'own.example:1');
  });

  it('is that of the file it was told, whatever the environment says', async () => {
    assert.equal(
      await hostFor({ KUBECONFIG: file('b'), HOME: file('home') }, { kubeconfigPath: file('a') }), 'a.example',
    );
  });

  it('is that of KUBECONFIG, of which the first file decides and missing ones do not matter', async () => {
    assert.equal(
      await hostFor({ KUBECONFIG: `${file('missing')}:${file('b')}:${file('a')}`, HOME: file('home') }), 'b.example',
    );
  });

  it('is that of a named context in any file of KUBECONFIG', async () => {
    assert.equal(await hostFor({ KUBECONFIG: `${file('b')}:${file('a')}` }, { context: 'a' }), 'a.example');
  });

  it("is that of the user's own file, even within a pod", async () => {
    assert.equal(await hostFor({ HOME: file('home'), KUBERNETES_SERVICE_HOST: '10.0.0.1' }), 'home.example');
  });

  it("is the pod's own where there is no file", async () => {
    await assert.rejects(
      hostFor({ KUBERNETES_SERVICE_HOST: '10.0.0.1' }), /var\/run\/secrets\/kubernetes\.io\/serviceaccount/,
    );
  });

  it('is none, with what to do, where there is nothing at all', async () => {
    await assert.rejects(hostFor({}), isInvalid(/--kubeconfig, set KUBECONFIG, or put it at .*nowhere/));
  });

  it('is none when no file of KUBECONFIG exists, rather than another one', async () => {
    await assert.rejects(hostFor({ KUBECONFIG: file('missing'), HOME: file('home') }), isInvalid(/missing/));
  });
});

describe('a kubeconfig that cannot be used', () => {
  it('is named when it is not there', async () => {
    await assert.rejects(hostFor({}, { kubeconfigPath: file('missing') }), isInvalid(/missing cannot be read/));
  });

  it('is named when its content is wrong', async () => {
    await assert.rejects(hostFor({}, { kubeconfigPath: file('broken') }), isInvalid(/broken: .*no context named "x"/));
  });

  it('is named when it lacks the context that was asked for', async () => {
    await assert.rejects(
      hostFor({}, { kubeconfigPath: file('a'), context: 'other' }), isInvalid(/no context named "other"/),
    );
  });
});

describe('mergeKubeconfigs', () => {
  it('lets the first of two entries with the same name count', async () => {
    const second = kubeconfig('a').replace('a.example', 'other.example');
    const { server } =
      await readKubeconfig({ text: mergeKubeconfigs([kubeconfig('a', ''), second, '']), author: 'administrator' });
    assert.equal(server.host, 'a.example');
  });

  it('does not quote a file that is no YAML, for it may hold a token', () => {
    assert.throws(
      () => mergeKubeconfigs([kubeconfig('a'), 'token: "canary']),
      (error: Error) => isInvalid(/not valid YAML/)(error) && !error.message.includes('canary'),
    );
  });
});

describe('userAgent', () => {
  it(
    'names the component and the version', () => assert.match(userAgent('install'), /^isthmus-install\/\d+\.\d+\.\d+/),
  );
});
