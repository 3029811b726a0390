// The endpoints of an export as this cluster reaches them: pod addresses, or this cluster's gateway listener for a
// member without a pod-plane connection, and for IPv6 (ADR 0039).
import type { ExportedEndpoint, ExportedService, ExportedSlice } from '../../api/kinds/service-discovery.ts';
import type { EndpointPort } from '../../api/objects/endpoint-slice.ts';
import { isDnsLabel } from '../../model/naming/label-syntax.ts';
import { seenAddress, type PodPrefix } from '../../model/network/pod-addresses.ts';
import type { Reachability } from './reachability.ts';

/** This cluster's view of the others. */
export interface ClustersetView extends Reachability {
  /** ID of this cluster. */
  readonly clusterId: string;
  /** Pod CIDRs of each member, as the others see them. */
  readonly prefixes: ReadonlyMap<string, readonly PodPrefix[]>;
}

/** A slice as reached from here; `key` distinguishes slices of one cluster. */
type ReachableSlice = ExportedSlice & { readonly key: string };

const PARTS = ['clusterId', 'prefixes', 'podPlane', 'unreachable', 'importAddress'] as const;
/** Each DNS question asks for them, and there may be thousands of endpoints. */
const known = new WeakMap<
  ExportedService, { readonly view: ClustersetView; readonly slices: readonly ReachableSlice[] }
>();

/** The slices of an export as reached from here. A slice without endpoints is omitted. */
export function reachableSlices(exported: ExportedService, view: ClustersetView): readonly ReachableSlice[] {
  const before = known.get(exported);
  if (before !== undefined && PARTS.every((part) => before.view[part] === view[part])) return before.slices;
  const slices = toReachableSlices(exported, view);
  known.set(exported, { view, slices });
  return slices;
}

function toReachableSlices(exported: ExportedService, view: ClustersetView): readonly ReachableSlice[] {
  const { clusterID } = exported.spec;
  const { clusterId, podPlane, importAddress } = view;
  const isOnPlane = podPlane.has(clusterID) && !isIpv6Alone(exported);
  if (clusterID !== clusterId && importAddress !== undefined && !isOnPlane) {
    return listenerSlices(exported, importAddress, !view.unreachable.has(clusterID));
  }
  const slices = exported.spec.slices.map(
    (slice, index, all) => ({ ...slice, endpoints: reachedPods(exported, slice, view), key: keyOf(slice, index, all) }),
  );
  return slices.filter(({ endpoints }) => endpoints.length > 0);
}

/**
 * Its name, so that it stays the same slice here when others come and go before it; its index where another cluster
 * names several alike, or none.
 */
function keyOf({ name = '' }: ExportedSlice, index: number, all: readonly ExportedSlice[]): string {
  return isDnsLabel(name) && all.filter((one) => one.name === name).length === 1 ? name : String(index);
}

/** The pod plane carries IPv4 alone. */
function isIpv6Alone({ spec: { slices } }: ExportedService): boolean {
  return slices.length > 0 && slices.every(({ addressType }) => addressType === 'IPv6');
}

/**
 * Its key differs from those of pod slices, because a slice's address type is immutable. A headless export has none:
 * all of its endpoints would share one address.
 */
function listenerSlices(
  { spec, status }: ExportedService, address: string, isReached: boolean,
): readonly ReachableSlice[] {
  const numbers = new Map(status?.listeners?.map(({ port, listenerPort }) => [port, listenerPort]));
  const ports = spec.ports.flatMap(({ name, protocol = 'TCP', appProtocol, port }): readonly EndpointPort[] => {
    const number = numbers.get(port);
    return protocol !== 'TCP' || number === undefined ? [] : [{
      ...(name !== undefined && { name }), protocol, port: number,
      ...(appProtocol !== undefined && { appProtocol }),
    }];
  });
  const all = spec.slices.flatMap(({ endpoints }) => endpoints);
  if (spec.type === 'Headless' || ports.length === 0 || all.length === 0) return [];
  const ready = isReached && all.some((endpoint) => endpoint.ready);
  const drains = isReached && !ready && all.some(isDraining);
  const endpoint = { address, ready, ...(drains && { serving: true, terminating: true }) };
  return [{ key: 'gateway', addressType: address.includes(':') ? 'IPv6' : 'IPv4', ports, endpoints: [endpoint] }];
}

/** Whether it serves to its end: kube-proxy uses such endpoints while none is ready. */
export function isDraining({ serving, terminating }: ExportedEndpoint): boolean {
  return serving === true && terminating === true;
}

/**
 * Endpoints at the addresses by which this cluster reaches them. Addresses outside the ranges that their cluster
 * announced are dropped: a member must not direct traffic to addresses of others. Endpoints of unreachable clusters are
 * not ready.
 */
function reachedPods(
  { spec }: ExportedService, { endpoints, addressType }: ExportedSlice,
  { clusterId, prefixes: known, unreachable }: ClustersetView,
): ExportedSlice['endpoints'] {
  if (spec.clusterID === clusterId) return endpoints;
  if (addressType !== 'IPv4') return [];
  const prefixes = known.get(spec.clusterID) ?? [];
  const isReachable = !unreachable.has(spec.clusterID);
  return endpoints.flatMap((endpoint) => {
    const seen = seenAddress(prefixes, endpoint.address);
    const { ready, serving = ready } = endpoint;
    return seen === undefined
      ? []
      : [{ ...endpoint, address: seen, ready: ready && isReachable, serving: serving && isReachable }];
  });
}
