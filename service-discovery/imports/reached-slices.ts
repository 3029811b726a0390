// Where this cluster finds the endpoints of an export: pods at addresses under which they are reached from here; or, of a member that no cable of the pod
// plane leads to, the listener of this cluster's gateway (ADR 0039).
import type { EndpointPort, ExportedService, ExportedSlice } from '../../api/kinds/service-discovery.ts';
import { seenAddress, type PodPrefix } from '../../model/network/pod-addresses.ts';
import type { Reachability } from './reachability.ts';

/** How this cluster sees the others. */
export interface Outlook extends Reachability {
  /** ID of this cluster. */
  readonly clusterId: string;
  /** Pod ranges of each member, as the others see them. */
  readonly prefixes: ReadonlyMap<string, readonly PodPrefix[]>;
}

/** The slices of an export, as they are reached from here; `key` tells slices of one cluster apart. One without endpoints is not there. */
export function reachedSlices(exported: ExportedService, outlook: Outlook): readonly (ExportedSlice & { readonly key: string })[] {
  const { clusterID } = exported.spec;
  const { clusterId, podPlane, importAddress } = outlook;
  if (clusterID !== clusterId && importAddress !== undefined && !podPlane.has(clusterID)) return listenerSlices(exported, importAddress, !outlook.unreachable.has(clusterID));
  const slices = exported.spec.slices.map((slice, index) => ({ ...slice, endpoints: reachedPods(exported, slice, outlook), key: String(index) }));
  return slices.filter(({ endpoints }) => endpoints.length > 0);
}

/** Its key is another than those of pods, for the type of a slice's addresses cannot change. All of a headless export's endpoints would have one address: it has none. */
function listenerSlices({ spec, status }: ExportedService, address: string, isReached: boolean): readonly (ExportedSlice & { readonly key: string })[] {
  const ports = spec.ports.flatMap(({ name, protocol = 'TCP', appProtocol, port }): readonly EndpointPort[] => {
    const listener = status?.listeners?.find((one) => one.port === port);
    return protocol !== 'TCP' || listener === undefined ? [] : [{ ...(name !== undefined && { name }), protocol, port: listener.listenerPort, ...(appProtocol !== undefined && { appProtocol }) }];
  });
  const all = spec.slices.flatMap(({ endpoints }) => endpoints);
  if (spec.type === 'Headless' || ports.length === 0 || all.length === 0) return [];
  const ready = isReached && all.some((endpoint) => endpoint.ready);
  return [{ key: 'gateway', addressType: address.includes(':') ? 'IPv6' : 'IPv4', ports, endpoints: [{ address, ready }] }];
}

/**
 * Endpoints with the addresses under which this cluster reaches them. An address that is in none of the ranges which its cluster announced is left
 * out: a member may not point the others at what is not its own. Endpoints of a cluster that no cable reaches are not ready.
 */
function reachedPods({ spec }: ExportedService, { endpoints, addressType }: ExportedSlice, { clusterId, prefixes: known, unreachable }: Outlook): ExportedSlice['endpoints'] {
  if (spec.clusterID === clusterId) return endpoints;
  if (addressType !== 'IPv4') return [];
  const prefixes = known.get(spec.clusterID) ?? [];
  const isReachable = !unreachable.has(spec.clusterID);
  return endpoints.flatMap(({ address, hostname, ready }) => {
    const seen = seenAddress(prefixes, address);
    return seen === undefined ? [] : [{ address: seen, ready: ready && isReachable, ...(hostname !== undefined && { hostname }) }];
  });
}
