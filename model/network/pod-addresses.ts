// The address under which other members of a clusterset reach a member's pods when ranges overlap. A member whose pod
// range overlaps no other keeps it. Otherwise each pod gets an additional address in a range of the same length within
// GLOBAL_RANGE: the host part stays, so every address follows from the two ranges and no table of pods is needed. IPv4
// only.
import type { ClustersetMember } from '../../api/kinds/gateway.ts';
import { doOverlap, formatV4, isWithin, parseAddressBits, parseRange, type IpRange } from './ip-range.ts';

/** Pool of global ranges; Submariner's Globalnet uses the same. */
const GLOBAL_RANGE = '242.0.0.0/8';

const SHORTEST_PREFIX = 8;
/**
 * Where no pod is: this host, link-local addresses with the clouds' metadata services, those of Azure and Oracle, and
 * multicast. Alibaba's is in a range that others use for pods.
 */
const NO_PODS = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '168.63.129.16/32', '192.0.0.0/24', '224.0.0.0/4']
  .flatMap((text) => parseRange(text) ?? []);

/** A pod range as its own cluster and as the others see it; equal lengths, and equal texts where nothing is mapped. */
export interface PodPrefix {
  readonly own: string;
  readonly seen: string;
}

/** The ranges of a ClustersetMember. */
export type ClusterRanges = Pick<ClustersetMember['spec'], 'clusterID' | 'clusterCIDR' | 'serviceCIDR' | 'globalCIDR'>;

/**
 * Global ranges for a member's IPv4 pod ranges: for each the first free one of its length. `taken` are those of all
 * other members. Undefined when {@link GLOBAL_RANGE} is exhausted. The broker allocates once, when a member joins, and
 * stores the result in its ClustersetMember object.
 */
export function allocateGlobalRanges(clusterCIDR: readonly string[], taken: readonly string[]): readonly string[]
  | undefined {
  const given: string[] = [];
  for (const { length } of ipv4Ranges(clusterCIDR)) {
    const free = firstFree(length, ipv4Ranges([...taken, ...given]));
    if (free === undefined) return undefined;
    given.push(free);
  }
  return given;
}

function firstFree(length: number, taken: readonly IpRange[]): string | undefined {
  const whole = parseRange(GLOBAL_RANGE);
  if (whole === undefined || length < whole.length) return undefined;
  const size = 1n << BigInt(32 - length);
  let first = whole.first;
  for (;;) {
    const last = first + size - 1n;
    if (last > whole.last) return undefined;
    const obstacle = taken.find((range) => range.first <= last && first <= range.last);
    if (obstacle === undefined) return `${formatV4(first)}/${length}`;
    first = ((obstacle.last + size) / size) * size; // the next multiple of the size after the obstacle
  }
}

/** Ignores a range wider than /8: announcing one would make every other member's ranges overlap. */
function ipv4Ranges(texts: readonly string[]): readonly IpRange[] {
  return texts.flatMap((text) => parseRange(text) ?? [])
    .filter(({ version, length }) => version === 4 && length >= SHORTEST_PREFIX);
}

/**
 * The pod ranges of a member as the others see them. An overlapping range without a global one is left out: its pods
 * are ambiguous. So are {@link NO_PODS}: all nodes would route what they send there to the member.
 */
export function podPrefixes(cluster: ClusterRanges, all: readonly ClusterRanges[]): readonly PodPrefix[] {
  return prefixesOf(cluster, parsedRanges(all));
}

/** The same of all members, by ID. */
export function allPodPrefixes(all: readonly ClusterRanges[]): ReadonlyMap<string, readonly PodPrefix[]> {
  const parsed = parsedRanges(all);
  return new Map(all.map((cluster) => [cluster.clusterID, prefixesOf(cluster, parsed)]));
}

/** The ranges that a member's pods and Services have there. */
interface ParsedRanges {
  readonly clusterID: string;
  readonly ranges: readonly IpRange[];
}

function parsedRanges(all: readonly ClusterRanges[]): readonly ParsedRanges[] {
  return all.map(({ clusterID, clusterCIDR = [], serviceCIDR = [] }) => (
    { clusterID, ranges: ipv4Ranges([...clusterCIDR, ...serviceCIDR]) }
  ));
}

function prefixesOf(cluster: ClusterRanges, all: readonly ParsedRanges[]): readonly PodPrefix[] {
  const foreign = all.flatMap(({ clusterID, ranges }) => (clusterID === cluster.clusterID ? [] : ranges));
  const reserved = [...foreign, ...ipv4Ranges([GLOBAL_RANGE])];
  const { globalCIDR = [] } = cluster;
  return ipv4Ranges(cluster.clusterCIDR ?? []).flatMap((range, index) => {
    if (NO_PODS.some((other) => doOverlap(range, other))) return [];
    const own = `${formatV4(range.first)}/${range.length}`;
    if (!reserved.some((other) => doOverlap(range, other))) return [{ own, seen: own }];
    const global = parseRange(globalCIDR[index] ?? '');
    if (global?.version !== 4 || global.length !== range.length) return [];
    return [{ own, seen: `${formatV4(global.first)}/${global.length}` }];
  });
}

/** The address under which others reach a pod; undefined when it is in none of the ranges. */
export function seenAddress(prefixes: readonly PodPrefix[], address: string): string | undefined {
  return translate(address, prefixes.map(({ own, seen }) => [own, seen] as const));
}

function translate(address: string, pairs: readonly (readonly [from: string, to: string])[]): string | undefined {
  for (const [from, to] of pairs) {
    const [source, destination, bits] = [parseRange(from), parseRange(to), parseAddressBits(address)];
    if (source !== undefined && destination !== undefined && bits !== undefined && isWithin(source, address)) {
      return formatV4(destination.first + (bits - source.first));
    }
  }
  return undefined;
}
