// A source cluster with simulated API servers, its targets in processes of their own, and the real source process
// between them. What a benchmark does to them, and what it waits for.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { delay } from '../../kubernetes/flow/backoff.ts';
import { tokenKubeconfig } from '../../peering/access/target-access.ts';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import { AppError } from '../../process/errors.ts';
import { LightApiServer } from './light-api-server.ts';
import type { ObjectStore } from './object-store.ts';
import { TargetsProcess } from './running-targets.ts';
import { electedPod, HEALTH_LABEL, LOAD_NAMESPACE, type Health } from './simulated-pods.ts';
import { SourceProcess, type SourceProcessOptions } from './source-process.ts';

const TARGETS_PER_PROCESS = 250;
const NODES = 50;
/** So long takes each step of a target's components, in ms. */
const STEP_MS = 5;
const TIMEOUT_MS = 240_000;
const INTERVAL_MS = 50;
const SECRETS = 'secrets';
const CLUSTER_TARGETS = 'clustertargets.multicluster.admiralty.io';

/** How many targets of each kind there are. All are healthy until a benchmark freezes them. */
export type TargetCounts = Readonly<Partial<Record<Health, number>>>;

/** Targets that live in the same processes. */
interface TargetGroup {
  readonly health: Health;
  readonly processes: readonly TargetsProcess[];
}

/** Source and targets. */
export class SimulatedWorld {
  readonly source: LightApiServer;
  /** With the kubeconfig and the logs of source processes. */
  readonly folder: string;
  readonly #groups: readonly TargetGroup[];
  readonly #certificateAuthority: string;
  readonly #started: SourceProcess[] = [];
  /** How long {@link until} waits, in ms. A long run on a busy machine needs more. */
  timeoutMs = TIMEOUT_MS;

  private constructor(
    source: LightApiServer, groups: readonly TargetGroup[], folder: string, certificateAuthority: string,
  ) {
    this.source = source;
    this.#groups = groups;
    this.folder = folder;
    this.#certificateAuthority = certificateAuthority;
  }

  /** Starts the API servers, and stores the targets in the source. */
  static async start(counts: TargetCounts, signal: AbortSignal): Promise<SimulatedWorld> {
    const authority = await createAuthority('simulation', 1, new Date());
    const issued = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const certificate = { certificate: issued.certificate, key: issued.key };
    const groups: TargetGroup[] = [];
    let seed = 0;
    for (const [health, count] of Object.entries(counts) as [Health, number][]) {
      const processes: TargetsProcess[] = [];
      for (let left = count; left > 0; left -= TARGETS_PER_PROCESS) {
        signal.throwIfAborted();
        const own = Math.min(TARGETS_PER_PROCESS, left);
        const shape = { nodes: NODES, stepMs: STEP_MS, seed };
        processes.push(await TargetsProcess.start({ count: own, shape, certificate }));
        seed += own;
      }
      groups.push({ health, processes });
    }
    const source = await LightApiServer.start(certificate);
    const folder = await mkdtemp(join(tmpdir(), 'isthmus-simulation-'));
    const world = new SimulatedWorld(source, groups, folder, authority.keyPair.certificate);
    await world.#fill();
    return world;
  }

  async #fill(): Promise<void> {
    for (const name of ['kube-system', DEFAULT_INSTALL_NAMESPACE, LOAD_NAMESPACE]) {
      this.store.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    for (const { name, url, health } of this.targets) {
      this.store.create(SECRETS, {
        apiVersion: 'v1', kind: 'Secret', metadata: { namespace: DEFAULT_INSTALL_NAMESPACE, name },
        data: { config: this.#kubeconfig(url, 'simulated') },
      });
      this.store.create(CLUSTER_TARGETS, {
        apiVersion: 'multicluster.admiralty.io/v1alpha1', kind: 'ClusterTarget',
        metadata: { name, labels: { [HEALTH_LABEL]: health } }, spec: { kubeconfigSecret: { name } },
      });
    }
    const own = Buffer.from(this.#kubeconfig(this.source.url, 'simulated'), 'base64');
    await writeFile(join(this.folder, 'kubeconfig'), own, { mode: 0o600 });
  }

  /** The objects of the source. */
  get store(): ObjectStore {
    return this.source.store;
  }

  /** All targets, with the names of their ClusterTargets. */
  get targets(): readonly { readonly name: string; readonly url: string; readonly health: Health }[] {
    return this.#groups
      .flatMap(({ health, processes }) => processes.flatMap(({ urls }) => urls.map((url) => ({ url, health }))))
      .map((target, index) => ({ ...target, name: `target-${index}` }));
  }

  /** The processes of targets of a kind. */
  processesOf(health: Health): readonly TargetsProcess[] {
    return this.#groups.find((group) => group.health === health)?.processes ?? [];
  }

  /** Starts a source process; more than one elect a leader. */
  async startSource(
    name: string, how: Omit<SourceProcessOptions, 'folder' | 'name'> = {},
  ): Promise<SourceProcess> {
    const process = await SourceProcess.start({ ...how, folder: this.folder, name });
    this.#started.push(process);
    return process;
  }

  /** Nothing of the targets of a kind answers any more, until {@link thaw}. */
  freeze(health: Health): void {
    for (const targets of this.processesOf(health)) targets.freeze();
  }

  /** They answer again. */
  thaw(health: Health): void {
    for (const targets of this.processesOf(health)) targets.thaw();
  }

  /** Waits until all ClusterTargets have Ready=True. */
  untilAllReady(signal: AbortSignal): Promise<void> {
    const isReady = (): boolean => this.readyAmong('healthy', 'flapping', 'black-hole') === this.targets.length;
    return this.until('all targets are ready again', isReady, signal);
  }

  /** Targets of these kinds whose ClusterTargets have Ready=True. */
  readyAmong(...kinds: readonly Health[]): number {
    let ready = 0;
    for (const object of this.store.list(CLUSTER_TARGETS)) {
      const { conditions = [] } = (object['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
      const isAmong = kinds.includes(object.metadata.labels?.[HEALTH_LABEL] as Health);
      if (isAmong && conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) ready += 1;
    }
    return ready;
  }

  /** Counts how often targets of these kinds cease to be ready, until it is told to stop; then it says how often. */
  watchLosses(...kinds: readonly Health[]): () => number {
    const ready = new Set<string>();
    let losses = 0;
    const forget = this.store.listen(CLUSTER_TARGETS, ({ object }) => {
      const { name = '', labels } = object.metadata;
      if (!kinds.includes(labels?.[HEALTH_LABEL] as Health)) return;
      const { conditions = [] } = (object['status'] ?? {}) as { readonly conditions?: readonly Condition[] };
      if (conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) ready.add(name);
      else if (ready.delete(name)) losses += 1;
    });
    for (const object of this.store.list(CLUSTER_TARGETS)) ready.add(object.metadata.name ?? '');
    return () => {
      forget();
      return losses;
    };
  }

  /** No target has a status any more, as if none had ever been tried. */
  forgetStatuses(): void {
    for (const { metadata: { name = '' } } of this.store.list(CLUSTER_TARGETS)) {
      this.store.update({ collection: CLUSTER_TARGETS, name }, ({ status: _status, ...object }) => object);
    }
  }

  /** Gives each target another token, in batches with a pause, as a rotation does. */
  async rotate(
    token: string, { batch, pauseMs }: { readonly batch: number; readonly pauseMs: number }, signal: AbortSignal,
  ): Promise<void> {
    for (const [index, { name, url }] of this.targets.entries()) {
      const at = { collection: SECRETS, namespace: DEFAULT_INSTALL_NAMESPACE, name };
      this.store.update(at, (secret) => ({ ...secret, data: { config: this.#kubeconfig(url, token) } }));
      if (index % batch === batch - 1) await delay(pauseMs, signal);
    }
  }

  #kubeconfig(server: string, token: string): string {
    const certificateAuthority = this.#certificateAuthority;
    const text = tokenKubeconfig({ server, certificateAuthority, token, cluster: 'simulated', user: 'source' });
    return Buffer.from(text).toString('base64');
  }

  /** Creates elected pods for targets of a kind, or for all, and waits until all run. Returns pods a second. */
  async burst(pods: number, name: string, signal: AbortSignal, health?: Health): Promise<number> {
    const began = performance.now();
    let running = 0;
    const forget = this.store.listen('pods', ({ object }) => {
      const { phase } = (object['status'] ?? {}) as { readonly phase?: string };
      if (object.metadata.name?.startsWith(`${name}-`) && phase === 'Running') running += 1;
    });
    for (let index = 0; index < pods; index += 1) this.store.create('pods', electedPod(`${name}-${index}`, health));
    await this.until('all pods run', () => running >= pods, signal);
    forget();
    return (pods * 1_000) / (performance.now() - began);
  }

  /** Requests or connections of all targets that answer. */
  async counts(what: 'requests' | 'connections'): Promise<number> {
    const counts = await Promise.all(
      this.#groups.flatMap(({ processes }) => processes).map((targets) => targets.counts(what)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Waits until something holds; throws AppError `Timeout` after {@link timeoutMs}. */
  async until(what: string, holds: () => boolean, signal: AbortSignal): Promise<void> {
    const ends = performance.now() + this.timeoutMs;
    while (!holds()) {
      if (performance.now() > ends) {
        const why = JSON.stringify([...this.store.list('pods')].map((pod) => pod['status']).at(-1) ?? {});
        const seconds = this.timeoutMs / 1_000;
        throw new AppError('Timeout', `After ${seconds} s it does not hold that ${what}. Last pod: ${why}`);
      }
      this.#started.at(-1)?.expectRunning();
      await delay(INTERVAL_MS, signal);
      signal.throwIfAborted();
    }
  }

  /** Ends all processes. */
  async stop(): Promise<void> {
    await Promise.all(this.#started.map((process) => process.stop()));
    for (const { processes } of this.#groups) for (const targets of processes) targets.stop();
    this.source.stop();
    await rm(this.folder, { recursive: true });
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}
