// Plans the real nodes of a cluster: names, addresses, ranges, cgroups and folders. Pure.
import { join } from 'node:path';
import type { IpFamily } from '../../api/kinds/service-discovery.ts';

/** The families of a cluster's pods, Services and nodes, the first one being what it prefers. */
export type IpFamilies = readonly [IpFamily, IpFamily?];

/** One real node: a kubelet with its containers, in namespaces of its own. */
export interface RealNodePlan {
  /** Name of the Node object and host name. */
  readonly name: string;
  /** Absolute folder that stands for the node's disk. */
  readonly directory: string;
  /** Its addresses in the cluster's network, one of each family, the cluster's first. */
  readonly addresses: readonly string[];
  /** Where the addresses of its pods come from, one range of each family. */
  readonly podRanges: readonly string[];
  /** Name of its cgroup, below the root of every hierarchy. */
  readonly cgroup: string;
}

/** The network of a cluster with real nodes: a bridge in a network namespace, which this machine is connected to. */
export interface RealNetworkPlan {
  /** This machine's addresses in it, one of each family; the API server listens at the first. */
  readonly addresses: readonly string[];
  /** Name of this machine's interface into it. */
  readonly interface: string;
  readonly nodes: readonly RealNodePlan[];
}

/** What the real nodes of a cluster are planned from. */
export interface RealNetworkShape {
  readonly clusterName: string;
  /** Absolute folder of the cluster. */
  readonly directory: string;
  readonly nodes: number;
  readonly families: IpFamilies;
  /** A number from 0 to 127 that no other cluster on this machine has. */
  readonly slot: number;
}

/** Most real nodes of a cluster: each one is a kubelet, a containerd and a kube-proxy. */
export const maxRealNodes = 8;

/** How many clusters with real nodes fit on a machine. */
const slots = 128;

/** The addresses of the nodes of a slot: in a range for tests of networks (RFC 2544), which is never routed. */
export function nodeRange(slot: number): string {
  return `198.18.${slot}.0/24`;
}

/** What all IPv6 addresses of sandboxes begin with, 48 bits of the private range (RFC 4193). */
const ULA = 'fd69:7374:686d';

const hex = (number: number): string => number.toString(16);

/** The pods' IPv6 range of a node of a slot, and without a node the first of the slot. */
function nodePodRange6(slot: number, node = 0): string {
  return `${ULA}:${hex(0x1000 + slot * 0x100 + node)}::/64`;
}

/** The pods' range of a slot; the ranges of the nodes lie in it. */
export function slotPodRange(slot: number, family: IpFamily = 'IPv4'): string {
  return family === 'IPv4' ? `10.${128 + slot}.0.0/16` : nodePodRange6(slot).replace('/64', '/56');
}

/** The range of Services of the cluster with this number. */
export function serviceRange(cluster: number, family: IpFamily = 'IPv4'): string {
  return family === 'IPv4' ? `10.${64 + cluster}.0.0/16` : `${ULA}:${hex(0xa000 + cluster)}::/112`;
}

/** An address of a range, by its number. */
export function addressIn(range: string, number: number): string {
  return range.includes(':')
    ? range.replace(/\/\d+$/, hex(number))
    : range.replace(/0\/\d+$/, String(number));
}

function nodeAddress(slot: number, family: IpFamily, number: number): string {
  return addressIn(family === 'IPv4' ? nodeRange(slot) : `${ULA}:${hex(slot)}::/64`, number);
}

/** One of each family. */
export function ofEach<T>(families: IpFamilies, make: (family: IpFamily) => T): readonly T[] {
  return families.flatMap((family) => (family === undefined ? [] : [make(family)]));
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

/** The slot whose interface this is; undefined for any other interface. */
export function slotOf(name: string): number | undefined {
  const [, digits] = /^isthmus(\d+)$/.exec(name) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** What keeps slots from being free. */
export interface SlotObstacles {
  /** Destinations of this machine's IPv4 routes. The default route does not count. */
  readonly routes: readonly string[];
  /** Slots of other sandboxes: those of IPv6 alone have no IPv4 route. */
  readonly taken: readonly number[];
}

/** The first of `count` free slots in a row, from `from` on; undefined when there is none. */
export function freeSlots(count: number, { routes, taken }: SlotObstacles, from: number): number | undefined {
  const ranges = routes.filter((route) => route !== 'default');
  const isFree = (slot: number): boolean => !taken.includes(slot)
    && ranges.every((route) => !rangesOverlap(route, nodeRange(slot)) && !rangesOverlap(route, slotPodRange(slot)));
  const starts = Array.from({ length: slots }, (_, index) => (from + index) % slots);
  return starts.find(
    (start) => start + count <= slots && Array.from({ length: count }, (_, index) => start + index).every(isFree),
  );
}

/** The network and the nodes of one cluster. Throws RangeError for a slot that is none. */
export function planRealNetwork({ clusterName, directory, nodes, families, slot }: RealNetworkShape): RealNetworkPlan {
  if (slot < 0 || slot >= slots) throw new RangeError(`${slot} is no slot`);
  return {
    addresses: ofEach(families, (family) => nodeAddress(slot, family, 1)),
    interface: `isthmus${slot}`,
    nodes: Array.from({ length: nodes }, (_, index) => {
      const name = `${clusterName}-node-${index + 1}`;
      return {
        name,
        directory: join(directory, 'nodes', name),
        addresses: ofEach(families, (family) => nodeAddress(slot, family, 10 + index)),
        podRanges: ofEach(families, (family) => (
          family === 'IPv4' ? `10.${128 + slot}.${index + 1}.0/24` : nodePodRange6(slot, index + 1)
        )),
        cgroup: `isthmus${slot}-${name}`,
      };
    }),
  };
}
