// One real cluster on this machine: etcd, the control plane's programs, and kwok or real nodes. An unexpected exit is
// reported once, through `onFailure`.
import type { ComponentCommands } from '../plan/binary-plan.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import { writeClusterFiles, type ClusterCredentials } from './cluster-files.ts';
import { clusterFile, componentNames, serverUrl, type ClusterPlan, type ComponentName } from '../plan/cluster-plan.ts';
import { componentArguments, kubeletClientName } from '../plan/component-arguments.ts';
import { startComponent, type ComponentProcess } from '../processes/component-process.ts';
import { openKubeletProxy, type KubeletProxy } from './kubelet-proxy.ts';
import { containerLogFile } from '../plan/kwok-configuration.ts';
import { nodeObjects } from '../plan/node-objects.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import type { ProcessIdentity } from '../../process/programs/process-identity.ts';
import { AppError, messageOf } from '../../process/errors.ts';
import { waitUntil } from './wait-until.ts';

/** How to stop a component: politely, as a crash, or only paused so that its connections hang. */
export type StopMode = 'SIGTERM' | 'SIGKILL' | 'SIGSTOP';

/** A running cluster of a sandbox. */
export interface Cluster {
  readonly name: string;
  /** Absolute path of the admin kubeconfig. */
  readonly kubeconfigPath: string;
  /** The text of the admin kubeconfig. */
  readonly kubeconfig: string;
  /** https URL of the API server. */
  readonly server: string;
  /** Absolute folder with the logs of the components, `<component>.log`. */
  readonly directory: string;
  /** Absolute path of the API server's audit log, where it writes one. */
  readonly auditLog?: string;
  /** The components that run here; without nodes there is no kwok. */
  readonly components: readonly ComponentName[];
  /** Stops one component, as a fault to be tested; resolves when it has ended (or is paused). */
  stopComponent(name: ComponentName, mode?: StopMode): Promise<void>;
  /**
   * Starts a stopped component again with the same arguments, or resumes a paused one; resolves once the API server
   * is ready.
   */
  startComponent(name: ComponentName): Promise<void>;
}

/** What a control plane tells while it runs. */
export interface ControlPlaneEvents {
  /** A program was started. */
  readonly onStart: (component: ComponentName, identity: ProcessIdentity) => void;
  /** A program ended unasked, or is missing at the start. */
  readonly onFailure: (error: AppError) => void;
}

/** How long each stage of a start may take on a busy machine, in ms. */
const startTimeoutMs = 120_000;

interface NodeList {
  readonly items: readonly {
    readonly spec?: { readonly taints?: readonly unknown[] };
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** Whether a list has so many nodes, all of them Ready and free of taints. */
export function nodesAreReady(list: NodeList, count: number): boolean {
  const isReady = (node: NodeList['items'][number]): boolean =>
    (node.spec?.taints ?? []).length === 0 &&
    (node.status?.conditions ?? []).some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return list.items.filter(isReady).length >= count;
}

/** Starts, holds and stops one cluster. */
export class ControlPlane implements Cluster {
  readonly name: string;
  readonly kubeconfigPath: string;
  readonly server: string;
  readonly directory: string;
  readonly auditLog?: string;
  readonly components: readonly ComponentName[];
  readonly #plan: ClusterPlan;
  readonly #commands: ComponentCommands;
  readonly #events: ControlPlaneEvents;
  readonly #running = new Map<ComponentName, ComponentProcess>();
  #api: Transport | undefined;
  #kubeletProxy: KubeletProxy | undefined;
  readonly #nodes: ClusterNodes | undefined;
  #kubeconfig = '';

  constructor(plan: ClusterPlan, commands: ComponentCommands, events: ControlPlaneEvents, nodes?: ClusterNodes) {
    this.name = plan.name;
    this.kubeconfigPath = plan.kubeconfigPath;
    this.server = serverUrl(plan);
    this.directory = plan.directory;
    if (plan.audit) this.auditLog = clusterFile(plan, 'audit.log');
    this.components = componentNames.filter((name) => name !== 'kwok' || (plan.nodes > 0 && nodes === undefined));
    this.#nodes = nodes;
    this.#plan = plan;
    this.#commands = commands;
    this.#events = events;
  }

  get kubeconfig(): string {
    return this.#kubeconfig;
  }

  /** Starts everything; resolves once the API answers, the default ServiceAccount exists and all nodes are Ready. */
  async start(signal: AbortSignal): Promise<void> {
    const credentials = await writeClusterFiles(this.#plan, new Date());
    this.#kubeconfig = credentials.kubeconfig;
    const { authority: certificateAuthority, admin } = credentials;
    const connection = {
      server: new URL(this.server), certificateAuthority, insecure: false,
      credentials: { kind: 'certificate' as const, ...admin },
    };
    this.#api = new Transport(connection, 'isthmus-sandbox');
    if (this.components.includes('kwok')) this.#kubeletProxy = await this.#openProxy(credentials);
    await this.#nodes?.open(signal);
    await this.#launch(['etcd', 'kube-apiserver'], signal);
    await this.#waitForApi(signal);
    await Promise.all([
      this.#launch(this.components.filter((name) => name !== 'etcd' && name !== 'kube-apiserver'), signal),
      this.#nodes === undefined ? this.#createNodes(this.#api, signal) : this.#nodes.start(this.#api, signal),
    ]);
    await this.#waitForControllers(this.#api, signal);
  }

  /** Ends everything at once: its data is removed, so no program needs the time to end in good order. */
  async stop(): Promise<void> {
    await this.#api?.close();
    await this.#kubeletProxy?.close();
    await this.#nodes?.stop();
    await Promise.all([...this.#running.values()].map((component) => component.kill()));
  }

  async stopComponent(name: ComponentName, mode: StopMode = 'SIGTERM'): Promise<void> {
    const component = this.#running.get(name);
    if (component === undefined) throw new AppError('NotFound', `Cluster ${this.name} runs no ${name}.`);
    if (mode === 'SIGSTOP') component.pause();
    else await (mode === 'SIGKILL' ? component.kill() : component.stop());
  }

  async startComponent(name: ComponentName): Promise<void> {
    const component = this.#running.get(name);
    if (component?.isRunning) component.resume();
    else await this.#spawn(name);
    await this.#waitForApi(AbortSignal.timeout(startTimeoutMs));
  }

  #openProxy({ authority, localServer, execContainer }: ClusterCredentials): Promise<KubeletProxy> {
    const { kubelet, kwok } = this.#plan.ports;
    return openKubeletProxy({
      port: kubelet, kwokPort: kwok, serving: localServer, authority, clientName: kubeletClientName, execContainer,
      logFile: clusterFile(this.#plan, containerLogFile),
    });
  }

  async #launch(names: readonly ComponentName[], signal: AbortSignal): Promise<void> {
    for (const name of names) {
      signal.throwIfAborted();
      await this.#spawn(name);
    }
  }

  async #spawn(name: ComponentName): Promise<void> {
    const component = await startComponent({
      name: `${this.name}/${name}`,
      command: [...this.#commands[name], ...componentArguments(this.#plan, name)],
      cwd: this.directory,
      logPath: clusterFile(this.#plan, `${name}.log`),
    });
    this.#running.set(name, component);
    this.#events.onStart(name, component.identity);
    void this.#watch(component);
  }

  async #watch(component: ComponentProcess): Promise<void> {
    await component.exited;
    if (!component.endIsExpected) this.#events.onFailure(await component.failure());
  }

  async #waitForApi(signal: AbortSignal): Promise<void> {
    const api = this.#api;
    if (api === undefined) throw new AppError('NotFound', `Cluster ${this.name} was never started.`);
    const look = (): Promise<boolean> => api.call({ method: 'GET', path: '/readyz', read: () => true }, signal);
    await waitUntil(`The API server of ${this.name}`, look, startTimeoutMs, signal);
  }

  async #createNodes(api: Transport, signal: AbortSignal): Promise<void> {
    for (const node of nodeObjects(this.#plan)) {
      await api.call({ method: 'POST', path: '/api/v1/nodes', body: node }, signal);
    }
  }

  /** Pods can be created and placed: the token controller, the node life cycle and the scheduler have begun to work. */
  async #waitForControllers(api: Transport, signal: AbortSignal): Promise<void> {
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    const account = (): Promise<boolean> => api.call({ method: 'GET', path, read: () => true }, signal);
    await waitUntil(`The default ServiceAccount of ${this.name}`, account, startTimeoutMs, signal);
    const nodes = async (): Promise<boolean> =>
      nodesAreReady(await api.call<NodeList>({ method: 'GET', path: '/api/v1/nodes' }, signal), this.#plan.nodes);
    await waitUntil(`A Ready state of every node of ${this.name}`, nodes, startTimeoutMs, signal);
  }
}

/** The text of what went wrong in a cluster, with the cluster's name. */
export function clusterFailure(name: string, error: unknown): AppError {
  return error instanceof AppError
    ? error
    : new AppError('StartFailed', `Cluster ${name} does not start: ${messageOf(error)}`, { cause: error });
}
