// From the Cluster and Endpoint objects of a clusterset to the peers that a gateway wants. What others wrote is data: an object that
// contradicts itself counts for nothing.
import type { Cluster, Endpoint } from '../api/gateway.ts';
import { isClusterId } from '../model/gateway-names.ts';
import { parseAddress } from './allowed-services.ts';
import type { Peer } from './cable-driver.ts';

/** What the objects come to. */
export interface Membership {
  /** All members but the one that asks, in the order of their names. */
  readonly peers: readonly Peer[];
  readonly revokedSerials: ReadonlySet<string>;
  /** Ranges that two members both use, in words; no harm for the API plane, but pods will not reach one another. */
  readonly overlaps: readonly string[];
}

/** Name of the Cluster object of a member, and the beginning of those of its Endpoints. */
export function clusterObjectName(clusterId: string): string {
  return clusterId;
}

/** Name of a member's Endpoint of a driver. */
export function endpointObjectName(clusterId: string, backend: string): string {
  return `${clusterId}-${backend}`;
}

/** The peers of a member, of one driver. An Endpoint counts only under its own name and beside the Cluster of that name. */
export function planMembership(own: string, clusters: readonly Cluster[], endpoints: readonly Endpoint[], backend: string): Membership {
  const members = new Map(clusters.filter(isConsistent).map((cluster) => [cluster.spec.clusterID, cluster]));
  const peers = endpoints
    .filter(({ metadata, spec }) => spec.backend === backend && spec.clusterID !== own && members.has(spec.clusterID) && metadata.name === endpointObjectName(spec.clusterID, backend))
    .map(({ spec }) => ({ clusterId: spec.clusterID, addresses: (spec.addresses ?? []).filter((address) => parseAddress(address) !== undefined) }))
    .toSorted((one, other) => (one.clusterId < other.clusterId ? -1 : 1));
  const revokedSerials = new Set([...members.values()].flatMap(({ spec }) => spec.revokedSerials ?? []).map((serial) => serial.toUpperCase()));
  return { peers, revokedSerials, overlaps: findOverlaps([...members.values()]) };
}

function isConsistent({ metadata, spec }: Cluster): boolean {
  return isClusterId(spec.clusterID) && metadata.name === clusterObjectName(spec.clusterID);
}

interface Range {
  readonly owner: string;
  readonly text: string;
  readonly version: 4 | 6;
  readonly first: bigint;
  readonly last: bigint;
}

/** Each pair of members with ranges in common, in words. */
export function findOverlaps(clusters: readonly Cluster[]): readonly string[] {
  const ranges = clusters
    .flatMap(({ spec }) => [...(spec.clusterCIDR ?? []), ...(spec.serviceCIDR ?? [])].flatMap((text) => parseRange(spec.clusterID, text) ?? []))
    .toSorted((one, other) => one.version - other.version || compare(one.first, other.first));
  const found: string[] = [];
  let widest: Range | undefined;
  for (const range of ranges) {
    if (widest !== undefined && widest.version === range.version && range.first <= widest.last && widest.owner !== range.owner) {
      found.push(`${range.owner} (${range.text}) and ${widest.owner} (${widest.text}) use the same addresses`);
    }
    if (widest === undefined || widest.version !== range.version || range.last > widest.last) widest = range;
  }
  return found;
}

function compare(one: bigint, other: bigint): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** A range in CIDR form; undefined when it is none. */
function parseRange(owner: string, text: string): Range | undefined {
  const [, address = '', digits = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const bits = address.includes(':') ? parseV6(address) : parseV4(address);
  const version = address.includes(':') ? 6 : 4;
  const free = (version === 6 ? 128 : 32) - Number(digits);
  if (bits === undefined || digits === '' || free < 0) return undefined;
  const size = 1n << BigInt(free);
  const first = (bits / size) * size;
  return { owner, text, version, first, last: first + size - 1n };
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255)) return undefined;
  return parts.reduce((sum, part) => sum * 256n + BigInt(part), 0n);
}

function parseV6(text: string): bigint | undefined {
  const [head = '', tail, ...more] = text.split('::');
  if (more.length > 0) return undefined;
  const groups = (part: string) => (part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const missing = 8 - before.length - after.length;
  if (missing < 0 || (tail === undefined && missing !== 0)) return undefined;
  const all = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  if (!all.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}
