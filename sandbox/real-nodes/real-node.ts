// One real node: namespaces, and in them containerd, kubelet and kube-proxy. It can be restarted as a whole, as by a
// reboot, and so can each of its programs.
import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AppError } from '../../process/errors.ts';
import type { ProcessIdentity } from '../../process/programs/process-identity.ts';
import { clusterFile, type ClusterPlan } from '../plan/cluster-plan.ts';
import { nodeFiles } from '../plan/real-node-files.ts';
import type { RealNodePlan } from '../plan/real-node-plan.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { startComponent, type ComponentProcess } from '../processes/component-process.ts';
import { joinFiles, makeCgroups, mountOptions, removeCgroups } from './cgroups.ts';
import type { ClusterNetwork } from './cluster-network.ts';
import { startNamespaceProcess } from './namespace-process.ts';
import type { NodePrograms } from './node-programs.ts';
import type { NodeMachine } from './node-requirements.ts';
import { INIT, JOIN } from './node-scripts.ts';

/** A program of a node. */
export type NodeProgramName = 'containerd' | 'kubelet' | 'kube-proxy';

/** How long a program may take to start on a busy machine, in ms. */
const startTimeoutMs = 60_000;

/** What a node stands on. */
export interface NodeGround {
  readonly cluster: ClusterPlan;
  readonly network: ClusterNetwork;
  readonly machine: NodeMachine;
  readonly programs: NodePrograms;
  /** Absolute path of runc. */
  readonly runc: string;
  /** `http://ADDRESS:PORT` of the registry. */
  readonly registry: string;
  readonly onStart: (component: string, identity: ProcessIdentity) => void;
  /** A program ended unasked. */
  readonly onFailure: (error: AppError) => void;
}

/** A node that was started; make one with {@link startRealNode}. */
export class RealNode {
  readonly plan: RealNodePlan;
  readonly #ground: NodeGround;
  readonly #running = new Map<NodeProgramName, ComponentProcess>();
  #init: ComponentProcess | undefined;
  #initPid = 0;

  /** @internal */
  constructor(plan: RealNodePlan, ground: NodeGround) {
    this.plan = plan;
    this.#ground = ground;
  }

  /** Makes the namespaces and starts the programs. */
  async start(signal: AbortSignal): Promise<void> {
    const { cluster, machine, runc, registry, network } = this.#ground;
    const files = nodeFiles(cluster, this.plan, { registry, cniPlugins: machine.cniPlugins, runc });
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.plan.directory, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o755 });
      await writeFile(path, text, { mode: 0o644 });
    }
    await this.#startInit(signal);
    await network.connect(this.plan, this.#initPid);
    await this.startProgram('containerd');
    const socket = `/proc/${this.#initPid}/root/run/containerd/containerd.sock`;
    const look = (): Promise<boolean> => access(socket).then(() => true, () => false);
    await waitUntil(`containerd of ${this.plan.name}`, look, startTimeoutMs, signal);
    await Promise.all([this.startProgram('kubelet'), this.startProgram('kube-proxy')]);
  }

  /** Starts one program again after it was killed. */
  async startProgram(name: NodeProgramName): Promise<void> {
    const { cluster, machine, onStart } = this.#ground;
    const files = joinFiles(machine.cgroups, this.plan.cgroup, false);
    const enter = ['nsenter', '-t', String(this.#initPid), '-m', '-n', '-p', '-u', '-i', '-C', '--'];
    const component = await startComponent({
      name: `${cluster.name}/${this.plan.name}/${name}`,
      command: ['sh', '-c', JOIN, 'sh', ...files, '--', ...enter, ...this.#commandLine(name)],
      cwd: this.plan.directory,
      logPath: join(this.plan.directory, `${name}.log`),
    });
    this.#running.set(name, component);
    onStart(`${this.plan.name}/${name}`, component.identity);
    void this.#watch(component);
  }

  /** The end of the whole node ends its programs as well. */
  async #watch(component: ComponentProcess): Promise<void> {
    await component.exited;
    if (component.endIsExpected || this.#init?.endIsExpected !== false) return;
    this.#ground.onFailure(await component.failure());
  }

  /** Kills one program, as a crash does; its children live on. */
  async killProgram(name: NodeProgramName): Promise<void> {
    await this.#running.get(name)?.kill();
  }

  /** Ends everything on the node at once, as a loss of power does; its disk stays. */
  async crash(signal: AbortSignal): Promise<void> {
    await this.#init?.kill();
    await Promise.all([...this.#running.values()].map((component) => component.kill()));
    await removeCgroups(this.plan.cgroup, signal);
  }

  async #startInit(signal: AbortSignal): Promise<void> {
    const { cluster, machine, onStart } = this.#ground;
    await makeCgroups(machine.cgroups, this.plan.cgroup, signal);
    const namespaces = ['--net', '--mount', '--pid', '--uts', '--ipc', '--cgroup', '--mount-proc'];
    const values = [this.plan.name, this.plan.directory, String(machine.cgroups.version)];
    const { component, pid } = await startNamespaceProcess({
      name: `${cluster.name}/${this.plan.name}/init`,
      command: [
        'sh', '-c', JOIN, 'sh', ...joinFiles(machine.cgroups, this.plan.cgroup, true), '--',
        'unshare', ...namespaces, '--fork', '--kill-child', '--propagation', 'private', '--',
        'sh', '-c', INIT, 'sh', ...values, ...mountOptions(machine.cgroups),
      ],
      cwd: this.plan.directory,
      logPath: join(this.plan.directory, 'init.log'),
    }, join(this.plan.directory, 'ready'), signal);
    this.#init = component;
    this.#initPid = pid;
    onStart(`${this.plan.name}/init`, component.identity);
  }

  #commandLine(name: NodeProgramName): readonly [string, ...string[]] {
    const { cluster, programs } = this.#ground;
    const file = (path: string): string => join(this.plan.directory, path);
    switch (name) {
      case 'containerd': return [programs.containerd, '--config', file('containerd.toml')];
      case 'kubelet': return [
        programs.kubernetes, 'kubelet', `--config=${file('kubelet.yaml')}`, `--hostname-override=${this.plan.name}`,
        `--kubeconfig=${clusterFile(cluster, `${this.plan.name}.kubeconfig`)}`,
        `--node-ip=${this.plan.addresses.join(',')}`,
      ];
      case 'kube-proxy': return [programs.kubernetes, 'kube-proxy', `--config=${file('kube-proxy.yaml')}`];
    }
  }
}

/** Starts a node. Throws AppError `StartFailed`, with nothing of the node left running. */
export async function startRealNode(
  plan: RealNodePlan, ground: NodeGround, signal: AbortSignal,
): Promise<RealNode> {
  const node = new RealNode(plan, ground);
  try {
    await node.start(signal);
    return node;
  } catch (error) {
    await node.crash(AbortSignal.timeout(30_000));
    throw error;
  }
}
