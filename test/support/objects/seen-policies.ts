// Placement policies as a viewer reads them, for tests of the dashboard.
import type {
  ClusterPlacementPolicy, PlacementPolicy, PlacementPolicySpec,
} from '../../../api/kinds/placement-policy.ts';
import type { ObjectMeta } from '../../../api/objects/core.ts';
import { EXPIRES_AFTER_ANNOTATION, MOVE_LABEL, TRUE } from '../../../api/objects/keys.ts';
import type { SeenPolicies } from '../../../dashboard/views/policies-view.ts';
import { nodeOfTarget } from './seen-pods.ts';

const SINCE = '2026-01-01T10:00:00Z';
const READY = { type: 'Ready', status: 'True', reason: 'Accepted', message: 'the policy is in force' } as const;

/** A policy of namespace `shop` that the scheduler has accepted. */
export function shownPolicy(spec: PlacementPolicySpec, metadata: ObjectMeta = {}): PlacementPolicy {
  return {
    metadata: { namespace: 'shop', name: 'in-europe', creationTimestamp: SINCE, ...metadata }, spec,
    status: { conditions: [READY] },
  };
}

/** The same for the cluster. */
export function shownClusterPolicy(spec: PlacementPolicySpec, name = 'everywhere'): ClusterPlacementPolicy {
  return { metadata: { name, creationTimestamp: SINCE }, spec, status: { conditions: [READY] } };
}

/** The policy that `isthmus move` makes for pods with this label of `app`. */
export function movePolicy(app: string, target: string): PlacementPolicy {
  const matchLabels = { 'kubernetes.io/hostname': nodeOfTarget(target) };
  return shownPolicy({ podSelector: { matchLabels: { app } }, require: { matchLabels } }, {
    name: 'isthmus-move-1f2e', labels: { [MOVE_LABEL]: TRUE }, annotations: { [EXPIRES_AFTER_ANNOTATION]: '7275' },
  });
}

/** Policies that were read whole. */
export function seenPolicies(
  policies: readonly PlacementPolicy[], more: Partial<SeenPolicies> = {},
): SeenPolicies {
  const read = <T>(records: readonly T[]) => ({ kind: 'read' as const, records });
  return { policies: read(policies), clusterPolicies: read([]), namespaces: read([]), ...more };
}
