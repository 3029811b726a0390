// The status of a ClusterDecision: the clusters, and why there are no others. Free capacity and the like are not in it:
// they would have it written again and again.
import type { ClusterDecision, ClusterDecisionStatus, ChosenCluster } from '../../api/placement/cluster-decision.ts';
import { CLUSTER_DECISIONS } from '../../api/resource-types.ts';
import { withConditions, type ConditionUpdate } from '../../model/objects/conditions.ts';
import { NOTHING, type Plan } from '../../model/objects/plan.ts';
import type { ClusterChoice } from './choose-clusters.ts';

/** Maximum number of targets that are named. */
const NAMED = 20;

/** Publishes a choice; empty when the status says so already. `now` is RFC 3339. */
export function planDecisionStatus(decision: ClusterDecision, choice: ClusterChoice, now: string): Plan {
  const { namespace = '', name = '', uid = '', generation = 0 } = decision.metadata;
  const before: ClusterDecisionStatus = decision.status ?? {};
  const next = withConditions(before, [readyCondition(choice)], { generation, now });
  const decisions = decisionsOf(choice, before);
  const isSame = next === before && isEqual(before.decisions, decisions);
  if (isSame) return NOTHING;
  return [{
    kind: 'patch', type: CLUSTER_DECISIONS, at: { namespace, name, subresource: 'status' }, patchType: 'merge',
    patch: { metadata: { uid }, status: { ...next, decisions } },
  }];
}

function decisionsOf(choice: ClusterChoice, before: ClusterDecisionStatus): readonly ChosenCluster[] {
  switch (choice.kind) {
    case 'unchanged':
      return before.decisions ?? [];
    case 'denied':
      return [];
    case 'chosen':
      return choice.decisions;
  }
}

function isEqual(one: readonly ChosenCluster[] | undefined, other: readonly ChosenCluster[]): boolean {
  return one?.length === other.length && one.every(({ clusterName, target }, index) =>
    clusterName === other[index]?.clusterName && target === other[index].target);
}

function readyCondition(choice: ClusterChoice): ConditionUpdate {
  if (choice.kind !== 'chosen') {
    return { type: 'Ready', status: 'False', reason: choice.reason, message: choice.message };
  }
  const { decisions, rejected, unknown } = choice;
  const parts = [
    `${decisions.length} clusters are chosen`,
    ...(rejected.length > 0 ? [`not now: ${list(rejected.map(({ target, reason }) => `${target} (${reason})`))}`] : []),
    ...(unknown.length > 0 ? [`not known to Argo CD: ${list(unknown)}`] : []),
  ];
  const [status, reason] = decisions.length > 0 ? ['True', 'Chosen'] as const : ['False', 'NoCluster'] as const;
  return { type: 'Ready', status, reason, message: parts.join('; ') };
}

function list(names: readonly string[]): string {
  const sorted = names.toSorted();
  const more = sorted.length - NAMED;
  return more > 0 ? `${sorted.slice(0, NAMED).join(', ')} and ${more} more` : sorted.join(', ');
}
