// Roles of a cluster's nodes in its pod plane.
import type { Node } from '../../api/objects/core.ts';
import { GATEWAY_NODE_LABEL, PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { WorkerNode } from './pod-plane-plan.ts';

/** The fields of a node that its role depends on. */
export interface PlaneNode {
  readonly name: string;
  /** Address within the cluster. */
  readonly address: string;
  /** Its IPv4 podCIDR; missing when the network plugin does not set it. */
  readonly podCIDR: string | undefined;
  readonly isLabelled: boolean;
  readonly isReady: boolean;
}

/** Number of candidates where no node is labelled: each of them polls the Lease twice a second. */
const UNLABELLED_CANDIDATES = 3;

/** The node by its IPv4 address and range; undefined for one without such an address, and for a virtual node. */
export function toPlaneNode({ metadata, spec, status }: Node): PlaneNode | undefined {
  const { name = '', labels = {} } = metadata;
  const address =
    status?.addresses?.find(({ type, address: text }) => type === 'InternalIP' && !text.includes(':'))?.address;
  if (address === undefined || labels[PROVIDER_KEY] === PROVIDER_VALUE) return undefined;
  const isReady = findCondition(status?.conditions, 'Ready')?.status === 'True';
  return { name, address, podCIDR: podRangeOf(spec), isLabelled: labels[GATEWAY_NODE_LABEL] === 'true', isReady };
}

/** A node with both families has one range of each; the first is that of the cluster's main family. */
function podRangeOf({ podCIDR, podCIDRs = [] }: Node['spec'] = {}): string | undefined {
  return [...(podCIDR === undefined ? [] : [podCIDR]), ...podCIDRs].find((range) => !range.includes(':'));
}

/** Gateway candidates: labelled nodes, else the first ready ones by name. */
export function gatewayCandidates(nodes: readonly PlaneNode[]): readonly PlaneNode[] {
  const sorted = nodes.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const labelled = sorted.filter(({ isLabelled }) => isLabelled);
  return labelled.length > 0 ? labelled : sorted.filter(({ isReady }) => isReady).slice(0, UNLABELLED_CANDIDATES);
}

/**
 * Addresses at which peers try the gateway, in order: the current one first, since each address that does not answer
 * costs two seconds; then possible successors.
 */
export function announcedAddresses(gateway: PlaneNode, nodes: readonly PlaneNode[], port: number): readonly string[] {
  return [gateway, ...gatewayCandidates(nodes).filter(({ name }) => name !== gateway.name)].map(
    ({ address }) => `${address}:${port}`,
  );
}

/**
 * Nodes that the gateway reaches over VXLAN. Nodes without a podCIDR are reached by the network plugin's own
 * routes.
 */
export function workersOf(nodes: readonly PlaneNode[], gateway: string): readonly WorkerNode[] {
  return nodes.flatMap(
    ({ name, address, podCIDR }) => (name === gateway || podCIDR === undefined ? [] : [{ name, address, podCIDR }]),
  );
}

/** The holder identity of the Lease starts with the node's name. */
export function leaseIdentity(node: string, instanceId: string): string {
  return `${node}/${instanceId}`;
}

/** The node and process named by a holder identity. */
export function readLeaseIdentity(identity: string): { readonly node: string; readonly instanceId: string } {
  const at = identity.indexOf('/');
  return { node: identity.slice(0, Math.max(0, at)), instanceId: identity.slice(at + 1) };
}
