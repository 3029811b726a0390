// `npm run soak -- gateway-namespaces`: two clusters in network namespaces of their own, an internet between them, the
// target behind a router that translates addresses and lets only TCP 443 out. Elected pods run through the gateway
// alone; packets are captured, bits flipped, packets lost. Needs root, `ip`, `nft` and `tcpdump`, and says which of
// them is missing.
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as connectTcp, createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import type { KubernetesObject, Pod } from '../../../api/objects/core.ts';
import {
  DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE,
} from '../../../api/objects/keys.ts';
import { CLUSTER_TARGETS, CONFIG_MAPS, CLUSTERSET_GATEWAYS, NAMESPACES, PODS } from '../../../api/resource-types.ts';
import type { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../../kubernetes/client/open-cluster.ts';
import { openExchange } from '../../../kubernetes/stream/stream-exchange.ts';
import { environment } from '../../../process/config.ts';
import { ensurePackagingTools } from '../../../sandbox/build/packaging-tools.ts';
import { beginnings, readCapture } from '../../support/network/captured-packets.ts';
import { until } from '../../support/network/gateway-soak.ts';
import { openPodStream } from '../../support/history/pod-stream.ts';
import { isRunning } from '../../support/worlds/isthmus-world.ts';
import {
  BROKER_ADDRESS, makeNatNetwork, RELAY_PORT, ROUTER_ADDRESS, SOURCE_ADDRESS, TARGET_ADDRESS, type NamespaceAgent,
  type NatNetwork, type Place,
} from '../../support/network/nat-network.ts';

const COMMAND = fileURLToPath(new URL('../../../cli/main.js', import.meta.url));
const MARKER = 'plaintext-marker';
const PLAIN_TEXT = [MARKER, 'kube-apiserver', 'Bearer', '/api/v1', 'CONNECT', '"kind"'];
const POD_NAMESPACE = 'behind-nat';
const TLS_HANDSHAKE = 0x16;
/** Where the virtual nodes say that the API server finds their logs and exec. */
const KUBELET = ['--kubelet-host', '127.0.0.1', '--kubelet-address', '127.0.0.1', '--kubelet-port', '10250'];
const PIPE = 'http://127.0.0.1:8132';
/** Fault 54: a killed gateway, lost packets and small frames; flows are back after so long. */
const MAX_RESUME_MS = 10_000;
const figures: Record<string, unknown> = {};

interface ClusterThere {
  readonly agent: NamespaceAgent;
  /** As seen inside of its namespace, and from here. */
  readonly inside: string;
  readonly outside: string;
  readonly client: ClusterClient;
  readonly bridge: Server;
}

let dir: string;
let network: NatNetwork;
let source: ClusterThere;
let target: ClusterThere;
let internet: NamespaceAgent;
let sourceGateway: ChildProcess;
const captures: { readonly file: string; readonly process: ChildProcess }[] = [];

/** A control plane in a namespace, and a way to look at it from here over a Unix socket. */
async function startCluster(place: 'source' | 'target'): Promise<ClusterThere> {
  const agent = network.agent(place);
  const socketPath = join(dir, `${place}.sock`);
  const { kubeconfig } = await agent.ask({ kind: 'cluster', directory: join(dir, place), role: place, socketPath });
  const bridge = createServer((socket) => {
    const far = connectTcp(socketPath);
    for (const [from, to] of [[socket, far], [far, socket]] as const) {
      from.on('error', () => undefined).on('close', () => to.destroy()).pipe(to);
    }
  });
  await new Promise<void>((resolve) => bridge.listen(0, '127.0.0.1', resolve));
  const parsed = parse(await readFile(String(kubeconfig), 'utf8')) as { clusters: { cluster: { server: string } }[] };
  for (const entry of parsed.clusters) entry.cluster.server =
    `https://127.0.0.1:${(bridge.address() as AddressInfo).port}`;
  const outside = join(dir, `${place}-outside.kubeconfig`);
  await writeFile(outside, stringify(parsed), { mode: 0o600 });
  const { client } = await openCluster({ kubeconfigPath: outside, userAgent: 'isthmus-soak' });
  return { agent, inside: String(kubeconfig), outside, client, bridge };
}

/** One of our commands, run here or in a namespace; gives what it printed. */
async function isthmus(place: Place | 'here', ...args: readonly string[]): Promise<string> {
  const command = [process.execPath, COMMAND, ...args];
  const all = place === 'here' ? command : ['ip', 'netns', 'exec', network.nameOf(place), ...command];
  const { stdout } = await promisify(execFile)(all[0] ?? '', all.slice(1), { encoding: 'utf8', timeout: 60_000 });
  return stdout.trim();
}

function start(place: Place, name: string, ...args: readonly string[]): ChildProcess {
  const log = openSync(join(dir, `${name}.log`), 'a');
  return network.spawn(place, [process.execPath, COMMAND, ...args], ['ignore', log, log]);
}

function startSourceGateway(): void {
  sourceGateway = start(
    'source', 'gateway-source', 'gateway', 'run', '--name', 'gw-source', '--listen', `${SOURCE_ADDRESS}:443`,
    '--kubeconfig', source.inside,
  );
}

async function isConnected(): Promise<boolean> {
  const gateways = await source.client.list(CLUSTERSET_GATEWAYS, { namespace: DEFAULT_INSTALL_NAMESPACE });
  return gateways.some(({ status }) => status?.haStatus === 'active' && status.connections.some(
    (connection) => connection.status === 'connected',
  ));
}

/**
 * One call of a stranger to the target's API server, made in the source's namespace through its gateway: HTTP 200 or
 * 401 alike.
 */
async function call(): Promise<boolean> {
  return (
    await isthmus('source', 'gateway', 'benchmark', 'target', '--endpoint', PIPE, '--calls', '1')
  ).includes('latency');
}

const podsOf = async ({ client }: ClusterThere) => client.list(PODS, { namespace: POD_NAMESPACE });
/** Pods that were created, and those of them that should be there. */
let created = 0;
let count = 0;
async function createPods(more: number): Promise<void> {
  for (let index = 0; index < more; index += 1) {
    const name = `pod-${created}`;
    const env = [{ name: 'SETTING', valueFrom: { configMapKeyRef: { name: 'settings', key: 'setting' } } }];
    const pod = {
      metadata: { name, namespace: POD_NAMESPACE, annotations: { [ELECT_ANNOTATION]: '', note: MARKER } },
      spec: { containers: [{ name: 'main', image: MARKER, env }] },
    } as unknown as Pod;
    await until(`creating ${name}`, () => source.client.create(PODS, pod).then(() => true), 30);
    created += 1;
    count += 1;
  }
}
const untilAllRun = (seconds = 60) => until(
  'all pods to run',
  async () => (await podsOf(source)).filter(isRunning).length === count && (await podsOf(target)).length === count,
  seconds,
);

function startCapture(place: Place, link: string): void {
  const file = join(dir, `${place}-${link}.pcap`);
  captures.push(
    { file, process: network.spawn(place, ['tcpdump', '-i', link, '-s', '0', '-U', '-Z', 'root', '-w', file]) },
  );
}

async function logEnds(): Promise<string> {
  const names = (await readdir(dir)).filter((file) => file.endsWith('.log'));
  return (
    await Promise.all(names.map(
      async (name) =>
        `--- ${name}\n${(await readFile(join(dir, name), 'utf8')).trimEnd().split('\n').slice(-15).map((line) => line.slice(0, 400)).join('\n')}`,
    ))
  ).join('\n');
}

describe('a target behind NAT that may only open TCP 443, in network namespaces', { timeout: 900_000 }, () => {
  before(async () => {
    network = makeNatNetwork();
    dir = await mkdtemp(join(tmpdir(), 'isthmus-namespaces-'));
    internet = network.agent('internet');
    await internet.ask(
      { kind: 'relay', port: RELAY_PORT, toHost: SOURCE_ADDRESS, toPort: 443, plainTexts: PLAIN_TEXT },
    );
    startCapture('internet', 'to-router');
    startCapture('internet', 'to-source');
    [source, target] = await Promise.all([startCluster('source'), startCluster('target')]);
  });
  after(async () => {
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
    await Promise.all([source, target].map((cluster) => cluster?.client.transport.close()));
    for (const cluster of [source, target]) cluster?.bridge.close();
    await network?.remove();
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  });

  /** A step; when it fails the ends of the logs tell why. */
  const step = (name: string, work: () => Promise<void>) =>
    it(name, { timeout: 300_000 }, async () => {
      await work().catch(async (error: unknown) => {
        process.stderr.write(`${await logEnds()}\n`);
        throw error;
      });
    });

  step('has no other way: nothing reaches it, and it reaches nothing but port 443', async () => {
    await source.agent.ask({ kind: 'serve', port: 8080 });
    await target.agent.ask({ kind: 'serve', port: 443 });
    const reaches = async (agent: NamespaceAgent, host: string, port: number) =>
      (await agent.ask({ kind: 'try', host, port }))['isReached'];
    assert.equal(await reaches(internet, SOURCE_ADDRESS, 8080), true);
    assert.equal(await reaches(target.agent, SOURCE_ADDRESS, 8080), false);
    assert.equal(await reaches(target.agent, SOURCE_ADDRESS, 443), true); // the relay
    for (const host of [TARGET_ADDRESS, ROUTER_ADDRESS]) assert.equal(await reaches(source.agent, host, 443), false);
  });

  step('joins the clusterset from behind NAT and has a cable', async () => {
    const at = (cluster: ClusterThere) => ['--kubeconfig', cluster.inside];
    await isthmus(
      'source', 'broker', 'deploy', '--url', `https://${BROKER_ADDRESS}:443`, '--no-workload', ...at(source),
    );
    start('source', 'broker', 'broker', 'run', '--listen', `${BROKER_ADDRESS}:443`, ...at(source));
    await Promise.all([source, target].map(({ outside }) => isthmus('here', 'install', '--kubeconfig', outside)));
    for (
      const [place, cluster, more] of [
        ['source', source, ['--address', `${SOURCE_ADDRESS}:443`]], ['target', target, []],
      ] as const
    ) {
      const token = await isthmus('source', 'broker', 'token', '--cluster-id', place, ...at(source));
      await until(
        'the broker',
        () => isthmus(place, 'gateway', 'join', token, '--cluster-id', place, ...more, ...at(cluster)).then(() => true),
        60,
      );
    }
    const joined = performance.now();
    startSourceGateway();
    start('target', 'gateway-target', 'gateway', 'run', '--name', 'gw-target', '--listen', 'none', ...at(target));
    await until('a cable', isConnected);
    figures['connectedAfterMs'] = Math.round(performance.now() - joined);
    const [gateway] = await source.client.list(CLUSTERSET_GATEWAYS, { namespace: DEFAULT_INSTALL_NAMESPACE });
    figures['connection'] = gateway?.status?.connections[0];
  });

  step('runs elected pods of the source, with what follows them, through the gateway alone', async () => {
    start(
      'target', 'isthmus-target', 'run', '--kubeconfig', target.inside, '--components', 'delegate-controller,peering',
    );
    await isthmus('here', 'install', '--webhook-url', 'https://127.0.0.1:9443', '--kubeconfig', source.outside);
    start(
      'source', 'isthmus-source', 'run', '--kubeconfig', source.inside, '--components',
      'webhook,scheduler,delegate-controller,virtual-node,kubelet-api,peering', '--no-target', '--webhook-host',
      '127.0.0.1', '--webhook-port', '9443', '--gateway', PIPE, ...KUBELET,
    );
    // Joining goes through the tunnel as well: from here there is no other way to the target.
    const invitation =
      await isthmus('target', 'invite', '--all-namespaces', '--name', 'target', '--kubeconfig', target.inside);
    const joined = isthmus(
      'source', 'join', invitation, '--kubeconfig', source.inside, '--gateway', PIPE, '--gateway-cluster', 'target',
    );
    const isReady = async () => (await source.client.get(CLUSTER_TARGETS, { name: 'target' })).status?.conditions?.some(
      ({ type, status, observedGeneration }) => type === 'Ready' && status === 'True' && (observedGeneration ?? 0) > 0,
    ) === true;
    figures['targetReadyAfterMs'] = Math.round(await until('the target to be Ready', isReady, 90));
    assert.match(await joined, /is Ready/);
    await source.client.apply(
      NAMESPACES, { metadata: { name: POD_NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } },
      'isthmus-soak',
    );
    await target.client.apply(NAMESPACES, { metadata: { name: POD_NAMESPACE } }, 'isthmus-soak');
    await source.client.create(
      CONFIG_MAPS,
      { metadata: { name: 'settings', namespace: POD_NAMESPACE }, data: { setting: MARKER } } as KubernetesObject,
    );
    await createPods(1);
    figures['firstPodRunningAfterMs'] =
      Math.round(await until('the first pod', async () => (await podsOf(source)).some(isRunning)));
    await createPods(19);
    await untilAllRun();
    const followed = await target.client.list(CONFIG_MAPS, { namespace: POD_NAMESPACE });
    assert.ok(
      followed.some(
        (configMap) => (configMap as { readonly data?: Record<string, string> }).data?.['setting'] === MARKER,
      ),
      'the ConfigMap did not follow',
    );
    await source.client.delete(PODS, { namespace: POD_NAMESPACE, name: 'pod-0' }, { gracePeriodSeconds: 1 });
    count -= 1;
    await until(
      'its delegate to go as well',
      async () => (await podsOf(source)).length === count && (await podsOf(target)).length === count,
    );
  });

  step('serves logs and exec of those pods, asked of the API server of the source', async () => {
    const { transport } = source.client;
    const signal = AbortSignal.timeout(60_000);
    const path = (operation: string) => `/api/v1/namespaces/${POD_NAMESPACE}/pods/pod-1/${operation}`;
    let log = '';
    await until('the log', async () => {
      const { response } = await openExchange(transport, { method: 'GET', path: path('log'), query: [] }, signal);
      log = await text(response);
      return response.statusCode === 200;
    });
    assert.match(log, /log of a simulated container in cluster target-1/);
    const stream = await openPodStream(
      transport,
      {
        path: path('exec'),
        query: [['container', 'main'], ['stdout', 'true'], ['stderr', 'true'], ...['sh', '-c', `echo ${MARKER}`].map(
          (word) => ['command', word] as const,
        )],
      },
      signal,
    );
    const { stdout, status } = await stream.ended();
    assert.equal(stdout, `${MARKER}\n`);
    assert.equal((JSON.parse(status) as { readonly status: string }).status, 'Success');
    const audited = (await readFile(join(dir, 'gateway-target.log'), 'utf8')).split('\n')
      .filter((line) => line.includes('"lane":"bulk"') && line.includes('"direction":"in"'));
    figures['streamsInTheLaneOfBulk'] = audited.length;
    assert.ok(audited.length >= 2, 'logs and exec did not take the lane of bulk');
  });

  step('forwards a port of those pods, asked with kubectl of the API server of the source', async () => {
    const { kubectl: [program, tool] } =
      await ensurePackagingTools(environment(), () => undefined, AbortSignal.timeout(240_000));
    const forwarding =
      spawn(program, [tool, '--kubeconfig', source.outside, '-n', POD_NAMESPACE, 'port-forward', 'pod/pod-1', ':80']);
    try {
      let said = '';
      for (const output of [forwarding.stdout, forwarding.stderr]) {
        output.on('data', (chunk: Buffer) => (said += chunk.toString()));
      }
      const portOf = () => Number(/127\.0\.0\.1:(\d+)/.exec(said)?.[1] ?? 0);
      await until('the forwarded port', () => portOf() > 0 || Promise.reject(new Error(said)), 60);
      const sent = randomBytes(1 << 20);
      const socket = connectTcp({ host: '127.0.0.1', port: portOf() });
      const parts: Buffer[] = [];
      socket.on('error', () => undefined).on('data', (chunk: Buffer) => void parts.push(chunk)).write(sent);
      figures['oneMiBThereAndBackThroughAForwardedPortMs'] = Math.round(await until(
        'the echo of the container', () => parts.reduce((sum, { length }) => sum + length, 0) >= sent.length, 60,
      ));
      socket.destroy();
      assert.ok(Buffer.concat(parts).equals(sent), 'the echo differs from what was sent');
    } finally {
      forwarding.kill();
    }
  });

  step('is reached by kubectl with the kubeconfig that a command prints', async () => {
    const { kubectl } = await ensurePackagingTools(environment(), () => undefined, AbortSignal.timeout(240_000));
    const file = join(dir, 'through-the-gateway.kubeconfig');
    await writeFile(
      file,
      await isthmus('source', 'gateway', 'kubeconfig', 'target', '--kubeconfig', target.inside, '--endpoint', PIPE),
      { mode: 0o600 },
    );
    const { stdout } = await promisify(execFile)(
      'ip',
      [
        'netns', 'exec', network.nameOf('source'), ...kubectl, '--kubeconfig', file, '-n', POD_NAMESPACE, 'get', 'pods',
        '-o', 'name',
      ],
      { timeout: 60_000 },
    );
    assert.equal(stdout.trim().split('\n').length, count);
  });

  step('is peered again through the gateway alone, after its target had lost the way', async () => {
    const found = () => source.client.get(CLUSTER_TARGETS, { name: 'target' });
    const isReady = async () =>
      (await found()).status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    await source.client.patch(
      CLUSTER_TARGETS, { name: 'target' }, { patchType: 'merge', patch: { spec: { gateway: null } } },
    );
    await until('a target without a way', async () => !(await isReady()), 90);
    const since = performance.now();
    // The target's kubeconfig names a loopback address of the target's own network.
    const said = await isthmus(
      'source', 'peer', '--all-namespaces', '--source-kubeconfig', source.inside, '--target-kubeconfig', target.inside,
      '--name', 'target', '--gateway', PIPE, '--gateway-cluster', 'target',
    );
    assert.match(said, /ClusterTarget target is Ready/);
    figures['peeredThroughTheGatewayMs'] = Math.round(performance.now() - since);
    assert.deepEqual((await found()).spec.gateway, { cluster: 'target' });
    await createPods(1);
    await untilAllRun();
  });

  step('gets its session back after each flipped bit, and accepts no record twice', async () => {
    const resumed: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const spoiled = async () => Number((await internet.ask({ kind: 'look' }))['flips']) + Number(
        (await internet.ask({ kind: 'look' }))['repeats'],
      );
      const before = await spoiled();
      await internet.ask({ kind: 'spoil', how: round % 2 === 0 ? 'flip' : 'repeat' });
      await createPods(1);
      await until('a spoiled chunk', async () => (await spoiled()) > before);
      resumed.push(Math.round(await until('a call', call, 30)));
    }
    await untilAllRun();
    const { flips = 0, repeats = 0 } = await internet.ask({ kind: 'look' });
    Object.assign(figures, { flips, repeats, resumedAfterMsWithACommandEach: resumed });
    assert.deepEqual([flips, repeats], [5, 5]);
    assert.ok(resumed.every((ms) => ms <= MAX_RESUME_MS));
  });

  step('takes nothing from a stranger who sends a recorded session again', async () => {
    const opened = async () => (await readFile(join(dir, 'gateway-source.log'), 'utf8')).split('\n')
      .filter((line) => line.includes('"direction":"in"')).length;
    const before = await opened();
    const { recorded = '' } = await internet.ask({ kind: 'look' });
    assert.ok(String(recorded).length > 1_000);
    const { answer = '' } =
      await internet.ask({ kind: 'replay', host: SOURCE_ADDRESS, port: 443, bytes: String(recorded) });
    const bytes = Buffer.from(String(answer), 'base64');
    for (const text of PLAIN_TEXT) assert.equal(bytes.includes(text), false);
    assert.equal(await opened(), before, 'a stream was opened');
    figures['replayedBytes'] = Buffer.from(String(recorded), 'base64').length;
  });

  step('goes on with frames of 1280 bytes and 5 % of all packets lost, also when a gateway is killed', async () => {
    network.worsen(5, 1_280);
    const began = performance.now();
    await createPods(20);
    await untilAllRun(120);
    figures['twentyPodsWithLossMs'] = Math.round(performance.now() - began);
    const inside = spawnedPid(sourceGateway);
    const ended = once(sourceGateway, 'exit');
    process.kill(inside, 'SIGKILL');
    await ended;
    const since = performance.now();
    startSourceGateway();
    await until('a call', call, 60);
    figures['resumedAfterKillWithLossMs'] = Math.round(performance.now() - since);
    await createPods(5);
    await untilAllRun(120);
    figures['lostPackets'] = network.lostPackets();
    assert.ok(Number(figures['lostPackets']) > 10);
    assert.ok(Number(figures['resumedAfterKillWithLossMs']) <= MAX_RESUME_MS);
  });

  step('shows those in between TLS on port 443 and no plain text', async () => {
    for (const { process: tcpdump } of captures) {
      const end = once(tcpdump, 'exit');
      tcpdump.kill('SIGTERM');
      await end;
    }
    const told = await Promise.all(captures.map(async ({ file }) => {
      const bytes = await readFile(file);
      for (const text of PLAIN_TEXT) assert.equal(bytes.includes(text), false, `"${text}" was seen in ${file}`);
      const capture = readCapture(bytes);
      const ours = capture.segments.filter(({ ports }) => ports.includes(443));
      assert.deepEqual(
        [...beginnings({ ...capture, segments: ours })].filter(([, first]) => first.readUInt8(0) !== TLS_HANDSHAKE)
          .map(([flow]) => flow),
        [],
      );
      const others = capture.segments.filter(({ ports, payload }) => !ports.includes(443) && payload.length > 0);
      assert.deepEqual([...new Set(others.map(({ flow }) => flow))], []);
      return {
        bytes: bytes.length, connections: beginnings({ ...capture, segments: ours }).size,
        otherProtocols: [...new Set(capture.otherProtocols)],
      };
    }));
    figures['captures'] = told;
    assert.ok(told.every(({ bytes }) => bytes > 100_000));
  });
});

/** `ip netns exec` becomes the program itself. */
function spawnedPid({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('it does not run');
  return pid;
}
