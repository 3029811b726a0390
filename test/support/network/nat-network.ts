// A source and a target that only the API plane of the gateway joins, as network namespaces: the source, the
// "internet", a router that translates addresses and lets only TCP 443 out, and the target behind it. Clusters with
// nodes and pods, for the pod plane, are in network-world.ts.
import { execFileSync, fork, spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { messageOf } from '../../../process/errors.ts';
import type { AgentAnswer, AgentOrder } from './namespace-agent.ts';
import { missingForNamespaces } from './network-world.ts';

/** The namespaces, by what stands in them. */
export type Place = 'source' | 'internet' | 'router' | 'target';

/**
 * Addresses. Peers find the source at {@link SOURCE_ADDRESS}, the broker at {@link BROKER_ADDRESS}; the target's own is
 * never seen outside.
 */
export const SOURCE_ADDRESS = '10.77.1.2';
export const BROKER_ADDRESS = '10.77.1.3';
export const TARGET_ADDRESS = '192.168.77.2';
/** The router's address on the internet. */
export const ROUTER_ADDRESS = '10.77.2.2';
/** Port in the internet to which everything for the source's port 443 is turned. */
export const RELAY_PORT = 8443;
const AGENT = new URL('namespace-agent.js', import.meta.url).pathname;

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** The four namespaces. Make them with {@link makeNatNetwork}, end with {@link NatNetwork.remove}. */
export class NatNetwork {
  readonly #suffix = String(process.pid);
  readonly #children = new Set<ChildProcess>();

  nameOf(place: Place): string {
    return `isthmus-${place}-${this.#suffix}`;
  }

  /** Runs a command to its end in a namespace. Throws when it fails. */
  run(place: Place, ...command: readonly string[]): void {
    run('ip', 'netns', 'exec', this.nameOf(place), ...command);
  }

  /** Starts a program in a namespace. */
  spawn(place: Place, command: readonly string[], stdio: StdioOptions = 'ignore'): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.nameOf(place), ...command], { stdio });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return child;
  }

  /** An agent in a namespace (namespace-agent.ts). */
  agent(place: Place): NamespaceAgent {
    const child =
      fork(AGENT, [], { execPath: 'ip', execArgv: ['netns', 'exec', this.nameOf(place), process.execPath] });
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
    return new NamespaceAgent(child);
  }

  make(): void {
    const [source, internet, router, target] =
      (['source', 'internet', 'router', 'target'] as const).map((place) => this.nameOf(place));
    for (const name of [source, internet, router, target]) {
      run('ip', 'netns', 'add', name ?? '');
      run('ip', '-n', name ?? '', 'link', 'set', 'lo', 'up');
    }
    this.#cable(
      [source, 'up0', [`${SOURCE_ADDRESS}/24`, `${BROKER_ADDRESS}/24`]], [internet, 'to-source', ['10.77.1.1/24']],
    );
    this.#cable([router, 'up0', [`${ROUTER_ADDRESS}/24`]], [internet, 'to-router', ['10.77.2.1/24']]);
    this.#cable([target, 'up0', [`${TARGET_ADDRESS}/24`]], [router, 'to-target', ['192.168.77.1/24']]);
    run('ip', '-n', source ?? '', 'route', 'add', 'default', 'via', '10.77.1.1');
    run('ip', '-n', router ?? '', 'route', 'add', 'default', 'via', '10.77.2.1');
    run('ip', '-n', target ?? '', 'route', 'add', 'default', 'via', '192.168.77.1');
    for (const place of ['internet', 'router'] as const) this.run(place, 'sysctl', '-qw', 'net.ipv4.ip_forward=1');
    this.#rules('router', [
      'add table ip nat', 'add chain ip nat out { type nat hook postrouting priority 100 ; }',
      'add rule ip nat out oifname "up0" masquerade',
      'add table ip filter', 'add chain ip filter forward { type filter hook forward priority 0 ; policy drop ; }',
      'add rule ip filter forward ct state established,related accept',
      'add rule ip filter forward iifname "to-target" oifname "up0" tcp dport 443 accept',
    ]);
    this.#rules('internet', [
      'add table ip nat', 'add chain ip nat in { type nat hook prerouting priority -100 ; }',
      `add rule ip nat in iifname "to-router" ip daddr ${SOURCE_ADDRESS} tcp dport 443 redirect to :${RELAY_PORT}`,
      'add table ip filter', 'add chain ip filter forward { type filter hook forward priority 0 ; }',
      'add chain ip filter input { type filter hook input priority 0 ; }',
    ]);
  }

  /** From now on so many of a hundred packets are lost in the internet, and none is larger than the MTU. */
  worsen(lossPercent: number, mtu: number): void {
    for (const chain of ['forward', 'input']) {
      this.#rules('internet', [`add rule ip filter ${chain} numgen random mod 100 < ${lossPercent} counter drop`]);
    }
    for (
      const [place, link] of [
        ['internet', 'to-router'], ['internet', 'to-source'], ['router', 'up0'], ['source', 'up0'],
      ] as const
    ) this.run(place, 'ip', 'link', 'set', link, 'mtu', String(mtu));
  }

  /** Packets that were lost since {@link worsen}. */
  lostPackets(): number {
    const rules = execFileSync(
      'ip', ['netns', 'exec', this.nameOf('internet'), 'nft', 'list', 'table', 'ip', 'filter'], { encoding: 'utf8' },
    );
    return [...rules.matchAll(/counter packets (\d+)/g)].reduce((sum, [, packets]) => sum + Number(packets), 0);
  }

  async remove(): Promise<void> {
    const ends = [...this.#children].map((child) => once(child, 'exit'));
    // Agents stop what they have started before they end; the others are told to end.
    for (const child of this.#children) {
      if (child.connected) child.disconnect();
      else child.kill('SIGTERM');
    }
    const timer = setTimeout(() => [...this.#children].forEach((child) => child.kill('SIGKILL')), 60_000);
    await Promise.all(ends);
    clearTimeout(timer);
    for (const place of ['source', 'internet', 'router', 'target'] as const) {
      spawnSync('ip', ['netns', 'del', this.nameOf(place)]);
    }
  }

  #rules(place: Place, rules: readonly string[]): void {
    for (const rule of rules) this.run(place, 'nft', rule);
  }

  #cable(...ends: readonly [one: LinkEnd, other: LinkEnd]): void {
    const [[name = '', link], [otherName = '', otherLink]] = ends;
    run('ip', 'link', 'add', link, 'netns', name, 'type', 'veth', 'peer', 'name', otherLink, 'netns', otherName);
    for (const [netns = '', device, addresses] of ends) {
      for (const address of addresses) run('ip', '-n', netns, 'addr', 'add', address, 'dev', device);
      run('ip', '-n', netns, 'link', 'set', device, 'up');
    }
  }
}

type LinkEnd = readonly [netns: string | undefined, link: string, addresses: readonly string[]];

/** An agent, asked from outside of its namespace. */
export class NamespaceAgent {
  readonly #child: ChildProcess;
  readonly #waiting =
    new Map<number, { readonly resolve: (answer: AgentAnswer) => void; readonly reject: (error: Error) => void }>();
  #count = 0;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message',
      ({ id, answer, error }: { readonly id: number; readonly answer?: AgentAnswer; readonly error?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (answer !== undefined) waiting?.resolve(answer);
      else waiting?.reject(new Error(messageOf(error)));
    });
  }

  ask(order: AgentOrder): Promise<AgentAnswer> {
    this.#count += 1;
    const id = this.#count;
    this.#child.send({ id, order });
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
}

/** Makes the namespaces. Throws with what is missing. */
export function makeNatNetwork(): NatNetwork {
  const missing = missingForNamespaces([['tcpdump', ['--version']]]);
  if (missing !== undefined) throw new Error(missing);
  const network = new NatNetwork();
  network.make();
  return network;
}
