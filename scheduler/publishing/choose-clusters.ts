// Decides which clusters a ClusterDecision names. A cluster joins when the scheduler would place such a pod there now,
// and stays as long as the policies allow it: capacity and availability come and go, and a tool that deletes from every
// cluster that is not named must not follow them.
import { ELECTING_LABELS } from '../../api/admission-rules.ts';
import type { StringMap } from '../../api/objects/core.ts';
import {
  DECISIONS_LABEL, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, PROVIDER_KEY,
} from '../../api/objects/keys.ts';
import {
  DECISIONS_VALUE, type ChosenCluster, type ClusterDecision, type ClusterDecisionSpec,
} from '../../api/placement/cluster-decision.ts';
import { matchesLabelSelector } from '../../model/objects/label-selector.ts';
import { toPlacementConstraints, type PlacementContext } from '../decision/placement-constraints.ts';
import { compareRanked, evaluateTargets, type RankedTarget, type RejectedTarget } from '../decision/schedule-pod.ts';
import { tierOf } from '../decision/tiers.ts';
import { ruleAgainst, rulesFor, type PlacementRules } from '../snapshot/placement-rules.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import { labelsFor } from '../snapshot/virtual-node-info.ts';
import { toRequirements } from '../snapshot/target-capacity.ts';

/** What a decision is made on. */
export interface ClusterDecisionContext {
  readonly targets: readonly TargetSnapshot[];
  readonly placement: PlacementContext;
  /** The reader's names by those of ClusterTargets that are not being deleted; undefined while they are unknown. */
  readonly names: ReadonlyMap<string, string> | undefined;
  /** In ms since the epoch. */
  readonly now: number;
}

/** The answer. */
export type ClusterChoice =
  /** Nothing can be decided now: what was published stays. */
  | ({ readonly kind: 'unchanged' } & Rejection)
  /** The namespace may use no target, or may not be asked about. */
  | ({ readonly kind: 'denied' } & Rejection)
  | {
    readonly kind: 'chosen'; readonly decisions: readonly ChosenCluster[];
    readonly rejected: readonly RejectedTarget[];
    /** Targets that would be chosen if the reader knew them. */
    readonly unknown: readonly string[]
  };

/** Chooses the clusters of a decision. */
export function chooseClusters(decision: ClusterDecision, context: ClusterDecisionContext): ClusterChoice {
  const { metadata: { namespace: own = '' }, spec = {}, status } = decision;
  const { namespace = own, podLabels = {} } = spec;
  const { policies } = context.placement;
  const rules = rulesFor({ namespace, labels: podLabels }, policies);
  if (!policies.isComplete && rules.blocked !== undefined) return { kind: 'unchanged', ...rules.blocked };
  const denial = denialOf(own, namespace, policies.namespaces);
  if (denial !== undefined) return { kind: 'denied', ...denial };
  if (rules.blocked !== undefined) return { kind: 'unchanged', ...rules.blocked };
  if (context.names === undefined) return { kind: 'unchanged', ...NAMES_UNKNOWN };
  const usable = context.targets.filter((target) => isAllowed(target, rules));
  const pod = podOf(decision, { rules, namespace, context });
  const { ranked, rejected } = evaluateTargets(pod, usable);
  const sorted = ranked.toSorted(compareRanked);
  const kept = keptOf(status?.decisions ?? [], usable, sorted);
  const fresh = firstTier(sorted, kept, rules, usable);
  const decisions = joined(kept, fresh, { ...spec, names: context.names });
  return { kind: 'chosen', decisions, rejected, unknown: unknownOf(kept, fresh, { ...spec, names: context.names }) };
}

/** Those that would be named if the reader knew all of them. */
function unknownOf(
  kept: readonly ChosenCluster[], fresh: readonly string[],
  { clusters, names }: ClusterDecisionSpec & { readonly names: ReadonlyMap<string, string> },
): readonly string[] {
  const all = new Map([...fresh.map((name) => [name, name] as const), ...names]);
  const wished = joined(kept, fresh, { names: all, ...(clusters !== undefined && { clusters }) });
  return wished.map(({ target }) => target)
    .filter((name) => !names.has(name) && !kept.some(({ target }) => target === name));
}

const NAMES_UNKNOWN: Rejection = {
  reason: 'NamesUnknown',
  message:
    'TargetDiscoveries have not been read yet; if that lasts, run "isthmus install" again, and check that the ' +
      'scheduler may list them',
};

function denialOf(own: string, asked: string, namespaces: ReadonlyMap<string, StringMap>): Rejection | undefined {
  if (own !== asked && namespaces.get(own)?.[DECISIONS_LABEL] !== DECISIONS_VALUE) return {
    reason: 'NamespaceNotAllowed',
    message:
      `it asks about another namespace; "kubectl label namespace ${own} ${DECISIONS_LABEL}=${DECISIONS_VALUE}" ` +
        'allows that',
  };
  const labels = namespaces.get(asked) ?? {};
  const electing = [[NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE] as const, ...Object.values(ELECTING_LABELS)];
  return electing.some(([label, value]) => labels[label] === value) ? undefined : {
    reason: 'NamespaceNotOptedIn',
    message: `namespace ${asked} has not opted in; label it ${NAMESPACE_OPT_IN_LABEL}=${NAMESPACE_OPT_IN_VALUE}`,
  };
}

/** Whether policies let pods use a target at all. A tenant's Target may have the name of any cluster of Argo CD. */
function isAllowed(target: TargetSnapshot, rules: PlacementRules): boolean {
  const { tiers, replicas } = rules;
  const isInReplicaShare = replicas?.value.whenUnsatisfiable !== 'DoNotSchedule' || replicas.value.shares.some(
    ({ targets }) => matchesLabelSelector(targets, labelsFor(replicas, target.nodeInfo)),
  );
  return target.ref.kind === 'ClusterTarget' && ruleAgainst(rules, target.nodeInfo) === undefined && isInReplicaShare
    && (tiers === undefined || tierOf(rules, target) !== undefined);
}

/**
 * A pod as the scheduler would see it, as old as the decision: tiers open after a while. Replica shares, spread and
 * overrides are about pods that there are.
 */
function podOf(
  { metadata: { creationTimestamp = '' }, spec: { podLabels = {}, requests = {} } = {} }: ClusterDecision,
  { rules, namespace, context: { placement, now } }: {
    readonly rules: PlacementRules; readonly namespace: string; readonly context: ClusterDecisionContext
  },
): PodToSchedule {
  const { replicas: _replicas, spread: _spread, overrides: _overrides, ...kept } = rules;
  const constraints = { tolerations: [{ key: PROVIDER_KEY, operator: 'Exists' }] } as const;
  const proxy = { labels: podLabels, createdAt: Date.parse(creationTimestamp), constraints };
  const spec = { containers: [{ name: 'any', image: 'any', resources: { requests } }] };
  return {
    namespace, requirements: toRequirements(spec), rejectedBy: new Map(),
    placement: toPlacementConstraints({ proxy, sourcePod: { metadata: {} }, now }, kept, placement),
  };
}

/** What was published and is still allowed, the best first. */
function keptOf(
  published: readonly ChosenCluster[], usable: readonly TargetSnapshot[], sorted: readonly RankedTarget[],
): readonly ChosenCluster[] {
  const allowed = new Set(usable.map(({ ref }) => ref.name));
  const ranks = new Map(sorted.map(({ target }, index) => [target.ref.name, index]));
  const rankOf = ({ target }: ChosenCluster): number => ranks.get(target) ?? Infinity;
  return published.filter(({ target }) => allowed.has(target)).toSorted((one, other) => {
    const [first, second] = [rankOf(one), rankOf(other)];
    return first === second ? (one.target < other.target ? -1 : 1) : first - second;
  });
}

/** The targets of the first tier in which there is one: the next tier is for pods that find no room. */
function firstTier(
  sorted: readonly RankedTarget[], kept: readonly ChosenCluster[], rules: PlacementRules,
  usable: readonly TargetSnapshot[],
): readonly string[] {
  const keptNames = new Set(kept.map(({ target }) => target));
  const tiers = [
    ...sorted.map(({ tier }) => tier),
    ...usable.filter(({ ref }) => keptNames.has(ref.name)).map((target) => tierOf(rules, target) ?? 0),
  ];
  const first = Math.min(...tiers);
  return sorted.filter(({ tier }) => tier === first).map(({ target }) => target.ref.name);
}

/** Those that stay, then new ones as far as there is room for them, sorted by target. */
function joined(
  kept: readonly ChosenCluster[], fresh: readonly string[],
  { clusters = Infinity, names }: ClusterDecisionSpec & { readonly names: ReadonlyMap<string, string> },
): readonly ChosenCluster[] {
  const chosen = new Map<string, string>();
  // The name of a target whose TargetDiscovery was deleted stays what it was.
  for (const { target, clusterName } of kept) {
    if (chosen.size < clusters) chosen.set(target, names.get(target) ?? clusterName);
  }
  for (const target of fresh) {
    const clusterName = names.get(target);
    if (clusterName !== undefined && chosen.size < clusters) chosen.set(target, clusterName);
  }
  return [...chosen].map(([target, clusterName]) => ({ clusterName, target }))
    .toSorted((one, other) => (one.target < other.target ? -1 : 1));
}
