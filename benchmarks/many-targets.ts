// PS: one source process with a thousand targets. API servers are simulated, the source process is the real one: what
// is measured is how long it takes until all targets are ready, its memory, and what it costs at rest and in a burst.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pod } from '../api/objects/core.ts';
import { DEFAULT_INSTALL_NAMESPACE, ELECT_ANNOTATION } from '../api/objects/keys.ts';
import { delay } from '../kubernetes/flow/backoff.ts';
import { tokenKubeconfig } from '../peering/access/target-access.ts';
import { createAuthority } from '../process/crypto/certificate-authority.ts';
import { AppError } from '../process/errors.ts';
import { environment } from '../process/config.ts';
import { proxyFieldsOf, toProxyPod } from '../webhook/proxy/make-proxy-pod.ts';
import type { Benchmark, BenchmarkContext, Measurement } from './benchmark.ts';
import { readCpuMs } from './process-cpu.ts';
import { readResidentMiB } from './process-memory.ts';
import { LightApiServer } from './simulation/light-api-server.ts';
import type { ObjectStore, StoredObject } from './simulation/object-store.ts';
import { TargetsProcess } from './simulation/running-targets.ts';
import { spreadOf } from './statistics.ts';

const TARGETS = 1_000;
/** The burst's rate is compared with that of so many targets. */
const FEW_TARGETS = 10;
const TARGETS_PER_PROCESS = 250;
const NODES = 50;
/** So long takes each step of a target's components, in ms. */
const STEP_MS = 5;
const PODS = 1_000;
/** The start is over and its garbage collected by then, in ms. */
const REST_MS = 20_000;
const IDLE_MS = 60_000;
const PATIENCE_MS = 240_000;
const LOOK_MS = 50;
const NAMESPACE = 'team-a';
const COMMAND = fileURLToPath(new URL('../cli/main.js', import.meta.url));
/** As in the manifests (docs/adr/0043-heap-of-sandboxes.md). */
const HEAP = ['--max-semi-space-size=4', '--max-old-space-size=512'];

/** PS. */
export const MANY_TARGETS: Benchmark = {
  id: 'PS',
  title: `a source with ${TARGETS} simulated targets`,
  async run(context, signal): Promise<readonly Measurement[]> {
    const most = Math.max(...(context.targets ?? [TARGETS]));
    const few = await measure(FEW_TARGETS, context, signal);
    const many = await measure(most, context, signal);
    return [
      row('ready', `until ${most} targets are ready`, many.readyS, { unit: 's', atMost: 60 }),
      row('memory', 'resident memory at rest', many.residentMiB, { unit: 'MiB', atMost: 1_024 }),
      row('idle-cpu', 'CPU at rest, of a core', many.idleCpuPercent, { unit: '%', atMost: 5 }),
      row('idle-requests', 'requests a second to each idle target', many.idleRequests, {
        unit: 'requests/s', atMost: 0.2,
      }),
      row('source-requests', 'the same to the source, for each target', many.sourceRequests, { unit: 'requests/s' }),
      {
        ...row('burst', `burst of ${PODS} pods, against ${FEW_TARGETS} targets`, many.podsPerSecond, {
          unit: 'pods/s',
        }),
        reference: spreadOf([few.podsPerSecond]), goal: { figure: 'ratio', atLeast: 0.9 },
      },
      {
        ...row('burst-cpu', 'CPU of the source for each pod of the burst', many.cpuMs, { unit: 'ms' }),
        reference: spreadOf([few.cpuMs]),
      },
      row('connections', 'connections that the burst opened to targets', many.connections, { unit: 'connections' }),
    ];
  },
};

interface Figures {
  readonly readyS: number;
  readonly residentMiB: number;
  readonly idleCpuPercent: number;
  readonly idleRequests: number;
  readonly sourceRequests: number;
  readonly podsPerSecond: number;
  readonly cpuMs: number;
  readonly connections: number;
}

function row(
  variant: string, title: string, figure: number, { unit, atMost }: { readonly unit: string; readonly atMost?: number },
): Measurement {
  return {
    variant, title, unit, ours: spreadOf([figure]), ...(atMost !== undefined && { goal: { figure: 'ours', atMost } }),
  };
}

async function measure(count: number, context: BenchmarkContext, signal: AbortSignal): Promise<Figures> {
  const world = await SimulatedWorld.start(count, context, signal);
  try {
    return await world.measure(signal);
  } finally {
    await world.stop();
  }
}

class SimulatedWorld {
  readonly #source: LightApiServer;
  readonly #targets: readonly TargetsProcess[];
  readonly #folder: string;
  readonly #context: BenchmarkContext;
  readonly #count: number;
  #process: ChildProcess | undefined;

  private constructor(
    source: LightApiServer, targets: readonly TargetsProcess[], folder: string, context: BenchmarkContext,
  ) {
    this.#source = source;
    this.#targets = targets;
    this.#folder = folder;
    this.#context = context;
    this.#count = targets.reduce((sum, { urls }) => sum + urls.length, 0);
  }

  static async start(count: number, context: BenchmarkContext, signal: AbortSignal): Promise<SimulatedWorld> {
    const authority = await createAuthority('simulation', 1, new Date());
    const issued = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const certificate = { certificate: issued.certificate, key: issued.key };
    const targets: TargetsProcess[] = [];
    for (let from = 0; from < count; from += TARGETS_PER_PROCESS) {
      signal.throwIfAborted();
      const shape = { nodes: NODES, stepMs: STEP_MS, seed: from };
      const own = Math.min(TARGETS_PER_PROCESS, count - from);
      targets.push(await TargetsProcess.start({ count: own, shape, certificate }));
    }
    const source = await LightApiServer.start(certificate);
    const folder = await mkdtemp(join(tmpdir(), 'isthmus-simulation-'));
    const world = new SimulatedWorld(source, targets, folder, context);
    await world.#fill(authority.keyPair.certificate);
    return world;
  }

  async #fill(certificateAuthority: string): Promise<void> {
    const { store } = this.#source;
    for (const name of ['kube-system', DEFAULT_INSTALL_NAMESPACE, NAMESPACE]) {
      store.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    for (const [index, server] of this.#targets.flatMap(({ urls }) => urls).entries()) {
      const name = `target-${index}`;
      const config = kubeconfigOf(server, certificateAuthority);
      store.create('secrets', {
        apiVersion: 'v1', kind: 'Secret', metadata: { namespace: DEFAULT_INSTALL_NAMESPACE, name },
        data: { config: Buffer.from(config).toString('base64') },
      });
      store.create('clustertargets.multicluster.admiralty.io', {
        apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget', metadata: { name },
        spec: { kubeconfigSecret: { name } },
      });
    }
    const own = kubeconfigOf(this.#source.url, certificateAuthority);
    await writeFile(join(this.#folder, 'kubeconfig'), own, { mode: 0o600 });
  }

  async measure(signal: AbortSignal): Promise<Figures> {
    const tell = (text: string): void => this.#context.onProgress(`PS, ${this.#count} targets: ${text}`);
    const began = performance.now();
    const pid = await this.#run();
    await this.#until('all targets are ready', () => this.#ready === this.#count, signal);
    const readyS = (performance.now() - began) / 1_000;
    tell(`ready after ${readyS.toFixed(1)} s`);
    await delay(REST_MS, signal);
    const [cpu, requests, own] = [await cpuOf(pid), await this.#counts('requests'), this.#source.requests];
    await delay(IDLE_MS, signal);
    const idleCpuPercent = ((await cpuOf(pid)) - cpu) / (IDLE_MS / 100);
    const perTarget = IDLE_MS / 1_000 * this.#count;
    const idleRequests = ((await this.#counts('requests')) - requests) / perTarget;
    const sourceRequests = (this.#source.requests - own) / perTarget;
    const residentMiB = await readResidentMiB(pid);
    tell(
      `${residentMiB.toFixed(0)} MiB, ${idleCpuPercent.toFixed(1)} % CPU, ${idleRequests.toFixed(3)} and ` +
        `${sourceRequests.toFixed(3)} requests/s for each target`,
    );
    await this.#burst(PODS / 5, 'warm', signal);
    const [before, opened] = [await cpuOf(pid), await this.#counts('connections')];
    const podsPerSecond = await this.#burst(PODS, 'load', signal);
    const cpuMs = ((await cpuOf(pid)) - before) / PODS;
    const connections = (await this.#counts('connections')) - opened;
    tell(`${podsPerSecond.toFixed(0)} pods/s, ${cpuMs.toFixed(2)} ms of CPU a pod, ${connections} connections`);
    return {
      readyS, residentMiB, idleCpuPercent, idleRequests, sourceRequests, podsPerSecond, cpuMs, connections,
    };
  }

  async #run(): Promise<number> {
    const log = await open(join(this.#folder, 'log'), 'w');
    const { profileFolder } = this.#context;
    const profile = profileFolder === undefined
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`, `--cpu-prof-name=simulation-${this.#count}.cpuprofile`];
    const components = 'scheduler,delegate-controller,virtual-node';
    const { PATH = '' } = environment().inherited;
    this.#process = spawn(process.execPath, [
      ...HEAP, ...profile, COMMAND, 'run', '--kubeconfig', join(this.#folder, 'kubeconfig'), '--components', components,
      '--no-target', '--log-level', 'warn',
    ], { stdio: ['ignore', log.fd, log.fd], env: { PATH } });
    await once(this.#process, 'spawn');
    await log.close();
    return this.#process.pid ?? 0;
  }

  get #ready(): number {
    let ready = 0;
    for (const object of this.#store.list('clustertargets.multicluster.admiralty.io')) {
      const { conditions = [] } = (object['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
      if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) ready += 1;
    }
    return ready;
  }

  get #store(): ObjectStore {
    return this.#source.store;
  }

  /** Creates elected pods and waits until all of them run. Returns pods a second. */
  async #burst(pods: number, name: string, signal: AbortSignal): Promise<number> {
    const began = performance.now();
    let running = 0;
    const forget = this.#store.listen('pods', ({ object }) => {
      const { phase } = (object['status'] ?? {}) as { readonly phase?: string };
      if (object.metadata.name?.startsWith(`${name}-`) && phase === 'Running') running += 1;
    });
    for (let index = 0; index < pods; index += 1) this.#store.create('pods', electedPod(`${name}-${index}`));
    await this.#until('all pods run', () => running >= pods, signal);
    forget();
    return (pods * 1_000) / (performance.now() - began);
  }

  async #counts(what: 'requests' | 'connections'): Promise<number> {
    const counts = await Promise.all(this.#targets.map((targets) => targets.counts(what)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async #until(what: string, holds: () => boolean, signal: AbortSignal): Promise<void> {
    const ends = performance.now() + PATIENCE_MS;
    while (!holds()) {
      if (performance.now() > ends) {
        const why = JSON.stringify([...this.#store.list('pods')].map((pod) => pod['status']).at(-1) ?? {});
        throw new AppError('Timeout', `After ${PATIENCE_MS / 1_000} s it does not hold that ${what}. Last pod: ${why}`);
      }
      if (this.#process?.exitCode !== null) throw new AppError('StartFailed', 'The source process has ended.');
      await delay(LOOK_MS, signal);
    }
  }

  async stop(): Promise<void> {
    if (this.#process?.exitCode === null) {
      this.#process.kill('SIGTERM');
      await once(this.#process, 'exit');
    }
    for (const targets of this.#targets) targets.stop();
    this.#source.stop();
    await rm(this.#folder, { recursive: true });
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

function kubeconfigOf(server: string, certificateAuthority: string): string {
  return tokenKubeconfig({ server, certificateAuthority, token: 'simulated', cluster: 'simulated', user: 'source' });
}

async function cpuOf(pid: number): Promise<number> {
  return (await readCpuMs(new Map([['source', pid]]))).get('source') ?? 0;
}

/** A pod as the webhook would have made it. */
function electedPod(name: string): StoredObject {
  const requests = { cpu: '10m', memory: '16Mi' };
  const pod: Pod = {
    apiVersion: 'v1', kind: 'Pod',
    metadata: { namespace: NAMESPACE, name, labels: { app: 'load' }, annotations: { [ELECT_ANNOTATION]: '' } },
    spec: { containers: [{ name: 'main', image: 'registry.example/load:v1', resources: { requests } }] },
    status: { phase: 'Pending' },
  };
  const parts = { record: '{"spec":{}}', constraints: { kind: 'constraints', constraints: {}, warnings: [] } } as const;
  return toProxyPod(pod, proxyFieldsOf(pod, parts)) as unknown as StoredObject;
}
