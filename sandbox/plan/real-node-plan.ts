// Plans the real nodes of a cluster: names, addresses, ranges, cgroups and folders. Pure.
import { join } from 'node:path';

/** One real node: a kubelet with its containers, in namespaces of its own. */
export interface RealNodePlan {
  /** Name of the Node object and host name. */
  readonly name: string;
  /** Absolute folder that stands for the node's disk. */
  readonly directory: string;
  /** Its address in the cluster's network. */
  readonly address: string;
  /** Where the addresses of its pods come from. */
  readonly podRange: string;
  /** Name of its cgroup, below the root of every hierarchy. */
  readonly cgroup: string;
}

/** The network of a cluster with real nodes: a bridge in a network namespace, which this machine is connected to. */
export interface RealNetworkPlan {
  /** This machine's address in it, where the API server listens. */
  readonly address: string;
  /** Name of this machine's interface into it. */
  readonly interface: string;
  /** Addresses of this machine and of the nodes. */
  readonly range: string;
  readonly nodes: readonly RealNodePlan[];
}

/** What the real nodes of a cluster are planned from. */
export interface RealNetworkShape {
  readonly clusterName: string;
  /** Absolute folder of the cluster. */
  readonly directory: string;
  readonly nodes: number;
  /** A number from 0 to 127 that no other cluster on this machine has. */
  readonly slot: number;
}

/** Most real nodes of a cluster: each one is a kubelet, a containerd and a kube-proxy. */
export const maxRealNodes = 8;

/** How many clusters with real nodes fit on a machine. */
const slots = 128;

/** The addresses of the nodes of a slot: of a range for tests of networks (RFC 2544), which nobody routes. */
function nodeRange(slot: number): string {
  return `198.18.${slot}.0/24`;
}

/** The pods' range of a slot; the ranges of the nodes lie in it. */
export function slotPodRange(slot: number): string {
  return `10.${128 + slot}.0.0/16`;
}

function bits(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}

/** Whether two IPv4 ranges in CIDR notation share an address; a bare address is a range of one. */
export function rangesOverlap(left: string, right: string): boolean {
  const [one, two] = [left, right].map((range) => {
    const [address = '', length = '32'] = range.split('/');
    return { address: bits(address), length: Number(length) };
  });
  if (one === undefined || two === undefined) return false;
  const size = 2 ** (32 - Math.min(one.length, two.length));
  return Math.floor(one.address / size) === Math.floor(two.address / size);
}

/**
 * The first of `count` slots in a row whose ranges meet no route of this machine, from `from` on; undefined when there
 * is none. The default route does not count.
 */
export function freeSlots(count: number, routes: readonly string[], from: number): number | undefined {
  const taken = routes.filter((route) => route !== 'default');
  const isFree = (slot: number): boolean =>
    taken.every((route) => !rangesOverlap(route, nodeRange(slot)) && !rangesOverlap(route, slotPodRange(slot)));
  const starts = Array.from({ length: slots }, (_, index) => (from + index) % slots);
  return starts.find(
    (start) => start + count <= slots && Array.from({ length: count }, (_, index) => start + index).every(isFree),
  );
}

/** The network and the nodes of one cluster. Throws RangeError for a slot that is none. */
export function planRealNetwork({ clusterName, directory, nodes, slot }: RealNetworkShape): RealNetworkPlan {
  if (slot < 0 || slot >= slots) throw new RangeError(`${slot} is no slot`);
  return {
    address: `198.18.${slot}.1`,
    interface: `isthmus${slot}`,
    range: nodeRange(slot),
    nodes: Array.from({ length: nodes }, (_, index) => {
      const name = `${clusterName}-node-${index + 1}`;
      return {
        name,
        directory: join(directory, 'nodes', name),
        address: `198.18.${slot}.${10 + index}`,
        podRange: `10.${128 + slot}.${index + 1}.0/24`,
        cgroup: `isthmus${slot}-${name}`,
      };
    }),
  };
}
