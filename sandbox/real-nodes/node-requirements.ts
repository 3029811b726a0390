// Whether real nodes can run on this machine, and what to change where they cannot. Pure.

/** What was found out about this machine. */
export interface MachineFacts {
  /** `linux` and the like, as Node.js says it. */
  readonly platform: string;
  readonly isRoot: boolean;
  /** Programs that were looked for and are not on the PATH. */
  readonly missingPrograms: readonly string[];
  /** The first folder of CNI plugins that has those we use; undefined when there is none. */
  readonly cniPlugins: string | undefined;
  /** Why no namespaces can be made; undefined when they can. */
  readonly namespaceError: string | undefined;
  /** Why no overlay can be mounted in the sandbox's folder; undefined when it can. */
  readonly overlayError: string | undefined;
  readonly cgroups: CgroupLayout | undefined;
}

/** The hierarchies that a node joins: one for all (version 2), or one per controller below /sys/fs/cgroup. */
export type CgroupLayout =
  | { readonly version: 2 }
  | { readonly version: 1; readonly controllers: readonly string[]; readonly hasSystemd: boolean };

/** A machine on which real nodes run. */
export interface NodeMachine {
  readonly cniPlugins: string;
  readonly cgroups: CgroupLayout;
}

/** The Debian package of each program that is looked for. */
const packages: Readonly<Record<string, string>> = {
  runc: 'runc', busybox: 'busybox-static', nft: 'nftables', iptables: 'iptables', ip: 'iproute2',
  unshare: 'util-linux', nsenter: 'util-linux', mount: 'mount',
};

/** The programs that real nodes need of this machine. */
export const neededPrograms: readonly string[] = Object.keys(packages);

/** The CNI plugins that the nodes use. */
export const neededPlugins: readonly string[] = ['ptp', 'host-local', 'portmap', 'loopback'];

/** Controllers without which kubelet does not start under version 1. */
const neededControllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'];

/** Either how the nodes run here, or every reason why they cannot, each with what to do about it. */
export type NodeSupport =
  | { readonly kind: 'can-run'; readonly machine: NodeMachine }
  | { readonly kind: 'cannot-run'; readonly reasons: readonly string[] };

function missing({ missingPrograms, cniPlugins }: MachineFacts): readonly string[] {
  const names = missingPrograms.map((name) => packages[name] ?? name);
  if (cniPlugins === undefined) names.push('containernetworking-plugins');
  if (names.length === 0) return [];
  const what = [...missingPrograms, ...(cniPlugins === undefined ? ['CNI plugins'] : [])].join(', ');
  const install = [...new Set(names)].join(' ');
  return [`${what} not found; on Debian: apt-get install --no-install-recommends ${install}`];
}

function missingControllers(cgroups: CgroupLayout | undefined): readonly string[] {
  if (cgroups === undefined) return ['there are no cgroups at /sys/fs/cgroup'];
  if (cgroups.version === 2) return [];
  const names = neededControllers.filter((name) => !cgroups.controllers.includes(name));
  return names.length === 0 ? [] : [`the kernel has no cgroup controller ${names.join(', ')}`];
}

/** Judges a machine. */
export function nodeSupportOf(facts: MachineFacts): NodeSupport {
  if (facts.platform !== 'linux') return { kind: 'cannot-run', reasons: ['they need Linux'] };
  if (!facts.isRoot) return { kind: 'cannot-run', reasons: ['they need root: containers, mounts and namespaces'] };
  const { namespaceError, overlayError, cniPlugins, cgroups } = facts;
  const reasons = [
    ...missing(facts),
    ...(namespaceError === undefined ? [] : [`namespaces cannot be made here: ${namespaceError}`]),
    ...(overlayError === undefined ? [] : [`overlayfs does not mount in the sandbox's folder: ${overlayError}`]),
    ...missingControllers(cgroups),
  ];
  if (reasons.length > 0 || cniPlugins === undefined || cgroups === undefined) return { kind: 'cannot-run', reasons };
  return { kind: 'can-run', machine: { cniPlugins, cgroups } };
}

/** The message for a user who asked for real nodes on a machine that cannot run them. */
export function refusal(reasons: readonly string[]): string {
  return `Real nodes cannot run here: ${reasons.join('; ')}. Simulated nodes run everywhere: leave out --nodes real.`;
}
