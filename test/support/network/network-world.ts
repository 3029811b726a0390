// Clusters as network namespaces: each has a gateway node and a worker node on one network, pods behind a bridge on
// each node with the masquerading that network plugins do, and a router between the clusters, which knows nodes but no
// pods. A cluster may stand behind a NAT that gives each connection another port. No link touches the namespace of the
// machine, and nothing is left behind. Without nodes and pods: nat-network.ts.
import { execFile, execFileSync, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** How a cluster is wired. */
export interface ClusterWiring {
  readonly id: string;
  /** The first two numbers of its pod range, `10.200` for 10.200.0.0/16. */
  readonly pods: string;
  /** Behind a NAT that randomises ports. */
  readonly nat?: boolean;
}

/** A node and its pods. */
export interface NetworkNode {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
  readonly podCIDR: string;
  readonly pods: readonly { readonly name: string; readonly namespace: string; readonly address: string }[];
}

/** A cluster that is wired. */
export interface NetworkCluster {
  readonly id: string;
  readonly podCIDR: string;
  readonly gateway: NetworkNode;
  /** A second node where a gateway may run. */
  readonly standby: NetworkNode;
  readonly worker: NetworkNode;
  /** Where others reach the gateway node and the standby; empty behind NAT. */
  readonly addresses: readonly string[];
}

const PACKAGES: Readonly<Record<string, string>> = { ip: 'iproute2', nft: 'nftables' };

/**
 * What this machine lacks: root, ip, nft, and programs that are named with an argument to try them with; undefined when
 * it can.
 */
export function missingForNamespaces(
  more: readonly (readonly [program: string, args: readonly string[]])[] = [],
): string | undefined {
  if (process.getuid?.() !== 0) return 'it is not run as root';
  for (const [program, args] of [['ip', ['-V']], ['nft', ['--version']], ...more] as const) {
    try {
      execFileSync(program, args, { stdio: 'ignore' });
    } catch {
      return `${program} is missing: apt-get install ${PACKAGES[program] ?? program}`;
    }
  }
  return undefined;
}

/** Namespaces of one test. */
export class NetworkWorld {
  readonly prefix = `ix${process.pid}`;
  readonly clusters: NetworkCluster[] = [];
  readonly #namespaces: string[] = [];
  readonly #programs: NamespaceProgram[] = [];
  #count = 0;

  /** Makes the router and the clusters. */
  static async make(wirings: readonly ClusterWiring[]): Promise<NetworkWorld> {
    const world = new NetworkWorld();
    try {
      await world.#namespace('router');
      for (const wiring of wirings) world.clusters.push(await world.#cluster(wiring));
    } catch (error) {
      await world.remove();
      throw error;
    }
    return world;
  }

  /** The router's namespace: everything between clusters passes there. */
  get router(): string {
    return `${this.prefix}-router`;
  }

  /** Runs a program in a namespace and gives what it prints. */
  async exec(namespace: string, ...command: readonly string[]): Promise<string> {
    return (await run('ip', ['netns', 'exec', namespace, ...command], { maxBuffer: 64 << 20, timeout: 60_000 })).stdout;
  }

  /** Starts a compiled script in a namespace; it is ended with the world. */
  start(namespace: string, script: URL, ...args: readonly string[]): NamespaceProgram {
    const program = new NamespaceProgram(namespace, script, args);
    this.#programs.push(program);
    return program;
  }

  /**
   * From now on nodes and router send real frames of 1500 bytes, of TCP and of UDP: large segments that are cut late,
   * if ever, would pass for a network card's work. Needs ethtool.
   */
  async sendRealFrames(): Promise<void> {
    const namespaces = [this.router, ...this.clusters.flatMap(
      ({ gateway, worker, standby }) => [gateway, worker, standby].map((node) => node.namespace),
    )];
    for (const namespace of namespaces) {
      const links = JSON.parse(
        await this.exec(namespace, 'ip', '-j', '-d', 'link', 'show', 'type', 'veth'),
      ) as readonly { readonly ifname: string; readonly master?: string }[];
      for (const { ifname, master } of links) if (master !== 'cni0') await this.exec(
        namespace, 'ethtool', '-K', ifname, 'tso', 'off', 'gso', 'off', 'gro', 'off', 'tx-udp-segmentation', 'off',
      );
    }
  }

  /** Ends all programs and removes all namespaces. */
  async remove(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
    for (const namespace of this.#namespaces) await run('ip', ['netns', 'del', namespace]).catch(() => undefined);
  }

  async #namespace(name: string): Promise<string> {
    const namespace = `${this.prefix}-${name}`;
    await run('ip', ['netns', 'add', namespace]);
    this.#namespaces.push(namespace);
    // Link-local addresses of IPv6 come and go by themselves, and would be taken for what the pod plane leaves behind.
    await this.exec(
      namespace, 'sh', '-c', 'for name in all default; do echo 1 > /proc/sys/net/ipv6/conf/$name/disable_ipv6; done',
    );
    await this.exec(namespace, 'ip', 'link', 'set', 'lo', 'up');
    await this.exec(namespace, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
    return namespace;
  }

  /** A cable between two namespaces; gives the names of its ends. */
  async #cable(one: string, other: string): Promise<readonly [string, string]> {
    this.#count += 1;
    const names = [`v${this.#count}a`, `v${this.#count}b`] as const;
    await run('ip', ['link', 'add', names[0], 'netns', one, 'type', 'veth', 'peer', 'name', names[1], 'netns', other]);
    await this.exec(one, 'ip', 'link', 'set', names[0], 'up');
    await this.exec(other, 'ip', 'link', 'set', names[1], 'up');
    return names;
  }

  async #bridge(namespace: string, name: string, address: string): Promise<void> {
    await this.exec(namespace, 'ip', 'link', 'add', name, 'type', 'bridge');
    await this.exec(namespace, 'ip', 'addr', 'add', address, 'dev', name);
    await this.exec(namespace, 'ip', 'link', 'set', name, 'up');
  }

  async #cluster({ id, pods, nat = false }: ClusterWiring): Promise<NetworkCluster> {
    const number = this.clusters.length + 1;
    const network = nat ? `10.88.${number}` : `172.31.${number}`;
    const edge = nat ? await this.#nat(id, number) : this.router;
    await this.#bridge(edge, `net-${id}`, `${network}.1/24`);
    const [gateway, worker, standby] = [
      await this.#node(
        { name: `${id}-gateway`, edge, bridge: `net-${id}`, address: `${network}.2`, podNetwork: `${pods}.1`, pods: 1 },
      ),
      await this.#node(
        { name: `${id}-worker`, edge, bridge: `net-${id}`, address: `${network}.3`, podNetwork: `${pods}.2`, pods: 2 },
      ),
      await this.#node(
        { name: `${id}-standby`, edge, bridge: `net-${id}`, address: `${network}.4`, podNetwork: `${pods}.3`, pods: 0 },
      ),
    ];
    const nodes = [gateway, worker, standby];
    for (const node of nodes) {
      for (const other of nodes.filter((one) => one !== node)) {
        await this.exec(node.namespace, 'ip', 'route', 'add', other.podCIDR, 'via', other.address);
      }
      // As network plugins do: what leaves for anywhere else leaves under the node's address.
      await this.exec(
        node.namespace, 'nft',
        `table ip plugin { chain post { type nat hook postrouting priority srcnat; ip saddr ${pods}.0.0/16 ip daddr ` +
          `!= ${pods}.0.0/16 masquerade\n }\n }`,
      );
    }
    return {
      id, podCIDR: `${pods}.0.0/16`, gateway, worker, standby,
      addresses: nat ? [] : [`${gateway.address}:51820`, `${standby.address}:51820`],
    };
  }

  /** A NAT between a cluster's nodes and the router, which never keeps a port. */
  async #nat(id: string, number: number): Promise<string> {
    const namespace = await this.#namespace(`${id}-nat`);
    const [outside, inRouter] = await this.#cable(namespace, this.router);
    await this.exec(namespace, 'ip', 'addr', 'add', `172.30.${number}.2/24`, 'dev', outside);
    await this.exec(this.router, 'ip', 'addr', 'add', `172.30.${number}.1/24`, 'dev', inRouter);
    await this.exec(namespace, 'ip', 'route', 'add', 'default', 'via', `172.30.${number}.1`);
    await this.exec(
      namespace, 'nft',
      `table ip nat { chain post { type nat hook postrouting priority srcnat; oifname "${outside}" masquerade ` +
        'fully-random\n }\n }',
    );
    return namespace;
  }

  async #node(wiring: {
    readonly name: string; readonly edge: string; readonly bridge: string; readonly address: string;
    readonly podNetwork: string; readonly pods: number
  }): Promise<NetworkNode> {
    const { name, edge, bridge, address, podNetwork } = wiring;
    const namespace = await this.#namespace(name);
    const [inNode, inEdge] = await this.#cable(namespace, edge);
    await this.exec(edge, 'ip', 'link', 'set', inEdge, 'master', bridge);
    await this.exec(namespace, 'ip', 'addr', 'add', `${address}/24`, 'dev', inNode);
    await this.exec(
      namespace, 'ip', 'route', 'add', 'default', 'via', `${address.slice(0, address.lastIndexOf('.'))}.1`,
    );
    await this.#bridge(namespace, 'cni0', `${podNetwork}.1/24`);
    const pods = [];
    for (let index = 0; index < wiring.pods; index += 1) {
      pods.push(await this.#pod(namespace, `${name}-pod${index}`, `${podNetwork}.${10 + index}`));
    }
    return { name, namespace, address, podCIDR: `${podNetwork}.0/24`, pods };
  }

  async #pod(node: string, name: string, address: string): Promise<NetworkNode['pods'][number]> {
    const namespace = await this.#namespace(name);
    const [inPod, inNode] = await this.#cable(namespace, node);
    await this.exec(node, 'ip', 'link', 'set', inNode, 'master', 'cni0');
    // As network plugins do: a pod that asks a Service may be answered by itself, and packet rules see what goes over a
    // bridge.
    await this.exec(node, 'ip', 'link', 'set', inNode, 'type', 'bridge_slave', 'hairpin', 'on');
    await this.exec(namespace, 'ip', 'addr', 'add', `${address}/24`, 'dev', inPod);
    await this.exec(
      namespace, 'ip', 'route', 'add', 'default', 'via', `${address.slice(0, address.lastIndexOf('.'))}.1`,
    );
    return { name, namespace, address };
  }
}

/** A script that runs in a namespace, is asked by lines of JSON, and answers each with one. */
export class NamespaceProgram {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: ((answer: unknown) => void)[] = [];
  readonly #exited: Promise<void>;
  #ended = false;
  said = '';

  constructor(namespace: string, script: URL, args: readonly string[]) {
    this.#child = spawn('ip', ['netns', 'exec', namespace, process.execPath, script.pathname, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#exited = new Promise((resolve) => this.#child.once('close', () => resolve()));
    this.#child.stdin.on('error', () => undefined);
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.said = (this.said + text).slice(-4_000)));
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#waiting.shift()?.(JSON.parse(line)));
    this.#child.once('close', () => {
      this.#ended = true;
      for (const waiting of this.#waiting.splice(0)) waiting({ error: `the program has ended: ${this.said}` });
    });
  }

  /** Asks and gives the answer. Throws an Error when the program answers with `error`. */
  async ask<T>(question: object): Promise<T> {
    if (this.#ended) throw new Error(`the program has ended: ${this.said}`);
    const answer = await new Promise<unknown>((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    });
    if (typeof answer === 'object' && answer !== null && 'error' in answer) throw new Error(String(answer.error));
    return answer as T;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    if (!this.#ended) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Ends its input and waits until it has ended by itself. */
  async stop(): Promise<void> {
    this.#child.stdin.end();
    await this.#exited;
  }
}
