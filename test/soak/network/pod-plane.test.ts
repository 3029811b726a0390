// The pod plane between real network namespaces with real WireGuard, nftables, VXLAN and HTTP: `npm run soak --
// pod-plane`. It needs root, iproute2 and nftables, and touches nothing of the machine itself.
import assert from 'node:assert/strict';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { publicKeyOf } from '../../../gateway/protocol/wireguard-keys.ts';
import { environment } from '../../../process/config.ts';
import { ensureWireguard } from '../../../pod-plane/wireguard/wireguard-program.ts';
import { missingForNamespaces, type ClusterWiring } from '../../support/network/network-world.ts';
import type { LoadReport, PodQuestion } from '../../support/network/namespace-pod.ts';
import { newKey, PodPlane, toPeer, type PlaneCluster } from '../../support/network/pod-plane.ts';

const LEASE_MS = 7_000;

const missing = missingForNamespaces([['tcpdump', ['--version']]]);
if (missing !== undefined) throw new Error(`the pod plane cannot be tested here: ${missing}`);
const tell = (line: string): void => void process.stdout.write(`${line}\n`);
const program = await ensureWireguard(environment(), (text) => tell(text), AbortSignal.timeout(300_000));

const WIRINGS: Readonly<Record<string, readonly ClusterWiring[]>> = {
  'with ranges of their own': [{ id: 'a', pods: '10.200' }, { id: 'b', pods: '10.201' }],
  'with the same pod range': [{ id: 'a', pods: '10.200' }, { id: 'b', pods: '10.200' }],
  'with ranges of their own, one behind a NAT that randomises ports':
    [{ id: 'a', pods: '10.200' }, { id: 'b', pods: '10.201', nat: true }],
  'with the same pod range, one behind a NAT that randomises ports':
    [{ id: 'a', pods: '10.200' }, { id: 'b', pods: '10.200', nat: true }],
  'both behind NATs with the same pod range, a third one between':
    [{ id: 'a', pods: '10.200', nat: true }, { id: 'b', pods: '10.200', nat: true }, { id: 'hub', pods: '10.200' }],
};

for (const [name, wirings] of Object.entries(WIRINGS)) {
  describe(`connectivity of clusters ${name}`, () => {
    let plane: PodPlane;
    before(async () => {
      plane = await PodPlane.make(wirings, program);
      tell(`connected after ${await plane.start()} ms`);
    });
    after(() => plane.remove());

    it('every pod reaches every pod of the others, from gateway and other nodes, and is seen under an address of its ' +
      'own', async () => {
      for (const target of plane.clusters) {
        for (const server of plane.pods(target)) {
          const seen = new Set<string>();
          const clients = plane.clusters.filter((one) => one !== target).flatMap((cluster) => plane.pods(cluster));
          for (const client of clients) {
            const answer = await plane.get(client.program, `http://${server.seen}:8080/`);
            assert.deepEqual([answer.pod, answer.from], [server.name, client.seen], `${client.name} → ${server.name}`);
            seen.add(answer.from);
          }
          assert.equal(seen.size, clients.length);
        }
      }
    });

    it('every pod reaches the Service of another cluster, and both of its endpoints', async () => {
      for (const target of plane.clusters) {
        for (const source of plane.clusters.filter((one) => one !== target)) {
          await serve(plane, source, plane.pods(target).map(({ seen }) => seen));
          for (const client of plane.pods(source)) {
            const answers = new Set<string>();
            for (let tries = 0; tries < 40 && answers.size < plane.pods(target).length; tries += 1) {
              answers.add((await plane.get(client.program, 'http://10.96.0.10:8080/')).pod);
            }
            assert.deepEqual(
              [...answers].toSorted(), plane.pods(target).map((pod) => pod.name).toSorted(),
              `${client.name} → Service of ${target.id}`,
            );
          }
        }
      }
    });

    it('answers larger than any packet arrive whole', async () => {
      const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
      for (const [from, to] of [[a, b], [b, a]] as const) {
        const client = plane.pods(from).at(-1);
        const server = plane.pods(to).at(-1);
        assert.equal(
          (await plane.get(client?.program ?? assert.fail(), `http://${server?.seen}:8080/large`)).pod, server?.name,
        );
      }
    });
  });
}

describe('what is on the wire', () => {
  let plane: PodPlane;
  before(async () => {
    plane = await PodPlane.make(WIRINGS['with the same pod range'] ?? [], program);
    await plane.start();
  });
  after(() => plane.remove());

  it('has no word of what pods say, though the pods\' own link has it', async () => {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    // The links between nodes of one cluster end in the router's namespace as well; what is routed between clusters is
    // for this device (-p).
    const between = new Capture(plane.world.router, `net-${b.id}`);
    const inside = new Capture(b.gateway.namespace, 'cni0');
    await Promise.all([between.begun, inside.begun]);
    const marker = 'x'.repeat(100); // what every client sends
    for (const client of plane.pods(a)) {
      for (const server of plane.pods(b)) await plane.get(client.program, `http://${server.seen}:8080/`);
    }
    const [outer, inner] = await Promise.all([between.end(), inside.end()]);
    assert.ok(inner.includes(marker), `the capture would have seen it, in ${inner.length} bytes`);
    assert.ok(outer.length > 10_000, `${outer.length} bytes were captured between the clusters`);
    assert.ok(!outer.includes(marker));
    for (const word of ['HTTP/1.1', 'GET /', '"pod"']) assert.ok(!outer.includes(word), word);
    tell(`captured ${outer.length} bytes between the clusters, ${inner.length} inside`);
  });

  it('is refused when its bits are flipped or its address is another pod\'s: a member sends only from its own ranges',
    async () => {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    const [client] = plane.pods(a);
    const [server] = plane.pods(b);
    // The gateway of `a` gives its pod an address that is not in its ranges; the other side drops what comes.
    await plane.world.exec(
      a.gateway.namespace, 'nft',
      'table ip liar { chain post { type nat hook postrouting priority 98; oifname "isthmus-wg" ip saddr ' +
        `${client?.address} snat to 242.77.0.9\n }\n }`,
    );
    await assert.rejects(plane.get(client?.program ?? assert.fail(), `http://${server?.seen}:8080/`, 1_500));
    await plane.world.exec(a.gateway.namespace, 'nft', 'delete table ip liar');
    assert.equal((await plane.get(client?.program ?? assert.fail(), `http://${server?.seen}:8080/`)).pod, server?.name);
  });

  it('never reaches nodes, nor what lies behind them', async () => {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    const [client] = plane.pods(a);
    const node = b.prefixes[0]?.seen.replace(/\.0\.0\/16$/, '.1.1') ?? '';
    const program = new URL('../../support/network/namespace-pod.js', import.meta.url);
    const onNode = plane.world.start(b.gateway.namespace, program, 'node');
    await onNode.ask({ ask: 'ready' } satisfies PodQuestion);
    const local = plane.pods(b)[0]?.program ?? assert.fail();
    assert.equal((await plane.get(local, `http://${b.gateway.podCIDR.replace('.0/24', '.1')}:8080/`)).pod, 'node');
    await assert.rejects(plane.get(client?.program ?? assert.fail(), `http://${node}:8080/`, 1_500));
    await onNode.kill();
  });
});

describe('what is left behind', () => {
  let plane: PodPlane;
  let untouched: ReadonlyMap<string, string>;
  before(async () => {
    plane = await PodPlane.make(WIRINGS['with the same pod range'] ?? [], program);
    untouched = await snapshot(plane);
  });
  after(() => plane.remove());

  it('is something while it runs', async () => {
    await plane.start();
    const during = changed(untouched, await snapshot(plane));
    assert.deepEqual(during, [
      'a-gateway link',
      'a-gateway route', 'a-gateway rule', 'a-gateway nft', 'a-worker link', 'a-worker route', 'a-worker nft',
      'b-gateway link',
      'b-gateway route', 'b-gateway rule', 'b-gateway nft', 'b-worker link', 'b-worker route', 'b-worker nft',
    ]);
  });

  it('is restored while it runs, whoever takes it away', async () => {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    const client = plane.pods(a).at(-1);
    const server = plane.pods(b).at(-1);
    await plane.world.exec(a.gateway.namespace, 'nft', 'delete table ip isthmus');
    await plane.world.exec(b.gateway.namespace, 'ip', 'route', 'del', a.prefixes[0]?.seen ?? '');
    await plane.world.exec(a.worker.namespace, 'ip', 'link', 'del', 'isthmus-vx');
    await assert.rejects(plane.get(client?.program ?? assert.fail(), `http://${server?.seen}:8080/`, 1_000));
    const begin = performance.now();
    while (
      (
        await plane.get(client?.program ?? assert.fail(), `http://${server?.seen}:8080/`, 1_000).catch(() => undefined)
      ) === undefined
    ) assert.ok(performance.now() - begin < 20_000, 'restored within 20 s');
    tell(`restored after ${Math.round(performance.now() - begin)} ms`);
  });

  it('is nothing when it has ended: links, routes, rules and packet rules equal those before', async () => {
    await plane.stop();
    assert.deepEqual(changed(untouched, await snapshot(plane)), []);
  });

  it('is nothing after a crash as well, once a gateway has run again', async () => {
    await plane.start();
    await plane.kill();
    await plane.start();
    await plane.stop();
    assert.deepEqual(changed(untouched, await snapshot(plane)), []);
  });
});

describe('a gateway that is killed under a stream and 100 requests a second', () => {
  let plane: PodPlane;
  before(async () => {
    plane = await PodPlane.make(WIRINGS['with the same pod range'] ?? [], program);
    await plane.start();
  });
  after(() => plane.remove());

  it('is replaced by a standby with the same key: the stream goes on, and the gap is 8 s at most', async () => {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    const client = plane.pods(a)[0] ?? assert.fail();
    const server = plane.pods(b).at(-1) ?? assert.fail();
    await client.program.ask({ ask: 'stream-begin', host: server.seen, port: 8_081 } satisfies PodQuestion);
    await client.program.ask(
      { ask: 'rate-begin', url: `http://${server.seen}:8080/`, everyMs: 10, timeoutMs: 20_000 } satisfies PodQuestion,
    );
    await delay(2_000);
    plane.prepareGateway(b.standby);
    await plane.gateways.get(b.gateway.name)?.kill();
    // The longest that the lease lets a standby wait: it was renewed just before the end, lasts 6 s, and is asked for
    // each second.
    await delay(LEASE_MS);
    const begin = performance.now();
    await Promise.all([plane.startGateway(b, b.standby), plane.startAgent(b, b.worker, b.standby)]);
    const takenMs = Math.round(performance.now() - begin);
    await delay(4_000);
    const report = await client.program.ask<LoadReport>({ ask: 'end' } satisfies PodQuestion);
    tell(`killed gateway: ${JSON.stringify({ ...report, takenMs })}`);
    assert.ok(report.streamAlive, 'the stream has survived');
    assert.ok(report.longestGapMs <= 8_000, `${report.longestGapMs} ms`);
  });
});

describe('a key that changes under a stream and 100 requests a second', () => {
  let plane: PodPlane;
  before(async () => {
    plane = await PodPlane.make(WIRINGS['with the same pod range'] ?? [], program);
    await plane.start();
  });
  after(() => plane.remove());

  it('costs no request and no stream', async () => {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    const client = plane.pods(a)[0] ?? assert.fail();
    const server = plane.pods(b).at(-1) ?? assert.fail();
    const [old, fresh] = [b.privateKey, newKey()];
    await client.program.ask({ ask: 'stream-begin', host: server.seen, port: 8_081 } satisfies PodQuestion);
    await client.program.ask(
      { ask: 'rate-begin', url: `http://${server.seen}:8080/`, everyMs: 10, timeoutMs: 5_000 } satisfies PodQuestion,
    );
    await delay(1_000);
    await plane.tell(a.gateway, { ask: 'connect', peer: toPeer(b, [publicKeyOf(old), publicKeyOf(fresh)]) });
    await delay(500);
    await plane.tell(b.gateway, { ask: 'key', privateKey: fresh });
    await delay(2_000);
    await plane.tell(a.gateway, { ask: 'connect', peer: toPeer(b, [publicKeyOf(fresh)]) });
    await delay(2_000);
    const report = await client.program.ask<LoadReport>({ ask: 'end' } satisfies PodQuestion);
    tell(`changed key: ${JSON.stringify(report)}`);
    assert.ok(report.streamAlive, 'the stream goes on');
    assert.equal(report.failed, 0);
    assert.ok(report.answered > 300, `${report.answered} requests were answered`);
    assert.ok(report.longestGapMs < 1_000, `${report.longestGapMs} ms`);
  });
});

/** What differs, by node and tool. */
function changed(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] {
  return [...after].filter(([key, text]) => before.get(key) !== text).map(([key]) => key);
}

/** All that a node's network consists of, as its tools print it. */
async function snapshot(plane: PodPlane): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const node of plane.clusters.flatMap(({ gateway, worker, standby }) => [gateway, worker, standby])) {
    found.set(`${node.name} link`, await plane.world.exec(node.namespace, 'ip', '-j', 'link'));
    found.set(
      `${node.name} route`, await plane.world.exec(node.namespace, 'ip', '-j', 'route', 'show', 'table', 'all'),
    );
    found.set(`${node.name} rule`, await plane.world.exec(node.namespace, 'ip', '-j', 'rule'));
    found.set(`${node.name} nft`, await plane.world.exec(node.namespace, 'nft', '-j', 'list', 'ruleset'));
  }
  return found;
}

/** Everything that passes a namespace, or one of its links. */
class Capture {
  readonly begun: Promise<void>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #chunks: Buffer[] = [];

  constructor(namespace: string, device: string) {
    this.#child = spawn(
      'ip', ['netns', 'exec', namespace, 'tcpdump', '-p', '--immediate-mode', '-i', device, '-U', '-w', '-', '-s', '0'],
      { stdio: ['pipe', 'pipe', 'pipe'] },
    );
    this.#child.stdout.on('data', (chunk: Buffer) => this.#chunks.push(chunk));
    this.begun = new Promise((resolve, reject) => {
      this.#child.stderr.setEncoding('utf8').on('data', (text: string) => /listening on/.test(text) && resolve());
      this.#child.once('error', () => reject(new Error('tcpdump is missing: apt-get install tcpdump')));
      this.#child.once('close', () => reject(new Error('tcpdump has ended; is it installed?')));
    });
  }

  async end(): Promise<string> {
    await delay(500);
    this.#child.kill('SIGINT');
    await once(this.#child, 'close');
    return Buffer.concat(this.#chunks).toString('latin1');
  }
}

/** A Service as kube-proxy makes it on each node: one address, spread over endpoints. */
async function serve(plane: PodPlane, { gateway, worker }: PlaneCluster, endpoints: readonly string[]): Promise<void> {
  const map = endpoints.map((address, index) => `${index} : ${address}`).join(', ');
  const rules =
    'table ip proxy\ndelete table ip proxy\ntable ip proxy { chain pre { type nat hook prerouting priority dstnat; ' +
      `ip daddr 10.96.0.10 tcp dport 8080 dnat to numgen random mod ${endpoints.length} map { ${map} }\n }\n }`;
  for (const node of [gateway, worker]) await plane.world.exec(node.namespace, 'nft', rules);
}
