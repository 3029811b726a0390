// P9: one of ten targets becomes a black hole, and the others must not be affected. Measures how fast the other nine
// get pods Running against the same nine in good health, alternating: in a burst that begins with the black hole, and
// in one that comes when it is known. Pods sent to the black hole wait for it, and run once it is gone.
import { DEFAULT_KUBECONFIG_KEY } from '../../api/kinds/cluster-target.ts';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { CLUSTER_TARGETS, SECRETS } from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import { AppError } from '../../process/errors.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { withIsthmusUnderLoad, type IsthmusUnderLoad } from '../load/isthmus-under-load.ts';
import { spreadOf } from '../results/statistics.ts';
import { TcpRelay } from '../../test/support/network/tcp-relay.ts';

const TARGETS = 10;
const PODS = 200;
/** Of the 180 that the nine get when pods are spread evenly: the rate is taken when so many of them run. */
const COUNTED = 170;
const LOST = 'target-1';
const POLLING = { forMs: 120_000, everyMs: 100 };

/** P9. */
export const BLACK_HOLE: Benchmark = {
  id: 'P9',
  title: `pods per second that get Running in the others while one of ${TARGETS} targets is black-holed`,
  async run(context, signal) {
    const shape = { targets: TARGETS, audit: false, clientQps: 2_000, nodes: 2 };
    return withIsthmusUnderLoad(shape, context, (under, stop) => measure(under, context, stop), signal);
  },
};

async function measure(
  under: IsthmusUnderLoad, context: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const [source] = under.sandbox.clusters;
  const lost = under.sandbox.clusters.find(({ name }) => name === LOST);
  if (source === undefined || lost === undefined) throw new AppError('NotFound', 'The sandbox lacks a cluster.');
  const { client } = await openCluster({ kubeconfigPath: source.kubeconfigPath, userAgent: 'benchmark-black-hole/1' });
  const relay = await TcpRelay.start(Number(new URL(lost.server).port));
  try {
    await sendThrough(client, relay, signal);
    await untilReady(client, 'True', signal);
    return toMeasurements(await measureRuns({ under, client, relay }, context, signal));
  } finally {
    await relay.stop();
    await client.transport.close();
  }
}

/** Pods a second in the nine others. */
type Rates = Readonly<Record<'well' | 'sudden' | 'known', number[]>>;

interface World {
  readonly under: IsthmusUnderLoad;
  readonly client: ClusterClient;
  readonly relay: TcpRelay;
}

async function measureRuns(
  { under, client, relay }: World, { runs, onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<Rates> {
  const rates: Rates = { well: [], sudden: [], known: [] };
  const { elected, settle } = under;
  const lostNode = virtualNodeName({ kind: 'ClusterTarget', name: LOST });
  const enough = { pods: COUNTED, where: (nodeName: string) => nodeName !== lostNode };
  const burst = async (list: number[]): Promise<void> =>
    void list.push((await elected.burst(PODS, signal, enough)).podsPerSecond);
  for (let run = 1; run <= runs; run += 1) {
    await burst(rates.well);
    await elected.untilAllRunning(signal);
    await elected.clear(signal);
    await settle();
    relay.blackHole();
    await burst(rates.sudden);
    await untilReady(client, 'False', signal);
    await burst(rates.known);
    relay.heal();
    await untilReady(client, 'True', signal);
    await elected.untilAllRunning(signal);
    await elected.clear(signal);
    await settle();
    const figures = Object.entries(rates).map(([name, list]) => `${name} ${list.at(-1)?.toFixed(1) ?? ''}`);
    onProgress(`P9, run ${run} of ${runs}: ${figures.join(', ')} pods/s in the other ${TARGETS - 1} targets`);
  }
  return rates;
}

function toMeasurements({ well, sudden, known }: Rates): readonly Measurement[] {
  const shared = { unit: 'pods/s', reference: spreadOf(well), goal: { figure: 'ratio', atLeast: 0.95 } as const };
  const what = `burst of ${PODS}, rate of the other ${TARGETS - 1} targets until ${COUNTED} run there`;
  return [
    {
      ...shared, variant: 'sudden', title: `${what}, one target black-holed as the burst begins`,
      ours: spreadOf(sudden),
    },
    { ...shared, variant: 'known', title: `${what}, one target known to be unreachable`, ours: spreadOf(known) },
  ];
}

/** Lets the source reach the target through the relay, by its Secret, as if the target had moved. */
async function sendThrough(client: ClusterClient, relay: TcpRelay, signal: AbortSignal): Promise<void> {
  const { spec } = await client.get(CLUSTER_TARGETS, { name: LOST }, signal);
  const secret = spec.kubeconfigSecret;
  const { namespace, name, key } =
    { namespace: DEFAULT_INSTALL_NAMESPACE, name: '', key: DEFAULT_KUBECONFIG_KEY, ...secret };
  const { data } = await client.get(SECRETS, { namespace, name }, signal);
  const kubeconfig = Buffer.from(data?.[key] ?? '', 'base64').toString('utf8');
  const moved = kubeconfig.replace(/(https:\/\/127\.0\.0\.1:)\d+/, `$1${relay.port}`);
  if (moved === kubeconfig) throw new AppError('NotFound', `The kubeconfig of ${LOST} has no server on 127.0.0.1.`);
  await client.patch(
    SECRETS, { namespace, name },
    { patchType: 'merge', patch: { data: { [key]: Buffer.from(moved).toString('base64') } } }, signal,
  );
}

async function untilReady(client: ClusterClient, wanted: 'True' | 'False', signal: AbortSignal): Promise<void> {
  const isReady = async (): Promise<true | undefined> => {
    const { status } = await client.get(CLUSTER_TARGETS, { name: LOST }, signal);
    return findCondition(status?.conditions, 'Ready')?.status === wanted ? true : undefined;
  };
  if ((await pollUntil(isReady, POLLING, signal)) === undefined) {
    throw new AppError('Timeout', `${LOST} did not get Ready=${wanted}.`);
  }
}
