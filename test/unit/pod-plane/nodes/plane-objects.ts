// The objects that a node's pod plane depends on, for its tests.
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { OWN_ENDPOINT_LABEL } from '../../../../api/objects/keys.ts';
import { POD_PLANE_LEASE } from '../../../../pod-plane/nodes/pod-plane-state.ts';

/** Where Isthmus is installed. */
export const NAMESPACE = 'isthmus-system';

const object = (name: string, spec: object, more: object = {}): KubernetesObject =>
  ({ metadata: { namespace: NAMESPACE, name, ...more }, spec }) as KubernetesObject;
/** A node that is ready, with these addresses. */
export const node = (name: string, addresses: readonly string[], labels = {}, podCIDRs: readonly string[] = []) => ({
  metadata: { name, labels }, spec: { podCIDRs },
  status: {
    addresses: addresses.map((address) => ({ type: 'InternalIP', address })),
    conditions: [{ type: 'Ready', status: 'True' }],
  },
}) as KubernetesObject;
/** A member of the clusterset with its pod ranges. */
export const member = (clusterID: string, ...clusterCIDR: readonly string[]) =>
  object(clusterID, { clusterID, clusterCIDR });
/** The endpoint of a member. */
export const endpoint = (clusterID: string, more: object = {}, labels = {}) => object(
  `${clusterID}-wireguard`, { clusterID, backend: 'wireguard', addresses: [], publicKeys: ['k'], ...more }, { labels },
);
/** The endpoint of this cluster. */
export const OWN = endpoint('eu', {}, { [OWN_ENDPOINT_LABEL]: 'true' });
/** The Lease of the pod plane. */
export const lease = (holderIdentity: string, renewTime = '1') =>
  object(POD_PLANE_LEASE, { holderIdentity, renewTime });
/** A gateway that says which cluster this is. */
export const gateway = (name: string, clusterID: string, heartbeat: string): KubernetesObject =>
  ({ metadata: { namespace: NAMESPACE, name }, status: { clusterID, heartbeat } }) as KubernetesObject;
