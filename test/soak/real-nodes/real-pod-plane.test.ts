// `npm run soak -- real-nodes`: the pod plane by the chart's DaemonSet on real nodes. Two clusters of two nodes: pods
// reach pods under their own addresses, Services of the other cluster answer by name over TCP and UDP, a gateway that
// is killed is replaced, and one stream is compared with that between two nodes of one cluster.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { exportService } from '../../../cli/services/service.ts';
import { runInNetwork } from '../../../sandbox/real-nodes/namespace-process.ts';
import type { RealNode } from '../../../sandbox/real-nodes/real-node.ts';
import { untilEqual } from '../../support/worlds/clusterset-world.ts';
import { eventually } from '../../support/history/eventually.ts';
import type { LoadReport, PodAnswer } from '../../support/network/namespace-pod.ts';
import {
  ask, paymentService, PEERS, RealClusterset, type Peer, type RealMember,
} from '../../support/real-nodes/real-clusterset.ts';
import { KINDS } from '../../support/real-nodes/real-world.ts';

const run = promisify(execFile);
const NAME = `payment-api.${PEERS}.svc.clusterset.local`;
const RUNS = 5;
const FLOOD_MS = 3_000;
/** On a machine so busy that Leases run out, the pod plane comes and goes. In ms. */
const TIMEOUT_MS = 240_000;
const signal = AbortSignal.timeout(1_500_000);
const tell = (line: string): void => void process.stdout.write(`${line}\n`);

let world: RealClusterset;
let eu: RealMember;
let us: RealMember;
/** Pods on gateway and worker nodes. */
let euPods: readonly [Peer, Peer];
let usPods: readonly [Peer, Peer];
/** Names of the nodes that run {@link usPods}. */
let usNodes: readonly string[];

async function peersOf(member: RealMember): Promise<readonly [Peer, Peer]> {
  const { gateway, worker } = await world.rolesIn(member);
  return Promise.all([
    world.startPeer(member, `${member.id}-gateway-pod`, gateway),
    world.startPeer(member, `${member.id}-worker-pod`, worker),
  ]);
}

before(async () => {
  world = await RealClusterset.start(signal);
  [eu, us] = world.members;
  const { gateway, worker } = await world.rolesIn(us);
  usNodes = [gateway.plan.name, worker.plan.name];
  [euPods, usPods] = await Promise.all([peersOf(eu), peersOf(us)]);
});
after(() => world?.stop());

const get = (from: Peer, host: string): Promise<PodAnswer> =>
  ask(from, { ask: 'get', url: `http://${host}:8080/`, timeoutMs: 10_000 });
const datagram = (from: Peer, host: string): Promise<PodAnswer> =>
  ask(from, { ask: 'datagram', host, port: 8_083, timeoutMs: 5_000 });

describe('pods of two clusters', () => {
  it('reach one another from all nodes, over TCP and UDP, and are seen under their own addresses', async () => {
    for (const [sources, servers] of [[euPods, usPods], [usPods, euPods]] as const) {
      for (const from of sources) {
        for (const to of servers) {
          const expected = { pod: to.name, from: from.address };
          const { pod, from: seen } = await eventually(`${from.name} to ${to.name}`, () => get(from, to.address));
          assert.deepEqual({ pod, from: seen }, expected);
          assert.deepEqual(await eventually('a datagram', () => datagram(from, to.address)), expected);
        }
      }
    }
  });
});

describe('a Service of the other cluster', () => {
  it('answers by its name, over TCP and UDP, with the pods there', async () => {
    await us.client.apply(KINDS.services, paymentService(), 'test');
    await exportService(us.client, { namespace: PEERS, name: 'payment-api', waitSeconds: 60 }, signal);
    for (const way of [get, datagram]) {
      for (const from of euPods) {
        await eventually(`${from.name} knows ${NAME}`, () => way(from, NAME), 120_000);
        const seen = new Set<string>();
        await eventually('an answer of each', async () => {
          seen.add((await way(from, NAME)).pod);
          return seen.size === usPods.length;
        });
        assert.deepEqual([...seen].toSorted(), usPods.map(({ name }) => name).toSorted());
      }
    }
  });
});

async function flood(from: Peer, to: Peer): Promise<number> {
  return (await ask<{ readonly gigabits: number }>(from, { ask: 'flood', host: to.address, ms: FLOOD_MS })).gigabits;
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

/** Segments that a node's interface takes at once: a real wire carries each in a frame of its own. */
async function setSegments(count: number): Promise<void> {
  for (const { cluster, nodes } of world.members) {
    for (const { plan } of nodes) {
      const pid = await world.pidOf(cluster.name, `${plan.name}/init`);
      await runInNetwork(pid, 'ip', 'link', 'set', 'eth0', 'gso_max_segs', String(count));
    }
  }
}

describe('one stream between pods', () => {
  for (const [what, segments] of [['as the nodes are', 65_535], ['in frames of 1,500 bytes', 1]] as const) {
    it(`flows within a cluster and between clusters, ${what}`, async () => {
      await setSegments(segments);
      const [within, between]: [number[], number[]] = [[], []];
      for (let round = 0; round < RUNS; round += 1) {
        within.push(await eventually('a stream within', () => flood(euPods[0], euPods[1]), TIMEOUT_MS));
        between.push(await eventually('a stream between', () => flood(euPods[0], usPods[0]), TIMEOUT_MS));
      }
      const [own, other] = [median(within), median(between)];
      tell(
        `${what}: ${own.toFixed(2)} Gbit/s from node to node in a cluster, ${other.toFixed(2)} between the clusters, ` +
          `ratio ${(other / own).toFixed(2)} (medians of ${RUNS})`,
      );
      assert.ok(own > 0 && other > 0);
    });
  }
});

/** Ids of processes of a node that run `isthmus gateway node`. */
async function planeProcesses(init: number): Promise<readonly number[]> {
  const { stdout } = await run('nsenter', ['-t', String(init), '-p', '-m', '--', 'sh', '-c',
    'for d in /proc/[0-9]*; do tr "\\0" " " < $d/cmdline | grep -q "^node .*gateway node" && echo ${d#/proc/}; done; ' +
      ':']);
  return stdout.trim().split('\n').filter((line) => line !== '').map(Number);
}

/** Requests and a stream from a pod to one that does not run on the gateway's node, while something happens there. */
async function through(what: string, happens: (gateway: RealNode) => Promise<void>): Promise<LoadReport> {
  const { gateway } = await world.rolesIn(us);
  const [client] = euPods;
  const server = usPods.find((_, index) => usNodes[index] !== gateway.plan.name) ?? assert.fail(gateway.plan.name);
  await eventually('a path', () => get(client, server.address), TIMEOUT_MS);
  await ask(client, { ask: 'stream-begin', host: server.address, port: 8_081 });
  await ask(client, { ask: 'rate-begin', url: `http://${server.address}:8080/`, everyMs: 50, timeoutMs: 20_000 });
  await delay(2_000);
  await happens(gateway);
  await delay(10_000);
  await eventually('a path again', () => get(client, server.address), TIMEOUT_MS);
  await delay(2_000); // a request of the steady rate tells how long it took
  const report = await ask<LoadReport>(client, { ask: 'end' });
  const next = (await world.rolesIn(us)).gateway.plan.name;
  tell(
    `${what}: ${(report.longestGapMs / 1_000).toFixed(1)} s without an answer (8 asked), ${report.failed} of ` +
      `${report.answered + report.failed} requests failed; then ` +
      `${next === gateway.plan.name ? 'it' : 'the other node'} is the gateway`,
  );
  return report;
}

describe('a gateway of the pod plane', () => {
  it('that is killed is replaced, and a stream through it goes on', async () => {
    const report = await through('gateway killed', async ({ plan }) => {
      const init = await world.pidOf(us.cluster.name, `${plan.name}/init`);
      const pids = await planeProcesses(init);
      assert.equal(pids.length, 1, `processes on ${plan.name}`);
      await run('nsenter', ['-t', String(init), '-p', '-m', '--', 'sh', '-c', `kill -9 ${pids[0]}`]);
    });
    assert.ok(report.streamAlive);
    await untilEqual('the cables', () => world.cablesOf(us), ['eu connected'], 120_000);
  });

  it('whose node loses its power is replaced by another node, and a stream goes on', async () => {
    const report = await through("gateway's node without power", (gateway) => gateway.crash(signal));
    assert.ok(report.streamAlive);
  });
});
