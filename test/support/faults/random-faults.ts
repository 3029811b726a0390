// A long run under random faults: objects change all the time while the proxy in front of the API server fails in every
// way it can. At the end the informer must hold what a fresh list holds, and must have told every key's versions in
// order.
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import type { ResourceType } from '../../../api/objects/group-version.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import type { Cluster } from '../../../sandbox/control-plane/control-plane.ts';
import { EventReplays } from './event-replays.ts';
import { FaultProxy, type Fault } from './fault-proxy.ts';
import { FollowedCollection } from '../history/followed-collection.ts';
import { seededRandom } from '../objects/seeded-random.ts';

const CONFIG_MAPS: ResourceType =
  { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const TIMINGS = {
  callTimeoutMs: 2_000, connectTimeoutMs: 1_000, pingAfterMs: 500, pingTimeoutMs: 500, silenceMs: 2_000,
  watchSilenceMs: 3_000,
};
const NAMESPACE = 'default';

/** What a run did. */
export interface FaultRun {
  readonly seconds: number;
  readonly seed: number;
  readonly writes: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly changesTold: number;
  readonly breaks: number;
  readonly lists: number;
}

/** Runs for `ms`. Throws an assertion error when something was lost or out of order, with the seed in its message. */
export async function runRandomFaults(cluster: Cluster, admin: ClusterClient, options: {
  readonly ms: number; readonly seed: number; readonly pods?: boolean
}): Promise<FaultRun> {
  const random = seededRandom(options.seed);
  const proxy = await FaultProxy.start(cluster.kubeconfig);
  const transport = new Transport(proxy.connection, 'isthmus-soak/1', TIMINGS);
  const stop = new AbortController();
  try {
    const label = `soak-${options.seed}`;
    const followed = await new FollowedCollection(
      new ClusterClient(transport), CONFIG_MAPS, { namespace: NAMESPACE, labelSelector: label },
    ).start(stop.signal);
    const until = performance.now() + options.ms;
    const [writes, faults] =
      await Promise.all([writeUntil(admin, label, until, random), injectUntil(proxy, until, random)]);
    await followed.untilEqual(() => admin.list(CONFIG_MAPS, { namespace: NAMESPACE, labelSelector: label }), 20_000);
    followed.assertOrdered();
    return {
      seconds: options.ms / 1_000, seed: options.seed, writes, faults, changesTold: followed.changes,
      breaks: followed.breaks, lists: followed.lists,
    };
  } catch (error) {
    throw new Error(`random faults with seed ${options.seed}: ${String(error)}`, { cause: error });
  } finally {
    stop.abort();
    await transport.close();
    await proxy.stop();
  }
}

async function writeUntil(admin: ClusterClient, label: string, until: number, random: () => number): Promise<number> {
  let writes = 0;
  while (performance.now() < until) {
    const at = { namespace: NAMESPACE, name: `${label}-${Math.floor(random() * 60)}` };
    if (random() < 0.2) await admin.delete(CONFIG_MAPS, at).catch(() => undefined);
    else await admin.apply(
      CONFIG_MAPS,
      {
        metadata: { ...at, labels: { [label]: '' } },
        data: { text: '€ü😀'.repeat(Math.floor(random() * 200)), n: String(writes) },
      } as KubernetesObject,
      'soak',
    );
    writes += 1;
    if (random() < 0.1) await sleep(random() * 50);
  }
  return writes;
}

async function injectUntil(proxy: FaultProxy, until: number, random: () => number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const replays = new EventReplays();
  const answered = (status: number, headers = {}): Fault => ({ kind: 'answer', status, headers });
  const faults: Record<string, () => void | Promise<void>> = {
    cut: () => proxy.cut(),
    'clean end': () => proxy.endWatches(),
    '410 on the stream': () => proxy.failWatches(410, 'Expired'),
    '500 on the stream': () => proxy.failWatches(500, 'InternalError'),
    freeze: () => proxy.freezeWatches(),
    'black hole': async () => {
      proxy.blackHole();
      await sleep(500 + random() * 2_500);
      proxy.heal();
    },
    refuse: async () => {
      proxy.refuse();
      await sleep(random() * 1_500);
      proxy.heal();
    },
  };
  // What befalls single requests all the time: errors, lateness, cuts inside lines and characters, replays.
  proxy.fate = ({ url }) => {
    const dice = random();
    if (dice < 0.05) return answered([410, 500, 503, 504][Math.floor(random() * 4)] ?? 500);
    if (dice < 0.07) return answered(429, { 'retry-after': '1' });
    if (dice < 0.12) return { kind: 'delay', ms: random() * 1_000 };
    if (dice < 0.4) return { kind: 'cut-after', bytes: 1 + Math.floor(random() * 20_000) };
    // A list holds what exists: only a watch may bring again what it brought before.
    const isResumed = url.searchParams.has('resourceVersion');
    return dice < 0.7 && isResumed
      ? { kind: 'rewrite', line: (line) => [line, ...(random() < 0.3 ? [line] : []), ...replays.after(line)] }
      : undefined;
  };
  while (performance.now() < until) {
    const names = Object.keys(faults);
    const name = names[Math.floor(random() * names.length)] ?? 'cut';
    await faults[name]?.();
    counts[name] = (counts[name] ?? 0) + 1;
    await sleep(100 + random() * 900);
  }
  proxy.fate = () => undefined;
  proxy.cut();
  return counts;
}
