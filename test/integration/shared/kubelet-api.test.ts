// kubectl logs, exec, attach and port-forward of elected pods, asked of the source's API server alone, on real control
// planes. kwok runs real processes in the targets for exec and port-forward; logs are a file of the target's folder.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFile, readFile, rename } from 'node:fs/promises';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import type { Node, Pod } from '../../../api/objects/core.ts';
import { ELECT_ANNOTATION, PARENT_UID_LABEL, RESOURCE_METRICS_PATH_ANNOTATION } from '../../../api/objects/keys.ts';
import { NODES, PODS } from '../../../api/resource-types.ts';
import { pollUntil } from '../../../cli/clusters/poll-until.ts';
import { openExchange } from '../../../kubernetes/stream/stream-exchange.ts';
import { createAuthority, loadAuthority, type KeyPair } from '../../../process/crypto/certificate-authority.ts';
import { messageOf } from '../../../process/errors.ts';
import { describeVirtualNode } from '../../contract/virtual-node.ts';
import { isthmus } from '../../support/processes/command-line.ts';
import {
  inNamespace, isRunning, makeNamespace, type IsthmusWorld, type WorldCluster,
} from '../../support/worlds/isthmus-world.ts';
import { leaveWorld, shareWorld } from '../../support/worlds/shared-world.ts';
import { servePodMetrics, type PodMetricsServer } from '../../support/worlds/pod-metrics-server.ts';
import { openPodStream, type PodStream } from '../../support/history/pod-stream.ts';
import { readResourceMetrics } from '../../support/real-nodes/resource-metrics.ts';

const shared = shareWorld({ nodes: 1 });
let world: IsthmusWorld;
let web: Pod;
/** Where the delegate of `web` runs. */
let home: WorldCluster;
/** Where the virtual node says that its kubelet API is. */
let kubelet: { readonly host: string; readonly port: number };

describe('the kubelet API of virtual nodes', () => {
  before(async () => {
    ({ world } = shared());
    await makeNamespace(world, 'demo');
    const spec = { containers: [{ name: 'main', image: 'example/main:1' }, { name: 'side', image: 'example/side:1' }] };
    await world.source.client.create(
      PODS, { metadata: { namespace: 'demo', name: 'web', annotations: { [ELECT_ANNOTATION]: '' } }, spec } as Pod,
    );
    const pods = await world.source.pods.until('web runs', (all) => inNamespace(all, 'demo').some(isRunning), 60_000);
    web = inNamespace(pods, 'demo')[0]!;
    await Promise.all(world.targets.map(({ pods: delegates }) => delegates.caughtUp()));
    home = world.targets.find(({ pods: delegates }) => delegates.objects.some(
      ({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === web.metadata.uid,
    ))!;
    const { status } = await world.source.client.get<Node>(NODES, { name: web.spec.nodeName ?? '' });
    const { addresses, daemonEndpoints } = status ?? {};
    kubelet = { host: addresses?.[0]?.address ?? '', port: daemonEndpoints?.kubeletEndpoint?.Port ?? 0 };
    await readClients();
  });
  after(() => leaveWorld(world));

  const path = (operation: string) => `/api/v1/namespaces/demo/pods/web/${operation}`;
  const logFile = () => join(home.cluster.directory, 'container.log');

  async function log(
    query: Record<string, string> = {},
  ): Promise<{ readonly status: number | undefined; readonly body: string }> {
    const { response } = await openExchange(
      world.source.client.transport,
      { method: 'GET', path: path('log'), query: Object.entries({ container: 'main', ...query }) }, world.signal,
    );
    return { status: response.statusCode, body: await text(response) };
  }

  /**
   * kwok attaches to a file by an inotify instance, of which a user has 128 and a control plane takes 11: other tests
   * at the same time may hold all.
   */
  async function withInotify(follow: () => Promise<string>): Promise<string> {
    const said = await pollUntil(async () => {
      const answer = await follow().catch((error: unknown) => messageOf(error));
      return answer.includes('too many open files') ? undefined : answer;
    }, { forMs: 180_000, everyMs: 1_000 }, world.signal);
    return said ?? 'no inotify instance in three minutes';
  }

  const exec = (
    command: readonly string[], streams: Record<string, string> = { stdout: 'true', stderr: 'true' },
  ): Promise<PodStream> =>
    openPodStream(
      world.source.client.transport,
      {
        path: path('exec'),
        query: [
          ['container', 'main'], ...Object.entries(streams), ...command.map((word) => ['command', word] as const),
        ],
      },
      world.signal,
    );

  describe('isthmus logs and exec, which do without the kubelet API', () => {
    const run = (command: string, ...words: readonly string[]) => isthmus(
      command, 'web', '-n', 'demo', '-c', 'main', '--kubeconfig', world.source.cluster.kubeconfigPath, ...words,
    );

    // the first to ask: nothing is granted yet
    it('ask the target for the permission', async () => {
      const { stdout, stderr } = await run('logs', '--tail', '1');
      assert.equal(stdout, 'It is ready.\n', stderr);
    });

    it('run a command', async () => {
      const { stdout, code } = await run('exec', '--', 'sh', '-c', 'echo out');
      assert.deepEqual([stdout, code], ['out\n', 0]);
    });
  });

  describe('logs', () => {
    it('are those of the delegate', async () => {
      const { status, body } = await log();
      assert.equal(status, 200);
      assert.equal(
        body, `This is the log of a simulated container in cluster ${home.cluster.name}.\nIt started.\nIt is ready.\n`,
      );
    });

    it('can be cut, stamped and asked for since a time', async () => {
      assert.equal((await log({ tailLines: '1' })).body, 'It is ready.\n');
      assert.match(
        (await log({ tailLines: '1', timestamps: 'true' })).body, /^\d{4}-\d\d-\d\dT[\d:.]+Z It is ready\.\n$/,
      );
      assert.equal((await log({ sinceTime: new Date(Date.now() + 3_600_000).toISOString() })).body, '');
      assert.equal((await log({ limitBytes: '4' })).body, 'This');
      assert.match((await log({ previous: 'true', container: 'side' })).body, /It is ready/);
    });

    it('that are followed show what is written later, until the reader goes', async () => {
      const ending = new AbortController();
      const { response } = await openExchange(
        world.source.client.transport,
        { method: 'GET', path: path('log'), query: [['container', 'main'], ['follow', 'true'], ['tailLines', '0']] },
        ending.signal,
      );
      response.on('error', () => undefined);
      const writing =
        setInterval(() => void appendFile(logFile(), `${new Date().toISOString()} stdout F later\n`), 100);
      try {
        let seen = '';
        while (seen.length < 12) seen += String((await once(response, 'data'))[0]);
        assert.match(seen, /^(later\n)+$/);
      } finally {
        clearInterval(writing);
        ending.abort();
      }
    });

    it('that the target does not have are refused in the words of its kubelet', async () => {
      await rename(logFile(), `${logFile()}.away`);
      try {
        const { status, body } = await log();
        assert.ok((status ?? 0) >= 400, `${status}`);
        assert.doesNotMatch((JSON.parse(body) as { readonly message: string }).message, /"kind"/);
      } finally {
        await rename(`${logFile()}.away`, logFile());
      }
    });

    it('of a container that there is not are refused by name', async () => {
      const { status, body } = await log({ container: 'other' });
      assert.equal(status, 400);
      assert.match(body, /container other is not valid for pod web/);
    });
  });

  describe('exec', () => {
    it('runs in the target, with both outputs apart', async () => {
      const stream = await exec(['sh', '-c', 'echo out; echo err >&2; pwd']);
      const end = await stream.ended();
      assert.deepEqual([end.stdout, end.stderr], [`out\n${home.cluster.directory}\n`, 'err\n']);
      assert.equal(JSON.parse(end.status).status, 'Success');
    });

    it('says that a command failed', async () => {
      const end = await (await exec(['sh', '-c', 'exit 3'])).ended();
      assert.equal(JSON.parse(end.status).status, 'Failure');
      assert.match(end.status, /exit status 3|ExitCode/);
    });

    // kwok does not tell a command that its input has ended; that half-closes pass is shown by
    // test/unit/virtual-node/kubelet-server.test.ts.
    it('takes input as it comes', async () => {
      const stream = await exec(
        ['sh', '-c', 'read one; echo "got $one"; read two; echo "got $two"'], { stdin: 'true', stdout: 'true' },
      );
      stream.write('first\n');
      await stream.until('an answer to the first line', (said) => said.includes('got first\n'));
      stream.write('second\n');
      assert.equal((await stream.ended()).stdout, 'got first\ngot second\n');
    });

    it('gives a terminal that can be resized', async () => {
      const stream =
        await exec(['sh', '-c', 'while read line; do stty size; done'], { stdin: 'true', stdout: 'true', tty: 'true' });
      stream.resize(132, 43);
      const asking = setInterval(() => stream.write('go\n'), 100);
      await stream.until('the size', (said) => said.includes('43 132')).finally(() => clearInterval(asking));
      stream.close();
    });

    it('copies a megabyte in and out as it is', async () => {
      const sent = Buffer.alloc(1 << 20, 'isthmus ');
      const stream = await exec(['sh', '-c', 'head -c 1048576'], { stdin: 'true', stdout: 'true' });
      for (let at = 0; at < sent.length; at += 32_768) stream.write(sent.subarray(at, at + 32_768));
      const end = await stream.ended();
      assert.equal(end.stdout.length, sent.length);
      assert.ok(end.stdout === sent.toString());
    });
  });

  describe('attach and port-forward', () => {
    it('attach shows what the container says', async () => {
      // kwok shows what is written from now on, as a real attach does.
      const writing =
        setInterval(() => void appendFile(logFile(), `${new Date().toISOString()} stdout F attached\n`), 100);
      const seen = await withInotify(async () => {
        const stream = await openPodStream(
          world.source.client.transport, { path: path('attach'), query: [['container', 'main'], ['stdout', 'true']] },
          world.signal,
        );
        const said = await Promise.race([
          stream.until('a line', (all) => all.includes('attached')).then(() => 'attached', () => ''),
          stream.ended().then(({ status }) => status),
        ]);
        stream.close();
        return said;
      }).finally(() => clearInterval(writing));
      assert.equal(seen, 'attached');
    });
  });

  // --- the kubelet API asked by itself
  const clients = new Map<string, KeyPair>();

  /** Clients of all sorts. Asked for by the one hook that makes the world: a second one would run beside it. */
  async function readClients(): Promise<void> {
    const pki = join(world.source.cluster.directory, 'pki');
    const read = async (name: string): Promise<KeyPair> => ({
      certificate: await readFile(join(pki, `${name}.crt`), 'utf8'),
      key: await readFile(join(pki, `${name}.key`), 'utf8'),
    });
    const authority = await loadAuthority(await read('ca'));
    const now = new Date();
    const foreign = await createAuthority('another', 1, now);
    clients.set('the API server', await read('kubelet-client'));
    clients.set('an administrator of another CA', await foreign.issue(
      { commonName: 'kubernetes-admin', organizations: ['system:masters'], days: 1, usages: ['client'] }, now,
    ));
    clients.set(
      'a user without permissions', await authority.issue({ commonName: 'mallory', days: 1, usages: ['client'] }, now),
    );
  }

  async function ask(
    target: string, as?: string, headers: Record<string, string> = {}, method = 'GET',
  ): Promise<{ readonly status: number | undefined; readonly body: string }> {
    const { certificate: cert, key } = clients.get(as ?? '') ?? {};
    const sent =
      request({ ...kubelet, path: target, method, cert, key, headers, rejectUnauthorized: false, agent: false });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode, body: await text(response) };
  }

  describe('what a virtual node tells', () => {
    const read = async (page: string) => (await ask(`/nodes/${web.spec.nodeName}/${page}`, 'the API server')).body;
    let metrics: PodMetricsServer;

    before(async () => {
      const [delegate] =
        home.pods.objects.filter(({ metadata }) => metadata.labels?.[PARENT_UID_LABEL] === web.metadata.uid);
      const containers = [['main', '250m', '20Mi'], ['side', '5m', '1Mi'], ['injected', '1', '1Gi']].map(
        ([name = '', cpu = '', memory = '']) => ({ name, usage: { cpu, memory } }),
      );
      metrics = await servePodMetrics(
        home.client, () => [{ metadata: delegate?.metadata ?? {}, timestamp: new Date().toISOString(), containers }],
        world.signal,
      );
    });
    after(() => metrics.close());

    it('is what a metrics server asks it for: the use of its pods, read in the target as the source', async () => {
      const told = await pollUntil(async () => {
        const usages = readResourceMetrics(await read('metrics/resource'), 15);
        // what was asked before the target had figures is remembered for a while
        return usages.length > 0 ? usages : undefined;
      }, { forMs: 60_000, everyMs: 500 }, world.signal);
      // as kubectl shows it, which rounds up
      const shown = told?.map(({ nanoCores, ...usage }) => ({ ...usage, milliCores: Math.ceil(nanoCores / 1e6) }));
      assert.deepEqual(shown, [
        { container: 'demo/web/main', milliCores: 250, memoryBytes: 20 * 2 ** 20 },
        { container: 'demo/web/side', milliCores: 5, memoryBytes: 2 ** 20 },
      ]);
      assert.match([...metrics.readers].join(), /^system:serviceaccount:[^,]+$/);
      const { metadata } = await world.source.client.get<Node>(NODES, { name: web.spec.nodeName ?? '' });
      const path = metadata.annotations?.[RESOURCE_METRICS_PATH_ANNOTATION];
      assert.equal(path, `/nodes/${metadata.name}/metrics/resource`);
    });

    it('is a summary of them', async () => {
      const { node, pods } = JSON.parse(await read('stats/summary')) as {
        readonly node: { readonly nodeName: string; readonly memory: { readonly workingSetBytes: number } };
        readonly pods: readonly { readonly podRef: { readonly uid: string } }[]
      };
      assert.deepEqual([node.nodeName, node.memory.workingSetBytes, pods.map(({ podRef }) => podRef.uid)], [
        web.spec.nodeName, 21 * 2 ** 20, [web.metadata.uid],
      ]);
    });

    it('is a list of them', async () => {
      const { items } = JSON.parse(await read('pods')) as { readonly items: readonly Pod[] };
      assert.deepEqual(items.map(({ metadata }) => metadata.uid), [web.metadata.uid]);
    });
  });

  describe('C2-39 and C2-40: who calls the kubelet API itself', () => {
    const EXEC = '/exec/demo/web/main?command=id&output=1';
    const SPDY = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };

    it('the API server is served', async () => assert.match(
      (await ask('/containerLogs/demo/web/main', 'the API server')).body, /It is ready/,
    ));

    for (
      const [who, status] of [
        [undefined, 401], ['an administrator of another CA', 401], ['a user without permissions', 403],
      ] as const
    ) {
      it(`${who ?? 'nobody'} may neither exec nor read logs`, async () => {
        assert.equal((await ask(EXEC, who, SPDY, 'POST')).status, status);
        assert.equal((await ask('/containerLogs/demo/web/main', who)).status, status);
      });
    }

    for (const target of [
      '/containerLogs/demo/../kube-system/x/main', '/containerLogs/demo/%2e%2e/web/main',
      '/containerLogs/demo/web/main%2f..%2fother', '/containerLogs/other/web/main', '/containerLogs/demo/web/injected',
      '/exec/demo/web/main/../side?command=id',
    ]) {
      it(`${target} leads nowhere`, async () => assert.equal((await ask(target, 'the API server')).status, 404));
    }

    it('its certificate is for the address that the node announces', async () => {
      const socket = connect({ ...kubelet, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      assert.match(socket.getPeerCertificate().subjectaltname ?? '', /IP Address:127\.0\.0\.1/);
      socket.destroy();
    });
  });

  // Last, for it takes the world's processes and pods apart.
  describeVirtualNode(() => ({ world, web }));
});
