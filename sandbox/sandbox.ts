// Starts a source cluster and its targets concurrently, and stops them without leaving anything behind, also when the
// start fails.
import { resolve } from 'node:path';
import { environment } from '../process/config.ts';
import { AppError, messageOf } from '../process/errors.ts';
import { ensureBinaries } from './build/build-binaries.ts';
import type { ComponentCommands } from './plan/binary-plan.ts';
import {
  clusterPorts, maxTargets, planClusters, portsPerCluster, type ClientLimits, type ClusterPlan, type SandboxShape,
} from './plan/cluster-plan.ts';
import { clusterFailure, ControlPlane, type Cluster } from './control-plane/control-plane.ts';
import type { Registry } from './images/registry.ts';
import { maxRealNodes, type IpFamilies } from './plan/real-node-plan.ts';
import { freePorts } from './processes/free-ports.ts';
import type { ProcessIdentity } from '../process/programs/process-identity.ts';
import { ensureNodePrograms } from './real-nodes/node-programs.ts';
import { openImages, prepareNodes, requireNodeMachine, type PreparedNodes } from './real-nodes/prepare-nodes.ts';
import type { RealNode } from './real-nodes/real-node.ts';
import { RealNodes } from './real-nodes/real-nodes.ts';
import {
  claimDirectory, removeFiles, removeFolders, writeRecord, type ClusterRecord, type SandboxRecord,
} from './sandbox-record.ts';

/** What sandbox to start. */
export interface SandboxOptions {
  /** Folder for kubeconfigs, logs and data; made when missing. */
  readonly dir: string;
  /** Number of target clusters; 0 for a source alone. */
  readonly targets: number;
  /** Nodes of each target. */
  readonly nodes: number;
  /** Whether all nodes are real: kubelets with containers, not kwok's. */
  readonly real?: boolean;
  /** With real nodes: the address families of each cluster, the source first; IPv4 alone where there is none. */
  readonly families?: readonly IpFamilies[];
  /** `nvidia.com/gpu` of each node. */
  readonly gpus: number;
  /** Whether the API servers write audit logs. */
  readonly audit: boolean;
  /** Nodes of the source; 0 when omitted. */
  readonly sourceNodes?: number;
  /**
   * Client limit of every kube-scheduler and kube-controller-manager, requests a second; stock limits when omitted.
   */
  readonly clientQps?: number;
  /**
   * Client limit of kube-controller-manager alone; `clientQps` when omitted. With its stock limit of 20 it takes about
   * four seconds longer to start, since every controller first asks for a token of its own.
   */
  readonly controllerQps?: number;
  /** Receives progress, one line at a time. */
  readonly onProgress?: (text: string) => void;
}

/** A running sandbox. */
export interface Sandbox {
  /** The source first, then the targets in order. */
  readonly clusters: readonly Cluster[];
  /** The real nodes by the names of their clusters; empty when they are simulated. */
  readonly nodes: ReadonlyMap<string, readonly RealNode[]>;
  /** What real nodes pull from. */
  readonly registry?: Registry;
  /** The absolute folder. */
  readonly dir: string;
  /** Aborts, with an AppError as reason, when a program ended unasked; the sandbox then stops by itself. */
  readonly failed: AbortSignal;
  /** Stops all programs, waits for their end and removes every file; later calls wait for the first. */
  stop(): Promise<void>;
}

function requireCount(what: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new AppError('BadInput', `${what} must be a whole number from ${least} to ${most}, not ${value}.`);
  }
}

function clientLimits({ clientQps, controllerQps = clientQps }: SandboxOptions): ClientLimits {
  for (const limit of [clientQps, controllerQps]) {
    if (limit !== undefined) requireCount('A client limit', limit, 1, 1_000_000);
  }
  return {
    ...(clientQps === undefined ? {} : { scheduler: clientQps }),
    ...(controllerQps === undefined ? {} : { controllerManager: controllerQps }),
  };
}

/** Checks the numbers. Throws AppError `BadInput` that names the one that is wrong. */
export function sandboxShape(options: SandboxOptions): SandboxShape {
  const { targets, nodes, gpus, audit, families, sourceNodes = 0, real = false } = options;
  const mostNodes = real ? maxRealNodes : 5_000;
  requireCount('The number of targets', targets, 0, maxTargets);
  requireCount('The number of nodes', nodes, 0, mostNodes);
  requireCount('The number of nodes of the source', sourceNodes, 0, mostNodes);
  requireCount('The number of GPUs', gpus, 0, 1_024);
  return {
    directory: resolve(options.dir), targets, nodes, gpus, audit, sourceNodes, clientLimits: clientLimits(options),
    ...(families !== undefined && { families }),
  };
}

async function plansFor(shape: SandboxShape): Promise<readonly ClusterPlan[]> {
  const count = shape.targets + 1;
  const ports = await freePorts(count * portsPerCluster);
  const perCluster = Array.from(
    { length: count }, (_, index) => clusterPorts(ports.slice(index * portsPerCluster, (index + 1) * portsPerCluster)),
  );
  return planClusters(shape, perCluster);
}

function clusterRecord(cluster: Cluster): ClusterRecord {
  const { name, kubeconfigPath, server, auditLog } = cluster;
  return { name, kubeconfig: kubeconfigPath, server, ...(auditLog === undefined ? {} : { auditLog }) };
}

/** What a sandbox is made from. */
interface Making {
  readonly plans: readonly ClusterPlan[];
  readonly commands: ComponentCommands;
  readonly tell: (text: string) => void;
  /** With real nodes: what they are made with, and where they pull from. */
  readonly real?: { readonly prepared: PreparedNodes; readonly registry: Registry };
}

/** One sandbox from its claim of the folder to the removal of its files. */
class RunningSandbox implements Sandbox {
  readonly dir: string;
  readonly nodes = new Map<string, readonly RealNode[]>();
  readonly registry?: Registry;
  readonly #clusters: readonly ControlPlane[];
  readonly #tell: (text: string) => void;
  readonly #failure = new AbortController();
  #record: SandboxRecord;
  #writing: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;

  constructor(dir: string, record: SandboxRecord, made: Making) {
    this.dir = dir;
    this.#tell = made.tell;
    this.#record = record;
    if (made.real !== undefined) this.registry = made.real.registry;
    this.#clusters = made.plans.map((plan) => this.#controlPlane(plan, made));
    this.#update({ clusters: this.#clusters.map(clusterRecord) });
  }

  #controlPlane(plan: ClusterPlan, { commands, real }: Making): ControlPlane {
    const onStart = (component: string, identity: ProcessIdentity): void => {
      const others =
        this.#record.processes.filter((known) => known.cluster !== plan.name || known.component !== component);
      this.#update({ processes: [...others, { cluster: plan.name, component, ...identity }] });
    };
    const onFailure = (error: AppError): void => this.#fail(error);
    const { realNetwork } = plan;
    if (real === undefined || realNetwork === undefined) {
      return new ControlPlane(plan, commands, { onStart, onFailure });
    }
    const { prepared, registry } = real;
    const nodes = new RealNodes({ ...plan, realNetwork }, { ...prepared, registry, onStart, onFailure });
    this.nodes.set(plan.name, nodes.nodes);
    return new ControlPlane(plan, commands, { onStart, onFailure }, nodes);
  }

  get clusters(): readonly Cluster[] {
    return this.#clusters;
  }

  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  async start(signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, this.failed]);
    const starts = await Promise.allSettled(this.#clusters.map((cluster) => this.#startOne(cluster, either)));
    const failure = starts.find((start) => start.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    this.#update({ state: 'ready' });
    await this.#writing;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #startOne(cluster: ControlPlane, signal: AbortSignal): Promise<void> {
    try {
      await cluster.start(signal);
      this.#tell(`Cluster ${cluster.name} is ready.`);
    } catch (error) {
      if (!this.failed.aborted) {
        this.#failure.abort(signal.aborted ? signal.reason : clusterFailure(cluster.name, error));
      }
      throw error;
    }
  }

  /** During the start the caller stops what was started; later the sandbox does so itself. */
  #fail(reason: AppError): void {
    if (this.failed.aborted || this.#stopping !== undefined) return;
    this.#failure.abort(reason);
    if (this.#record.state !== 'ready') return;
    this.#tell(`${reason.message}\nThe sandbox stops.`);
    void this.#stopAndTell();
  }

  async #stopAndTell(): Promise<void> {
    await this.stop().catch((failure: unknown) => this.#tell(messageOf(failure)));
  }

  #update(change: Partial<SandboxRecord>): void {
    this.#record = { ...this.#record, ...change };
    const record = this.#record;
    this.#writing = this.#writing.then(() => writeRecord(this.dir, record))
      .catch((error: unknown) => this.#tell(messageOf(error)));
  }

  async #stopAll(): Promise<void> {
    await Promise.all(this.#clusters.map((cluster) => cluster.stop()));
    await this.registry?.close();
    await this.#writing;
    await removeFiles(this.dir, this.#record);
    await removeFolders(this.#record);
  }
}

/** For the record: what real nodes will have outside the sandbox's folder. */
function tracesOf(plans: readonly ClusterPlan[]): Pick<SandboxRecord, 'traces'> {
  const networks = plans.flatMap(({ realNetwork }) => (realNetwork === undefined ? [] : [realNetwork]));
  if (networks.length === 0) return {};
  const cgroups = networks.flatMap(({ nodes }) => nodes.map(({ cgroup }) => cgroup));
  return { traces: { interfaces: networks.map((network) => network.interface), cgroups } };
}

/** Waits until every start has ended, so that none starts a program after the stop; then gives the first error. */
async function startOrClear(sandbox: RunningSandbox, signal: AbortSignal): Promise<void> {
  try {
    await sandbox.start(signal);
  } catch (error) {
    await sandbox.stop();
    signal.throwIfAborted();
    throw sandbox.failed.aborted ? sandbox.failed.reason : error;
  }
}

/**
 * Starts the clusters; resolves once all are ready. The signal ends a start that is under way, with everything cleared
 * away; afterwards the caller calls `stop`. Throws AppError `BadInput`, `ToolMissing` or `StartFailed`.
 */
export async function startSandbox(options: SandboxOptions, signal: AbortSignal): Promise<Sandbox> {
  const tell = options.onProgress ?? ((): void => undefined);
  const shape = sandboxShape(options);
  const machine = options.real ? await requireNodeMachine(environment()) : undefined;
  const commands = await ensureBinaries(environment(), tell, signal);
  const prepared = machine === undefined
    ? undefined
    : await prepareNodes(machine, await ensureNodePrograms(environment(), tell, signal), shape.targets + 1);
  const plans = await plansFor(prepared === undefined ? shape : { ...shape, firstSlot: prepared.firstSlot });
  const record = { ...await claimDirectory(shape.directory, shape.targets, signal), ...tracesOf(plans) };
  tell(`Starting ${plans.length} clusters: ${plans.map((plan) => plan.name).join(', ')}.`);
  const making = { plans, commands, tell };
  const real = prepared === undefined
    ? {}
    : { real: { prepared, registry: await openImages(prepared, shape.directory) } };
  const sandbox = new RunningSandbox(shape.directory, record, { ...making, ...real });
  await startOrClear(sandbox, signal);
  return sandbox;
}
