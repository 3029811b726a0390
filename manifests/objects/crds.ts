// The CustomResourceDefinitions of all our kinds, generated from their schemas in `api/`.
import { CLUSTER_SOURCE_KIND, SOURCE_KIND } from '../../api/kinds/cluster-source.ts';
import { CLUSTER_SUMMARY_KIND } from '../../api/kinds/cluster-summary.ts';
import { CLUSTER_TARGET_KIND, TARGET_KIND } from '../../api/kinds/cluster-target.ts';
import { CLUSTER_DECISION_KIND } from '../../api/placement/cluster-decision.ts';
import { TARGET_DISCOVERY_KIND } from '../../api/registry/target-discovery.ts';
import { CLUSTER_PLACEMENT_POLICY_KIND, PLACEMENT_POLICY_KIND } from '../../api/kinds/placement-policy.ts';
import { CLUSTERSET_MEMBER_KIND, CLUSTERSET_ENDPOINT_KIND, CLUSTERSET_GATEWAY_KIND } from '../../api/kinds/gateway.ts';
import { NAMESPACE_ELECTION_KIND } from '../../api/kinds/namespace-election.ts';
import { POD_CHAPERON_KIND } from '../../api/kinds/pod-chaperon.ts';
import { INVITATION_KIND, JOIN_REQUEST_KIND } from '../../api/kinds/invitation.ts';
import { RESOURCE_SHARE_KIND } from '../../api/kinds/resource-share.ts';
import { SECRET_COPY_KIND } from '../../api/kinds/secret-copy.ts';
import { SOURCE_LEASE_KIND } from '../../api/kinds/source-lease.ts';
import { EXPORTED_SERVICE_KIND, SERVICE_EXPORT_KIND, SERVICE_IMPORT_KIND } from '../../api/kinds/service-discovery.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';
import { DEFINITION_CATEGORY, toCustomResourceDefinition } from '../../api/objects/schema.ts';

/** `apiextensions.k8s.io/v1` CustomResourceDefinition of one of our kinds. */
export type CustomResourceDefinition = ReturnType<typeof toCustomResourceDefinition>;

/**
 * Kinds of the Multi-Cluster Services API: others provide them as well (Submariner, Cilium, clouds), so they are
 * installed only with service discovery.
 */
const MCS_KINDS = [SERVICE_EXPORT_KIND, SERVICE_IMPORT_KIND];
const KINDS = [
  CLUSTER_TARGET_KIND, TARGET_KIND, CLUSTER_SOURCE_KIND, SOURCE_KIND, POD_CHAPERON_KIND, CLUSTER_SUMMARY_KIND,
  PLACEMENT_POLICY_KIND, CLUSTER_PLACEMENT_POLICY_KIND, RESOURCE_SHARE_KIND, SOURCE_LEASE_KIND, SECRET_COPY_KIND,
  NAMESPACE_ELECTION_KIND, INVITATION_KIND, JOIN_REQUEST_KIND, CLUSTERSET_MEMBER_KIND, CLUSTERSET_ENDPOINT_KIND,
  CLUSTERSET_GATEWAY_KIND,
  EXPORTED_SERVICE_KIND, TARGET_DISCOVERY_KIND, CLUSTER_DECISION_KIND,
];

/** All kinds that every source and target needs. */
export function customResourceDefinitions(): readonly CustomResourceDefinition[] {
  return KINDS.map(toCustomResourceDefinition);
}

/** The fields of an API server's answer that are read; `preserveUnknownFields` is left of `v1beta1`. */
interface StoredDefinition extends KubernetesObject {
  readonly spec?: {
    readonly names?: { readonly categories?: readonly string[] };
    readonly preserveUnknownFields?: boolean;
  };
}

/** Name of the definition of PodChaperons. */
export const POD_CHAPERON_DEFINITION = toCustomResourceDefinition(POD_CHAPERON_KIND).metadata.name;

/**
 * Whether a stored definition of PodChaperons is Admiralty's of 0.15 or later. It does what ours does, and stays: the
 * API server ends all watches of a kind whose definition changes, and Admiralty's source deletes a pod that is bound to
 * a target before its watch has told of the PodChaperon there. Earlier ones have no schema, and cannot stay.
 */
export function isForeignDefinition(stored: KubernetesObject): boolean {
  const { names, preserveUnknownFields } = (stored as StoredDefinition).spec ?? {};
  return stored.metadata.name === POD_CHAPERON_DEFINITION && preserveUnknownFields !== true
    && names?.categories?.includes(DEFINITION_CATEGORY) !== true;
}

/** ServiceExport and ServiceImport. */
export function serviceDiscoveryCrds(): readonly CustomResourceDefinition[] {
  return MCS_KINDS.map(toCustomResourceDefinition);
}
