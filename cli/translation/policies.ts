// The policies of Isthmus that placement rules of other systems become.
import type { ClusterPlacementPolicy, PlacementPolicy, PlacementPolicySpec } from '../../api/kinds/placement-policy.ts';
import type { PolicyOverride } from '../../api/placement/delegate-override.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { NAMESPACE_ELECTION_NAME, type NamespaceElectionSpec } from '../../api/kinds/namespace-election.ts';
import {
  apiVersionOf, CLUSTER_PLACEMENT_POLICIES, NAMESPACE_ELECTIONS, PLACEMENT_POLICIES,
} from '../../api/resource-types.ts';
import { joinName, MAX_NAME_LENGTH } from '../../model/naming/names.ts';
import { areOfScheduling } from './cluster-overrides.ts';
import { metadataIn, type Fields, type Manifest } from './manifest.ts';
import type { Report } from './report.ts';

/** Label that API servers set on every Namespace. */
const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name';

/** A PlacementPolicy with the fields that are set. */
export function placementPolicy(namespace: string | undefined, name: string, spec: PlacementPolicySpec): Fields {
  const policy: Omit<PlacementPolicy, 'status'> = {
    apiVersion: apiVersionOf(PLACEMENT_POLICIES), kind: 'PlacementPolicy', metadata: metadataIn(namespace, name),
    spec: withoutMissing(spec),
  };
  return { ...policy };
}

/** A ClusterPlacementPolicy for the pods of one namespace, or of all. */
export function clusterPlacementPolicy(
  namespace: string | undefined, name: string, spec: PlacementPolicySpec,
): Fields {
  const namespaceSelector =
    namespace === undefined ? {} : { namespaceSelector: { matchLabels: { [NAMESPACE_NAME_LABEL]: namespace } } };
  const policy: Omit<ClusterPlacementPolicy, 'status'> = {
    apiVersion: apiVersionOf(CLUSTER_PLACEMENT_POLICIES), kind: 'ClusterPlacementPolicy', metadata: { name },
    spec: { ...namespaceSelector, ...withoutMissing(spec) },
  };
  return { ...policy };
}

/** The NamespaceElection of a namespace. */
export function namespaceElection(namespace: string | undefined, spec: NamespaceElectionSpec): Fields {
  return {
    apiVersion: apiVersionOf(NAMESPACE_ELECTIONS), kind: 'NamespaceElection',
    metadata: metadataIn(namespace, NAMESPACE_ELECTION_NAME), spec: withoutMissing(spec),
  };
}

/** What the pods of one workload get. */
export interface PodsPolicy {
  readonly podSelector: LabelSelector;
  readonly spec: PlacementPolicySpec;
  readonly overrides: readonly PolicyOverride[];
}

/**
 * The policies for a workload. Overrides that a PlacementPolicy may not have go to a ClusterPlacementPolicy, which
 * needs a namespace.
 */
export function workloadPolicies(
  { namespace, name }: Pick<Manifest, 'namespace' | 'name'>, { podSelector, spec, overrides }: PodsPolicy,
  report: Report,
): readonly Fields[] {
  const isNamespaced = areOfScheduling(overrides);
  const whole = isNamespaced && overrides.length > 0 ? { ...spec, overrides } : spec;
  const own = Object.values(whole).some((field) => field !== undefined)
    ? [placementPolicy(namespace, name, { podSelector, ...whole })]
    : [];
  if (isNamespaced) return own;
  if (namespace === undefined) {
    report.lost('metadata.namespace', 'its overrides take a ClusterPlacementPolicy for one namespace; name it with -n');
    return own;
  }
  const clusterName = joinName([namespace, name], MAX_NAME_LENGTH);
  return [...own, clusterPlacementPolicy(namespace, clusterName, { podSelector, overrides })];
}

/** YAML would print a field that is set to nothing. */
function withoutMissing<T extends object>(spec: T): T {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as T;
}
