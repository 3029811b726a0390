// P3: the cost of admission: reviews of an elected 6 kB pod by our webhook, against one on the same stack that admits
// everything and against the least that a webhook does which puts a signed copy of the pod into its patch
// (docs/adr/0010); and the creation of an elected pod through a real API server, against a plain pod's.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import type { Pod } from '../../api/objects/core.ts';
import { ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE } from '../../api/objects/keys.ts';
import { NAMESPACES, PODS } from '../../api/resource-types.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { openCluster } from '../../kubernetes/client/open-cluster.ts';
import { startIsthmus } from '../../sandbox/isthmus-in-sandbox.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { Benchmark, BenchmarkContext, Measurement } from '../benchmark.ts';
import { percentile, spreadOf } from '../results/statistics.ts';
import type { WebhookPorts } from './webhook-servers.ts';

/** Connections, and requests in one run over them. */
const LOADS =
  [{ connections: 1, requests: 1_500 }, { connections: 8, requests: 6_000 }, { connections: 64, requests: 8_000 }];
const POD_BYTES = 6_000;
const CREATES = 300;
const NAMESPACE = 'bench-webhook';
const SERVERS = fileURLToPath(new URL('webhook-servers.js', import.meta.url));

/** P3. */
export const WEBHOOK: Benchmark = {
  id: 'P3',
  title: 'admission of an elected 6 kB pod, against a webhook on the same stack that lets everything pass',
  async run(context, signal) {
    return [...(await measureServers(context, signal)), await measureCreates(context, signal)];
  },
};

async function measureServers(context: BenchmarkContext, signal: AbortSignal): Promise<readonly Measurement[]> {
  return withServers(context, async (ports) => {
    const measurements: Measurement[] = [];
    for (const load of LOADS) measurements.push(...(await measureLoad(ports, load, context, signal)));
    return measurements;
  }, signal);
}

/** Runs something against the servers, in a process of their own, which is profiled where that was asked for. */
export async function withServers<T>(
  { profileFolder }: BenchmarkContext, use: (ports: WebhookPorts) => Promise<T>, signal: AbortSignal,
): Promise<T> {
  const execArgv = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`];
  const child: ChildProcess = fork(SERVERS, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv });
  const ended = once(child, 'exit');
  try {
    const [ports] = (await once(child, 'message', { signal })) as [WebhookPorts];
    return await use(ports);
  } finally {
    if (child.connected) child.disconnect();
    await ended;
  }
}

interface RunFigures {
  readonly p50: number;
  readonly p99: number;
  readonly rate: number;
}

/** A comparison of two of the servers, with what is asked of each figure. */
interface Comparison {
  readonly name: string;
  readonly words: string;
  readonly ours: keyof WebhookPorts;
  readonly reference: keyof WebhookPorts;
  readonly goals: Partial<Record<keyof RunFigures, Measurement['goal']>>;
}

const COMPARISONS: readonly Comparison[] = [
  {
    name: '', words: 'against a no-op', ours: 'ours', reference: 'noop',
    goals: {
      p50: { figure: 'ratio', atMost: 1.5 }, p99: { figure: 'ratio', atMost: 2 },
      rate: { figure: 'ratio', atLeast: 0.6 },
    },
  },
  {
    name: 'floor-', words: 'against the floor', ours: 'ours', reference: 'floor',
    goals: {
      p50: { figure: 'ratio', atMost: 1.25 }, p99: { figure: 'ratio', atMost: 1.5 },
      rate: { figure: 'ratio', atLeast: 0.8 },
    },
  },
  { name: 'floor-noop-', words: 'the floor against a no-op', ours: 'floor', reference: 'noop', goals: {} },
];

async function measureLoad(
  ports: WebhookPorts, load: (typeof LOADS)[number], { runs, onProgress }: BenchmarkContext, signal: AbortSignal,
): Promise<readonly Measurement[]> {
  const figures: Readonly<Record<keyof WebhookPorts, RunFigures[]>> = { noop: [], floor: [], ours: [] };
  const body = JSON.stringify(reviewOfPod());
  for (let run = -1; run < runs; run += 1) {
    signal.throwIfAborted();
    for (const server of ['noop', 'floor', 'ours'] as const) {
      const figure = await sendReviews(ports[server], body, load);
      if (run >= 0) figures[server].push(figure); // the first one warms up
    }
  }
  const last = Object.entries(figures).map(([server, all]) => `${server} ${all.at(-1)?.p50.toFixed(3)} ms`);
  onProgress(`P3, ${load.connections} connections, p50: ${last.join(', ')}`);
  return COMPARISONS.flatMap(({ name, words, ours, reference, goals }) =>
    (['p50', 'p99', 'rate'] as const).map((variant): Measurement => {
    const goal = goals[variant];
    return {
      variant: `${name}${variant} at ${load.connections}`,
      title:
        `${variant === 'rate' ? 'reviews/s' : `${variant} of a review`}, ${load.connections} connections, ${words}`,
      unit: variant === 'rate' ? '1/s' : 'ms',
      ours: spreadOf(figures[ours].map((figure) => figure[variant])),
      reference: spreadOf(figures[reference].map((figure) => figure[variant])),
      ...(goal && { goal }),
    };
  }));
}

async function sendReviews(
  port: number, body: string, { connections, requests }: (typeof LOADS)[number],
): Promise<RunFigures> {
  const pool = new Pool(`https://127.0.0.1:${port}`, { connections, connect: { rejectUnauthorized: false } });
  const times: number[] = [];
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const startedAt = performance.now();
      const answer = await pool.request(
        { method: 'POST', path: '/mutate--v1-pod', headers: { 'content-type': 'application/json' }, body },
      );
      await answer.body.arrayBuffer();
      if (answer.statusCode !== 200) throw new Error(`a review was answered with ${answer.statusCode}`);
      times.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, worker));
  const seconds = (performance.now() - startedAt) / 1_000;
  await pool.close();
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), rate: requests / seconds };
}

/** A pod as workloads have it: some containers with environment, probes and mounts, about 6 kB of JSON. */
function samplePod(): Pod {
  const container = (name: string) => ({
    name,
    image: `registry.example/team/${name}:1.2.3`,
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
    volumeMounts: [{ name: 'data', mountPath: `/data/${name}` }],
    env: Array.from({ length: 24 }, (_, index) => (
      { name: `SETTING_${name.toUpperCase()}_${index}`, value: `value ${index} of ${name}` }
    )),
  });
  const volumes = [{ name: 'data', emptyDir: {} }];
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: 'web-6d8f9c7b5d-', namespace: NAMESPACE, labels: { app: 'web', 'pod-template-hash': '6d8f9c7b5d' },
      annotations: { [ELECT_ANNOTATION]: '' },
    },
    spec: { containers: [container('main'), container('cache')], volumes },
  };
  const filler = 'x'.repeat(Math.max(0, POD_BYTES - JSON.stringify(pod).length - 30));
  return {
    ...pod, metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, 'example.com/config': filler } },
  };
}

/** The review that P3 sends. */
export function reviewOfPod(): object {
  const userInfo =
    { username: 'system:serviceaccount:kube-system:replicaset-controller', groups: ['system:authenticated'] };
  const request = {
    uid: 'a7d3f0c2-1111-2222-3333-444444444444', operation: 'CREATE', namespace: NAMESPACE, userInfo,
    object: samplePod(), oldObject: null, dryRun: false,
  };
  return { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request };
}

/**
 * Creates through the API server, elected and plain in turns, as dry runs: the whole way but for the write to etcd,
 * which both share.
 */
async function measureCreates({ onProgress }: BenchmarkContext, signal: AbortSignal): Promise<Measurement> {
  const dir = await mkdtemp(join(tmpdir(), 'isthmus-bench-'));
  const sandbox = await startSandbox(
    { dir: join(dir, 'sandbox'), targets: 1, nodes: 0, gpus: 0, audit: false, controllerQps: 1_000 }, signal,
  );
  try {
    const isthmus = await startIsthmus(sandbox, signal);
    const { client } =
      await openCluster({ kubeconfigPath: sandbox.clusters[0]?.kubeconfigPath, userAgent: 'isthmus-bench' });
    try {
      return await createInTurns(client, onProgress, signal);
    } finally {
      await client.transport.close();
      await isthmus.stop();
    }
  } finally {
    await sandbox.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

async function createInTurns(
  client: ClusterClient, onProgress: (text: string) => void, signal: AbortSignal,
): Promise<Measurement> {
  await client.create(
    NAMESPACES, { metadata: { name: NAMESPACE, labels: { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE } } },
  );
  const elected = samplePod();
  const { [ELECT_ANNOTATION]: _elect, ...annotations } = elected.metadata.annotations ?? {};
  const plain: Pod = { ...elected, metadata: { ...elected.metadata, annotations } };
  const create = async (pod: Pod): Promise<number> => {
    const startedAt = performance.now();
    const stored = await client.transport.call<Pod>(
      { method: 'POST', path: `/api/v1/namespaces/${NAMESPACE}/${PODS.plural}`, query: { dryRun: 'All' }, body: pod },
      signal,
    );
    if ((stored.spec.schedulerName === 'admiralty-proxy') !== (pod === elected)) {
      throw new Error('the webhook did not do its work');
    }
    return performance.now() - startedAt;
  };
  for (let ready = false; !ready; ) {
    // its ServiceAccount is not there at once
    ready = await create(plain).then(() => create(elected)).then(() => true, () => false);
    if (!ready) await delay(100, signal);
    signal.throwIfAborted();
  }
  const [ours, reference]: [number[], number[]] = [[], []];
  for (let count = 0; count < CREATES; count += 1) {
    reference.push(await create(plain));
    ours.push(await create(elected));
  }
  onProgress(
    `P3, create: p50 ${percentile(ours, 0.5).toFixed(2)} ms elected, ${percentile(reference, 0.5).toFixed(2)} ms plain`,
  );
  return {
    variant: 'create',
    title: `create through the API server (dry run), p50 of ${CREATES}, elected against plain`,
    unit: 'ms',
    ours: spreadOf(ours),
    reference: spreadOf(reference),
    details: { p99: { elected: percentile(ours, 0.99), plain: percentile(reference, 0.99) } },
  };
}
