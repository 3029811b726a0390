// `status` and `doctor` of a cluster that cannot be read: one sentence, or what is known without claims about the rest.
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { AnsweringApiServer, type Answer } from '../../../support/doubles/answering-api-server.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { textsOfSvg } from '../../../support/page/map-drawings.ts';
import { status } from '../../../support/doubles/scripted-api-server.ts';

const servers: AnsweringApiServer[] = [];
after(async () => void (await Promise.all(servers.map((server) => server.stop()))));

async function start(
  ...given: Parameters<typeof AnsweringApiServer.start>
): Promise<{ readonly server: AnsweringApiServer; readonly flags: readonly string[] }> {
  const server = await AnsweringApiServer.start(...given);
  servers.push(server);
  return { server, flags: ['--kubeconfig', await server.kubeconfig()] };
}

const plural = ({ pathname }: URL) => pathname.split('/').at(-1) ?? '';
const forbidden = (url: URL): Answer =>
  [403, status(403, 'Forbidden', `${plural(url)} is forbidden: User "eve" cannot list resource "${plural(url)}"`)];

for (const command of ['status', 'doctor']) {
  describe(`${command} of a cluster that says nothing`, () => {
    it('ends with one sentence when nobody listens at the port', async () => {
      const { server, flags } = await start({});
      server.shut();
      const { stdout, stderr, code } = await isthmusHere(command, ...flags);
      assert.deepEqual([stdout, stderr, code], [
        '',
        `isthmus: error (Unreachable): the connection to the server ${server.host} was refused. Does it run, and are ` +
          'host and port right?\n',
        1,
      ]);
    });

    it('ends with one sentence when it does not accept the credentials', async () => {
      const { flags } = await start(() => [401, status(401, 'Unauthorized', 'Unauthorized')]);
      const { stdout, stderr, code } = await isthmusHere(command, ...flags);
      assert.deepEqual([stdout, stderr, code], [
        '',
        'isthmus: error from server (Unauthorized): it does not accept the credentials of the kubeconfig. Log in ' +
          'again, or name another kubeconfig.\n',
        1,
      ]);
    });

    it('ends with one sentence when the user may read nothing', async () => {
      const { flags } = await start((_method, url) => forbidden(url));
      const { stdout, stderr, code } = await isthmusHere(command, ...flags);
      assert.deepEqual([stdout, stderr, code], [
        '',
        'isthmus: error from server (Forbidden): clustertargets is forbidden: User "eve" cannot list resource ' +
          '"clustertargets"\n',
        1,
      ]);
    });

    it('ends with one sentence when something else answers', async () => {
      const { server, flags } = await start(() => [200, '<html>Log in</html>']);
      const { stdout, stderr, code } = await isthmusHere(command, ...flags);
      assert.deepEqual([stdout, stderr, code], [
        '',
        `isthmus: error (Unreachable): ${server.host} does not answer as a Kubernetes API server does. Compare the ` +
          'server in the kubeconfig.\n',
        1,
      ]);
    });
  });
}

describe('a user who may read targets alone', () => {
  const somePermissions = (_method: string, url: URL): Answer => {
    if (url.pathname === '/version') return [200, { gitVersion: 'v1.34.0' }];
    if (['clustertargets', 'targets'].includes(plural(url))) return [200, { kind: 'List', metadata: {}, items: [] }];
    return forbidden(url);
  };

  it('learns from status what is unknown, not that there is nothing', async () => {
    const { flags } = await start(somePermissions);
    const { stdout, code } = await isthmusHere('status', ...flags);
    assert.match(stdout, /^Isthmus .*, Kubernetes v1\.34\.0$/m);
    assert.match(stdout, /^components: unknown, leases could not be read$/m);
    assert.match(stdout, /^elected pods: unknown, pods could not be read$/m);
    assert.match(stdout, /^sources: unknown, clustersources and sources could not be read$/m);
    assert.doesNotMatch(stdout, /no component runs|none/);
    assert.match(stdout, /0 errors/);
    assert.equal(code, 1);
  });

  it('sees no line of names where there is nothing to name', async () => {
    const { flags } = await start(somePermissions);
    assert.equal((await isthmusHere('status', '-o', 'name', ...flags)).stdout, '');
  });

  it('sees on the map of status what may be missing from it', async () => {
    const { flags } = await start(somePermissions);
    const { stdout, code } = await isthmusHere('status', '-o', 'svg', ...flags);
    const [note] = textsOfSvg(stdout.trimEnd()).filter(({ text }) => text.startsWith('Could not be read'));
    assert.match(note?.text ?? '', /leases, .*pods/);
    assert.equal(code, 1);
  });

  it('learns from doctor once what he may not read, and that the rest was not checked', async () => {
    const { flags } = await start(somePermissions);
    const { stdout, code } = await isthmusHere('doctor', ...flags);
    assert.equal(stdout.match(/this user may not read/g)?.length, 1);
    assert.match(stdout, /^\? Access: version|^\? Access: .*leases/m);
    assert.match(stdout, /^\? Components: this cluster: not checked in full: leases could not be read$/m);
    assert.match(stdout, /^✓ Targets$/m);
    assert.doesNotMatch(stdout, /✗/);
    assert.equal(code, 1);
  });
});

describe('a webhook that a dry run cannot test', () => {
  const denied = async (message: string) => {
    const namespace = { metadata: { name: 'shop', labels: { 'multicluster-scheduler': 'enabled' } } };
    const webhooks = [{ name: 'a', clientConfig: { caBundle: 'YQ==' } }];
    const configuration = { metadata: { name: 'isthmus' }, webhooks };
    const { flags } = await start((method, url) => {
      if (method !== 'GET') return [403, status(403, 'Forbidden', message)];
      if (url.pathname === '/version') return [200, { gitVersion: 'v1.34.0' }];
      if (plural(url) === 'namespaces') return [200, { kind: 'List', metadata: {}, items: [namespace] }];
      if (url.pathname.includes('/mutatingwebhookconfigurations/')) return [200, configuration];
      const items = plural(url) === 'clustertargets' ? [{ metadata: { name: 'eu' }, spec: {} }] : [];
      return [200, { kind: 'List', metadata: {}, items }];
    });
    return (await isthmusHere('doctor', ...flags)).stdout;
  };

  it('is not called unreachable by a user who may not create pods', async () => {
    const stdout = await denied('pods is forbidden: User "eve" cannot create resource "pods" in API group ""');
    assert.match(stdout, /^\? Webhook: this cluster: not checked in full: dry runs of pods could not be read$/m);
    assert.doesNotMatch(stdout, /cannot reach it/);
  });

  it('is not called unreachable where Pod Security or a quota denies the pod', async () => {
    const stdout = await denied('pods "x" is forbidden: violates PodSecurity "restricted:latest"');
    assert.match(stdout, /^! Webhook: .*could not be tested: pods "x" is forbidden: violates PodSecurity/m);
    assert.doesNotMatch(stdout, /cannot reach it/);
  });
});

describe('a user who may read everything but what Admiralty would leave', () => {
  const isOfAdmiralty = ({ pathname, searchParams }: URL): boolean =>
    searchParams.get('fieldSelector')?.startsWith('metadata.name=admiralty-') === true
    || pathname.endsWith('/mutatingwebhookconfigurations');
  const most = (_method: string, url: URL): Answer => {
    if (url.pathname === '/version') return [200, { gitVersion: 'v1.34.0' }];
    return isOfAdmiralty(url) ? forbidden(url) : [200, { kind: 'List', metadata: {}, items: [] }];
  };

  it('is not told by doctor that no Admiralty works there', async () => {
    const { flags } = await start(most);
    const { stdout, code } = await isthmusHere('doctor', ...flags);
    assert.match(
      stdout,
      /^\? Admiralty: .*: not checked in full: webhooks of Admiralty, leases of Admiralty could not be read$/m,
    );
    assert.doesNotMatch(stdout, /Components: this cluster: not checked/, 'our own Leases were read');
    assert.equal(code, 1);
  });

  it('installs nothing beside an Admiralty that may be there', async () => {
    const { server, flags } = await start(most);
    const { stdout, stderr, code } = await isthmusHere('install', ...flags);
    assert.deepEqual([stdout, code], ['', 1]);
    assert.match(stderr, /^isthmus: error from server \(Forbidden\): .*mutatingwebhookconfigurations is forbidden/);
    assert.deepEqual(server.calls.filter((call) => !call.startsWith('GET ')), []);
  });
});
