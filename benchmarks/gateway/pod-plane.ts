// P11B: the cost of the pod plane. Two clusters as network namespaces; one TCP stream between pods of their gateway
// nodes, with distinct and with equal CIDRs, against one between the nodes themselves in real frames of 1500 bytes. All
// processes share the machine's cores.
import { environment } from '../../process/config.ts';
import { ensureWireguard } from '../../pod-plane/wireguard/wireguard-program.ts';
import type { PodQuestion } from '../../test/support/network/namespace-pod.ts';
import { missingForNamespaces, type NamespaceProgram } from '../../test/support/network/network-world.ts';
import { PodPlane, type PlaneCluster } from '../../test/support/network/pod-plane.ts';
import type { Benchmark, Measurement } from '../benchmark.ts';
import { spreadOf } from '../results/statistics.ts';

const FLOOD_MS = 3_000;
const POD = new URL('../../test/support/network/namespace-pod.js', import.meta.url);

interface Rates {
  readonly raw: number[];
  readonly tunnel: number[];
}

/** P11B. */
export const POD_PLANE: Benchmark = {
  id: 'P11B',
  title: 'one TCP stream through the pod plane',
  async run({ runs, onProgress }, signal) {
    const missing = missingForNamespaces([['ethtool', ['--version']]]);
    if (missing !== undefined) {
      onProgress(`P11B is left out: ${missing}`);
      return [];
    }
    const program = await ensureWireguard(environment(), onProgress, signal);
    const plain = await measure(program, '10.201', runs, signal);
    const mapped = await measure(program, '10.200', runs, signal);
    return [
      row(
        'tunnel',
        'one TCP stream between pods through WireGuard (user space), MTU 1420, against the nodes\' own network in ' +
          'frames of 1500 bytes',
        plain, 0.5,
      ),
      ...natRow(plain, mapped),
    ];
  },
};

function natRow(plain: Rates, mapped: Rates): readonly Measurement[] {
  // Each is first compared with the raw rate of its own world, so that a slower minute of the machine is not taken for
  // the cost of the mapping.
  const share = ({ raw, tunnel }: Rates) => tunnel.map((one, index) => one / (raw[index] ?? one));
  return [{
    ...row(
      'nat', 'the same with identical pod ranges on both sides, both as shares of the raw rate beside them',
      { tunnel: share(mapped), raw: share(plain) }, 0.85,
    ),
    unit: '',
  }];
}

function row(variant: string, title: string, { tunnel, raw }: Rates, atLeast: number): Measurement {
  return {
    variant, title, unit: 'Gbit/s', ours: spreadOf(tunnel), reference: spreadOf(raw),
    goal: { figure: 'ratio', atLeast },
  };
}

/** Raw and through the tunnel, in turn, so that both see the same machine. */
async function measure(program: string, pods: string, runs: number, signal: AbortSignal): Promise<Rates> {
  const plane = await PodPlane.make([{ id: 'a', pods: '10.200' }, { id: 'b', pods }], program);
  try {
    const [a, b] = plane.clusters as [PlaneCluster, PlaneCluster];
    await plane.world.sendRealFrames();
    await plane.start();
    const [onNode, client, server] =
      [plane.world.start(a.gateway.namespace, POD, 'node'), plane.pods(a)[0], plane.pods(b)[0]];
    await plane.world.start(b.gateway.namespace, POD, 'node').ask({ ask: 'ready' } satisfies PodQuestion);
    if (client === undefined || server === undefined) throw new Error('a gateway node lacks a pod');
    const rates: Rates = { raw: [], tunnel: [] };
    for (let run = 0; run < runs; run += 1) {
      signal.throwIfAborted();
      rates.raw.push(await flood(onNode, b.gateway.address));
      rates.tunnel.push(await flood(client.program, server.seen));
    }
    return rates;
  } finally {
    await plane.remove();
  }
}

async function flood(from: NamespaceProgram, host: string): Promise<number> {
  return (
    await from.ask<{ readonly gigabits: number }>({ ask: 'flood', host, ms: FLOOD_MS } satisfies PodQuestion)
  ).gigabits;
}
