// Which nodes of a cluster have which part in its pod plane.
import type { Node } from '../../api/objects/core.ts';
import { GATEWAY_NODE_LABEL, PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';
import type { WorkerNode } from './pod-plane-plan.ts';

/** Of a node, what its part follows from. */
export interface PlaneNode {
  readonly name: string;
  /** Address under which the other nodes reach it. */
  readonly address: string;
  /** Its part of the pod range; missing where the network plugin does not tell Kubernetes. */
  readonly podCIDR: string | undefined;
  readonly isMarked: boolean;
  readonly isReady: boolean;
}

/** So many nodes stand by where none is marked: each of them asks for the lease twice a second. */
export const UNLABELLED_CANDIDATES = 3;

/** The node; undefined for one without an address, or one that stands for another cluster. */
export function toPlaneNode({ metadata, spec, status }: Node): PlaneNode | undefined {
  const { name = '', labels = {} } = metadata;
  const address = status?.addresses?.find(({ type, address: text }) => type === 'InternalIP' && !text.includes(':'))?.address;
  if (address === undefined || labels[PROVIDER_KEY] === PROVIDER_VALUE) return undefined;
  const isReady = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
  return { name, address, podCIDR: spec?.podCIDR, isMarked: labels[GATEWAY_NODE_LABEL] === 'true', isReady };
}

/** Nodes of which one is the gateway: those that are marked, else the first of those that are ready, by name. */
export function gatewayCandidates(nodes: readonly PlaneNode[]): readonly PlaneNode[] {
  const sorted = nodes.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const marked = sorted.filter(({ isMarked }) => isMarked);
  return marked.length > 0 ? marked : sorted.filter(({ isReady }) => isReady).slice(0, UNLABELLED_CANDIDATES);
}

/** Where peers are to look for the gateway, in turn: at itself first, for each address that does not answer costs them two seconds; then where it may be next. */
export function announcedAddresses(gateway: PlaneNode, nodes: readonly PlaneNode[], port: number): readonly string[] {
  return [gateway, ...gatewayCandidates(nodes).filter(({ name }) => name !== gateway.name)].map(({ address }) => `${address}:${port}`);
}

/** Nodes that the gateway node sends packets to over the overlay. Where a node's part of the pod range is not known, the network plugin's own routes lead there. */
export function workersOf(nodes: readonly PlaneNode[], gateway: string): readonly WorkerNode[] {
  return nodes.flatMap(({ name, address, podCIDR }) => (name === gateway || podCIDR === undefined ? [] : [{ name, address, podCIDR }]));
}

/** Who holds the lease says it with the name of its node before its own. */
export function leaseIdentity(node: string, incarnation: string): string {
  return `${node}/${incarnation}`;
}

/** The node, and the run of the process, that a lease's holder names. */
export function readLeaseIdentity(identity: string): { readonly node: string; readonly incarnation: string } {
  const at = identity.indexOf('/');
  return { node: identity.slice(0, Math.max(0, at)), incarnation: identity.slice(at + 1) };
}
