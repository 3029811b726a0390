// Kubeconfigs of ClusterTargets as clouds give them, on real API servers: exec plugins whose tokens expire and are
// revoked under live sessions, that hang or print garbage, and token files through a proxy.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import type { ClusterTarget } from '../../../api/kinds/cluster-target.ts';
import type { KubernetesObject, Pod, Secret } from '../../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, PROXY_CONSTRAINTS_ANNOTATION,
} from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, PODS, SECRETS } from '../../../api/resource-types.ts';
import { requestToken } from '../../../kubernetes/client/service-account-token.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import type { ClusterConnection } from '../../../kubernetes/credentials/kubeconfig.ts';
import { findCondition } from '../../../model/objects/conditions.ts';
import { virtualNodeName } from '../../../model/naming/names.ts';
import { tokenOf } from '../../../peering/access/target-access.ts';
import { startIsthmus } from '../../../sandbox/isthmus-in-sandbox.ts';
import { eventually } from '../../support/history/eventually.ts';
import { isRunning, makeNamespace, startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { MintingPlugin } from '../../support/worlds/minting-plugin.ts';
import { WatchedCollection } from '../../support/history/watched-collection.ts';

const NAMESPACE = 'clouds';
const NEVER = new AbortController().signal;

let folder: string;
let world: IsthmusWorld;
let plugin: MintingPlugin;
let targets: WatchedCollection<ClusterTarget>;
let administrators: readonly ClusterConnection[];
let proxy: Server;
const tunnels: string[] = [];
const sockets = new Set<Socket>();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isthmus-clouds-'));
  plugin = new MintingPlugin(folder);
  await startProxy();
  const flags = ['--exec-plugins', plugin.path, '--token-folders', folder];
  world = await startWorld({ nodes: 1, audit: true }, (sandbox, signal) => startIsthmus(sandbox, signal, flags));
  administrators = await Promise.all(world.sandbox.clusters.map(async ({ kubeconfigPath }) => {
    const { client, connection } = await openCluster({ kubeconfigPath, userAgent: 'isthmus-test' });
    await client.transport.close();
    return connection;
  }));
  targets = await new WatchedCollection(world.source.client, CLUSTER_TARGETS).start(world.signal);
  await makeNamespace(world, NAMESPACE);
}, { timeout: 300_000 });
after(async () => {
  await world?.stop();
  for (const socket of sockets) socket.destroy();
  proxy?.close();
  await rm(folder, { recursive: true });
});

async function startProxy(): Promise<void> {
  proxy = createServer().on('connect', ({ url = '' }, client) => {
    tunnels.push(url);
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port), hostname, () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const [one, other] of [[upstream, client], [client as Socket, upstream]] as const) {
      sockets.add(one);
      one.on('error', () => undefined).on('close', () => other.destroy()).pipe(other);
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
}

/** The account that the source has in a target, from the token that peering has got for it. */
async function accountIn(target: string): Promise<{ readonly namespace: string; readonly account: string }> {
  const { data } = await world.source.client.get(SECRETS, kubeconfigOf(target));
  const token = tokenOf(Buffer.from(data?.['config'] ?? '', 'base64').toString('utf8')) ?? '';
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { readonly sub: string };
  const [, , namespace = '', account = ''] = claims.sub.split(':');
  return { namespace, account };
}

const kubeconfigOf = (target: string) => ({ namespace: DEFAULT_INSTALL_NAMESPACE, name: `${target}-kubeconfig` });

async function writeKubeconfig(target: string, text: string): Promise<void> {
  const data = { config: Buffer.from(text).toString('base64') };
  const secret = { metadata: kubeconfigOf(target), data } as KubernetesObject;
  await world.source.client.apply(SECRETS, secret, 'isthmus-test');
}

async function addTarget(name: string, text: string): Promise<void> {
  await writeKubeconfig(name, text);
  const target = { metadata: { name }, spec: { kubeconfigSecret: { name: `${name}-kubeconfig` } } } as ClusterTarget;
  await world.source.client.apply(CLUSTER_TARGETS, target, 'isthmus-test');
}

const readyOf = (name: string, all: readonly ClusterTarget[] = targets.objects) =>
  findCondition(all.find(({ metadata }) => metadata.name === name)?.status?.conditions, 'Ready');

const untilReady = (name: string, reason: string): Promise<unknown> =>
  targets.until(`${name} is ${reason}`, (all) => readyOf(name, all)?.reason === reason, 60_000);

/** A pod runs in the target. */
async function runsIn(target: string, name: string): Promise<void> {
  const constraints = stringify({ nodeSelector: { [CLUSTER_TARGET_NAME_LABEL]: target } });
  const annotations = { [ELECT_ANNOTATION]: '', [PROXY_CONSTRAINTS_ANNOTATION]: constraints };
  await world.source.client.create(PODS, {
    metadata: { namespace: NAMESPACE, name, annotations },
    spec: { containers: [{ name: 'main', image: 'example/m:1' }] },
  } as Pod);
  const node = virtualNodeName({ kind: 'ClusterTarget', name: target });
  await world.source.pods.until(`${name} runs`, (pods) => pods.some(
    (pod) => pod.metadata.name === name && isRunning(pod) && pod.spec.nodeName === node,
  ), 60_000);
}

interface AuditedCall {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
}

/**
 * Watches of a target's pods and chaperons that our process in the source has opened since and that have ended, by how
 * they began.
 */
async function openedSince(ms: number, account: string): Promise<{ readonly lists: number; readonly resumed: number }> {
  const log = await readFile(world.sandbox.clusters[1]?.auditLog ?? '', 'utf8');
  const lines = log.split('\n').filter(
    (line) => line.includes(account) && /\/(?:pods|podchaperons)\?/.test(line) && line.endsWith('}'),
  );
  const opened = lines.map((line) => JSON.parse(line) as AuditedCall).filter(
    ({ stage, verb, requestReceivedTimestamp: at }) =>
      stage === 'ResponseComplete' && Date.parse(at) >= ms && ['list', 'watch'].includes(verb),
  );
  const lists = opened.filter(({ verb, requestURI }) => verb === 'list' || requestURI.includes('sendInitialEvents'));
  return { lists: lists.length, resumed: opened.length - lists.length };
}

describe('a ClusterTarget with an exec plugin', { concurrency: true }, () => {
  describe('that gives tokens', { concurrency: false }, () => {
    let access: { readonly namespace: string; readonly account: string };

    it('is Ready, and pods run there', async () => {
      access = await accountIn('target-1');
      plugin.set('target-1', { mode: 'mint', ...access, seconds: 600 }, administrators[1]!);
      await writeKubeconfig('target-1', plugin.kubeconfig('target-1', administrators[1]!));
      await eventually('the plugin runs', async () => plugin.runs('target-1').length > 0);
      await runsIn('target-1', 'by-plugin');
      assert.equal(readyOf('target-1')?.status, 'True');
      const [first] = plugin.runs('target-1');
      assert.equal(first?.info.spec.interactive, false);
      assert.equal(`${first?.info.spec.cluster?.server}/`, administrators[1]?.server.href);
      assert.deepEqual(first?.env.filter((name) => /^(?:POD_IP|NODE_|KUBECONFIG)/.test(name)), []);
    });

    it('goes on with the next token before one expires, and lists nothing again', async () => {
      plugin.set('target-1', { mode: 'mint', ...access, seconds: 15 }, administrators[1]!);
      // a new Secret makes a new credential; each of its tokens holds for 15 s
      await writeKubeconfig('target-1', `${plugin.kubeconfig('target-1', administrators[1]!)}# short\n`);
      const before = plugin.runs('target-1').length;
      await eventually('the first short token', async () => plugin.runs('target-1').length > before);
      const [since, followedSince] = [Date.now(), performance.now()];
      const opened = await eventually('watches of pods and chaperons that went on twice', async () => {
        const now = await openedSince(since, access.account);
        return now.resumed >= 4 && now;
      }, 120_000);
      assert.ok(plugin.runs('target-1').length >= before + 3);
      await runsIn('target-1', 'after-renewals');
      assert.equal(opened.lists, 0, 'nothing is listed again');
      const isReady = (after: ClusterTarget | undefined) => readyOf('target-1', after && [after])?.status === 'True';
      const unready =
        (await targets.caughtUp()).history
          .filter(({ at, key, after }) => at > followedSince && key.includes('target-1') && !isReady(after));
      assert.deepEqual(unready, []);
    });

    it('runs the plugin at once when its token was revoked', async () => {
      const { client } = world.targets[0];
      const bound = await client.create<Secret>(
        SECRETS, { metadata: { namespace: access.namespace, name: 'session' } },
      );
      const boundTo = { name: 'session', uid: bound.metadata.uid ?? '' };
      plugin.set('target-1', { mode: 'mint', ...access, boundTo }, administrators[1]!);
      await writeKubeconfig('target-1', `${plugin.kubeconfig('target-1', administrators[1]!)}# bound\n`);
      const before = plugin.runs('target-1').length;
      await eventually('the bound token', async () => plugin.runs('target-1').length > before);
      await runsIn('target-1', 'before-revocation');
      plugin.set('target-1', { mode: 'mint', ...access }, administrators[1]!);
      const runs = plugin.runs('target-1').length;
      await client.delete(SECRETS, { namespace: access.namespace, name: 'session' });
      let pods = 0;
      // an API server remembers for ten seconds that a token was good
      await eventually('the plugin runs again', async () => {
        await runsIn('target-1', `after-revocation-${(pods += 1)}`);
        return plugin.runs('target-1').length > runs;
      });
      await runsIn('target-1', 'with-another-token');
      assert.equal(readyOf('target-1')?.status, 'True');
    });
  });

  describe('that gives none', { concurrency: false }, () => {
    it('that hangs is given up, killed with all that it started, and stops no other target', async () => {
      plugin.set('hanging', { mode: 'hang' }, administrators[1]!);
      await addTarget('hanging', plugin.kubeconfig('hanging', administrators[1]!));
      await eventually('it hangs', async () => plugin.children('hanging').length > 0);
      await Promise.all([runsIn('target-1', 'beside-hanging'), runsIn('target-2', 'beside-hanging-2')]);
      assert.equal(plugin.children('hanging').length, 1, 'it hangs still, once');
      await untilReady('hanging', 'CredentialsUnavailable');
      assert.match(readyOf('hanging')?.message ?? '', /mint-token .*did not end within 20 s and was killed/);
      await world.source.client.delete(CLUSTER_TARGETS, { name: 'hanging' });
      await eventually('nothing of it runs on', async () => plugin.children('hanging').length === 0);
    });

    it('that prints garbage is told of, without what it printed', async () => {
      plugin.set('garbage', { mode: 'garbage' }, administrators[1]!);
      await addTarget('garbage', plugin.kubeconfig('garbage', administrators[1]!));
      await untilReady('garbage', 'CredentialsUnavailable');
      assert.match(readyOf('garbage')?.message ?? '', /gives no credentials: it printed no ExecCredential$/);
      await runsIn('target-1', 'beside-garbage');
      await world.source.client.delete(CLUSTER_TARGETS, { name: 'garbage' });
      const log = await readFile(join(world.sandbox.clusters[0]!.directory, 'isthmus.log'), 'utf8');
      const events = JSON.stringify([...await world.source.client.list(CLUSTER_TARGETS), ...targets.history]);
      for (const text of [log, events]) assert.doesNotMatch(text, /canary-of/);
    });

    it('is refused with a program that the installation does not name', async () => {
      await addTarget('unnamed', plugin.kubeconfig('unnamed', administrators[1]!, '/bin/sh'));
      await untilReady('unnamed', 'KubeconfigRefused');
      assert.match(readyOf('unnamed')?.message ?? '', /exec with command "\/bin\/sh".*add it to --exec-plugins/);
      await world.source.client.delete(CLUSTER_TARGETS, { name: 'unnamed' });
    });
  });
});

describe('a ClusterTarget with a token file and a proxy', () => {
  it('is reached through the proxy, logs and all, and takes the file as it is rotated', async () => {
    const access = await accountIn('target-2');
    const { client } = world.targets[1];
    const { server, certificateAuthority = '' } = administrators[2]!;
    const path = join(folder, 'token');
    const rotate = async () => {
      const request = { namespace: access.namespace, name: access.account, seconds: 600 };
      await writeFile(path, (await requestToken(client, request, NEVER)).token);
    };
    await rotate();
    const { port } = proxy.address() as AddressInfo;
    await writeKubeconfig('target-2', stringify({
      apiVersion: 'v1', kind: 'Config', 'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{
        name: 'c',
        cluster: {
          server: server.href, 'proxy-url': `http://127.0.0.1:${port}`, 'tls-server-name': 'localhost',
          'certificate-authority-data': Buffer.from(certificateAuthority).toString('base64'),
        },
      }],
      users: [{ name: 'u', user: { tokenFile: path } }],
    }));
    await eventually('the proxy is used', async () => tunnels.length > 0);
    await runsIn('target-2', 'by-proxy');
    assert.deepEqual([...new Set(tunnels)], [server.host]);
    const logs = await world.source.client.transport.call<string>({
      method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}/pods/by-proxy/log`, read: (body) => body.toString('utf8'),
    });
    assert.match(logs, /simulated container in cluster target-2/);
    await rotate();
    await runsIn('target-2', 'after-rotation');
    assert.equal(readyOf('target-2')?.status, 'True');
  });
});
