// Environment of the end-to-end benchmarks: real control planes, Isthmus as users run it, and three loads: elected pods
// in the source, plain pods in a target's namespace that is not opted in, and pods by a bare chain of requests.
import { mkdtemp, mkdir, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../api/objects/keys.ts';
import { NAMESPACES, SERVICE_ACCOUNTS } from '../../api/resource-types.ts';
import { pollUntil } from '../../cli/clusters/poll-until.ts';
import { ApiError } from '../../kubernetes/flow/api-error.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { AppError } from '../../process/errors.ts';
import { Shutdown } from '../../process/lifecycle.ts';
import { delegateByPods } from '../../test/support/worlds/delegate-by-pods.ts';
import { startComponent } from '../../sandbox/processes/component-process.ts';
import { startIsthmus, type IsthmusInSandbox } from '../../sandbox/isthmus-in-sandbox.ts';
import { readRecord } from '../../sandbox/sandbox-record.ts';
import { startSandbox, type Sandbox } from '../../sandbox/sandbox.ts';
import { BareChain } from './bare-chain.ts';
import type { BenchmarkContext } from '../benchmark.ts';
import { PodLoad } from './pod-load.ts';

/** What to run on. */
export interface LoadShape {
  readonly targets: number;
  /** Nodes of each target, 110 pods to a node; 12, room for a burst of 1,000 in one target, when missing. */
  readonly nodes?: number;
  /** Requests a second of every kube-scheduler and kube-controller-manager; stock limits when missing. */
  readonly clientQps?: number;
  /** Whether the API servers write audit logs, which costs them time. */
  readonly audit: boolean;
  /** How pods are delegated; PodChaperon mode when missing. */
  readonly mode?: DelegationMode;
}

/** A running sandbox with its loads. */
export interface IsthmusUnderLoad {
  readonly sandbox: Sandbox;
  /** Elected pods, made in the source. */
  readonly elected: PodLoad;
  /** Pods of the first target that are none of ours. */
  readonly plain: PodLoad;
  /** Pods of the source that run in the targets by nothing but the requests for that. */
  readonly bare: BareChain;
  /** Process ids: `isthmus/<cluster>`, `<cluster>/<component>`, and `load generator`. */
  readonly processes: ReadonlyMap<string, number>;
  /** Gives client limits of the control planes time to fill up again, so that one burst does not slow the next. */
  readonly settle: () => Promise<void>;
}

/** Name of the load generator towards API servers; it is none of our components. */
const USER_AGENT = 'benchmark-load/1';
const FIELD_MANAGER = 'benchmark-load';
const NODES = 12;
const ELECTED_NAMESPACE = 'elected';
const PLAIN_NAMESPACE = 'plain';
const BARE_NAMESPACE = 'bare';
/** kube-scheduler's stock client may send 100 requests ahead of 50 a second: two seconds to have them again. */
const SETTLE_MS = 2_500;
const WARM_UP_PODS = 50;
const POLLING = { forMs: 30_000, everyMs: 100 };

/**
 * Starts everything, warms it up, lets `measure` use it until the signal that it is given aborts, and clears it away,
 * whatever happens.
 */
export async function withIsthmusUnderLoad<T>(
  shape: LoadShape,
  context: BenchmarkContext, measure: (under: IsthmusUnderLoad, signal: AbortSignal) => Promise<T>, signal: AbortSignal,
): Promise<T> {
  const shutdown = new Shutdown();
  try {
    const dir = await mkdtemp(join(tmpdir(), 'isthmus-bench-'));
    shutdown.add({ name: 'folder', stop: () => rmdir(dir) });
    const { onProgress } = context;
    const sandbox = await startSandbox({ nodes: NODES, ...shape, dir, gpus: 0, onProgress }, signal);
    shutdown.add({ name: 'sandbox', stop: () => sandbox.stop() });
    const stop = AbortSignal.any([signal, sandbox.failed]);
    const isthmus = await startIsthmus(sandbox, stop);
    shutdown.add(isthmus);
    const processes = await processIds(sandbox, isthmus);
    if (context.profileFolder !== undefined) {
      await restartProfiled(isthmus, { folder: context.profileFolder, processes, shutdown });
    }
    const ended = new AbortController();
    const using = AbortSignal.any([stop, ended.signal]);
    const loads = await openLoads({ sandbox, shutdown, mode: shape.mode }, using);
    // also those that are opened to measure: else they are retried indefinitely
    shutdown.add({ name: 'watches', stop: async () => ended.abort() });
    const under: IsthmusUnderLoad = { sandbox, ...loads, processes, settle: () => delay(SETTLE_MS, stop) };
    onProgress('Warming up.');
    await warmUp(under, stop);
    return await measure(under, using);
  } finally {
    await shutdown.run();
  }
}

async function processIds(sandbox: Sandbox, isthmus: IsthmusInSandbox): Promise<Map<string, number>> {
  const record = await readRecord(sandbox.dir);
  const controlPlanes =
    (record?.processes ?? []).map(({ cluster, component, pid }) => [`${cluster}/${component}`, pid] as const);
  const ours = [...isthmus.processes].map(([cluster, { identity }]) => [`isthmus/${cluster}`, identity.pid] as const);
  return new Map([...ours, ...controlPlanes, ['load generator', process.pid]]);
}

/** Starts each process of ours again under V8's profiler, which writes its file when the process ends. */
async function restartProfiled(
  isthmus: IsthmusInSandbox, { folder, processes, shutdown }: {
    readonly folder: string; readonly processes: Map<string, number>; readonly shutdown: Shutdown
  },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [cluster, component] of isthmus.processes) {
    await component.stop();
    const [node, ...rest] = component.spec.command;
    const flags =
      ['--cpu-prof', `--cpu-prof-dir=${resolve(folder)}`, `--cpu-prof-name=${cluster}-${Date.now()}.cpuprofile`];
    const profiled = await startComponent({ ...component.spec, command: [node, ...flags, ...rest] });
    shutdown.add({ name: component.spec.name, stop: () => profiled.stop() });
    processes.set(`isthmus/${cluster}`, profiled.identity.pid);
  }
}

interface Opened {
  readonly sandbox: Sandbox;
  readonly shutdown: Shutdown;
  readonly mode: DelegationMode | undefined;
}

async function openLoads(
  { sandbox, shutdown, mode }: Opened, signal: AbortSignal,
): Promise<Pick<IsthmusUnderLoad, 'elected' | 'plain' | 'bare'>> {
  const clients: ClusterClient[] = [];
  for (const { kubeconfigPath } of sandbox.clusters) {
    const { client } = await openCluster({ kubeconfigPath, userAgent: USER_AGENT });
    shutdown.add({ name: 'connections', stop: () => client.transport.close() });
    clients.push(client);
  }
  const [source, target] = clients;
  if (source === undefined || target === undefined) {
    throw new AppError('NotFound', 'A benchmark needs a source and a target.');
  }
  if (mode === 'Pod') {
    await Promise.all(clients.slice(1).map(
      (client, index) =>
        delegateByPods({ source, target: client, name: sandbox.clusters[index + 1]?.name ?? '' }, signal),
    ));
  }
  await Promise.all([
    makeNamespace(target, PLAIN_NAMESPACE, {}, signal),
    ...clients.map((client) => makeNamespace(client, BARE_NAMESPACE, {}, signal)),
    ...clients.map((client) => makeNamespace(
      client, ELECTED_NAMESPACE, client === source ? { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } : {}, signal,
    )),
  ]);
  const elected =
    new PodLoad({ client: source, namespace: ELECTED_NAMESPACE, annotations: { [ELECT_ANNOTATION]: '' } });
  const plain = new PodLoad({ client: target, namespace: PLAIN_NAMESPACE, annotations: {} });
  const bare = new BareChain({ source, targets: clients.slice(1), namespace: BARE_NAMESPACE });
  await Promise.all([elected.open(signal), plain.open(signal), bare.open(signal)]);
  return { elected, plain, bare };
}

/** Resolves once pods can be made there: the API server refuses them until the namespace's ServiceAccount exists. */
async function makeNamespace(
  client: ClusterClient, name: string, labels: Readonly<Record<string, string>>, signal: AbortSignal,
): Promise<void> {
  await client.apply(NAMESPACES, { metadata: { name, labels } }, FIELD_MANAGER, signal);
  const account = (): Promise<unknown> => client.get(SERVICE_ACCOUNTS, { namespace: name, name: 'default' }, signal)
    .catch(() => undefined);
  if ((await pollUntil(account, POLLING, signal)) === undefined) {
    throw new AppError('StartFailed', `Namespace ${name} gets no ServiceAccount.`);
  }
}

/**
 * Code is compiled and connections are open before anything is measured. A process that was started again may need a
 * moment.
 */
async function warmUp({ elected, plain, settle }: IsthmusUnderLoad, signal: AbortSignal): Promise<void> {
  const first = async (): Promise<unknown> => {
    try {
      return await elected.burst(1, signal);
    } catch (error) {
      if (error instanceof ApiError) return undefined; // the webhook does not answer yet
      throw error;
    }
  };
  await pollUntil(first, POLLING, signal);
  for (const load of [elected, plain]) {
    await load.burst(WARM_UP_PODS, signal);
    await load.clear(signal);
  }
  await settle();
}
