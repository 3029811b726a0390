// Topology spread over virtual nodes, as in kube-scheduler's plugin PodTopologySpread: proxy pods are counted across
// clusters.
import type { StringMap } from '../../api/objects/core.ts';
import type { TopologySpreadConstraint } from '../../api/objects/affinity.ts';
import { matchesLabelSelector, withLabelKeys } from '../../model/objects/label-selector.ts';
import { labelOf, matchesNodeSelector } from '../../model/pod/node-selector.ts';
import { firstUntoleratedTaint } from '../../model/pod/tolerations.ts';
import { missingKey } from './pod-affinity.ts';
import { ruleAgainst } from '../snapshot/placement-rules.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';

/** A constraint with its counts. */
interface Counted {
  readonly constraint: TopologySpreadConstraint;
  readonly byDomain: ReadonlyMap<string, number>;
  /** The minimum count over eligible domains. */
  readonly least: number;
  /** 1 when the pod matches the constraint's selector, else 0. */
  readonly self: number;
}

/** The filter for required constraints (DoNotSchedule), or undefined when the pod has none. */
export function topologySpreadFilter(pod: PodToSchedule, targets: readonly TargetSnapshot[]): (
  (target: TargetSnapshot) => Rejection | undefined
) | undefined {
  const counted = countConstraints(pod, targets, 'DoNotSchedule');
  if (counted.length === 0) return undefined;
  return ({ nodeInfo }) => {
    for (const { constraint, byDomain, least, self } of counted) {
      const { topologyKey, maxSkew } = constraint;
      const domain = labelOf(nodeInfo?.labels ?? {}, topologyKey);
      if (domain === undefined) return missingKey(topologyKey, 'topologySpreadConstraints');
      const skew = (byDomain.get(domain) ?? 0) + self - least;
      if (skew > maxSkew) {
        return {
          reason: 'TopologySpread',
          message:
            `placing the pod would give ${topologyKey}=${domain} a skew of ${skew}, and maxSkew is ${maxSkew}; raise ` +
              'maxSkew, or free capacity in the domains with fewer pods',
        };
      }
    }
    return undefined;
  };
}

/** Matching pods with this one, summed over preferred constraints (ScheduleAnyway); undefined when the pod has none. */
export function spreadCount(pod: PodToSchedule, targets: readonly TargetSnapshot[]): (
  (target: TargetSnapshot) => number
) | undefined {
  const counted = countConstraints(pod, targets, 'ScheduleAnyway');
  if (counted.length === 0) return undefined;
  return ({ nodeInfo }) => {
    let sum = 0;
    for (const { constraint, byDomain } of counted) {
      const domain = labelOf(nodeInfo?.labels ?? {}, constraint.topologyKey);
      if (domain === undefined) return Infinity; // kube-scheduler ignores such nodes; they sort last
      sum += byDomain.get(domain) ?? 0;
    }
    return sum;
  };
}

function countConstraints(pod: PodToSchedule, targets: readonly TargetSnapshot[], when: string): readonly Counted[] {
  const { placement } = pod;
  const constraints = (placement?.constraints.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === when,
  );
  if (placement === undefined || constraints.length === 0) return [];
  const keys = constraints.map(({ topologyKey }) => topologyKey);
  const complete = targets.filter(
    ({ nodeInfo }) => nodeInfo !== undefined && keys.every((key) => Object.hasOwn(nodeInfo.labels, key)),
  );
  return constraints.map((constraint) => count(constraint, { namespace: pod.namespace, placement, targets: complete }));
}

interface SpreadScope {
  readonly namespace: string;
  readonly placement: PlacementConstraints;
  readonly targets: readonly TargetSnapshot[];
}

function count(constraint: TopologySpreadConstraint, { namespace, placement, targets }: SpreadScope): Counted {
  const domains = domainsByNode(constraint, placement, targets);
  const byDomain = new Map([...domains.values()].map((domain) => [domain, 0]));
  const selector = withLabelKeys(constraint.labelSelector, constraint.matchLabelKeys, placement.labels);
  for (const placed of placement.placed) {
    if (placed.namespace !== namespace || placed.terminating || !matchesLabelSelector(selector, placed.labels)) {
      continue;
    }
    for (const [nodeName, pods] of placed.byNode) {
      const domain = domains.get(nodeName);
      if (domain !== undefined) byDomain.set(domain, (byDomain.get(domain) ?? 0) + pods);
    }
  }
  const hasEnough = byDomain.size > 0 && byDomain.size >= (constraint.minDomains ?? 1);
  return {
    constraint, byDomain, least: hasEnough ? Math.min(...byDomain.values()) : 0,
    self: matchesLabelSelector(selector, placement.labels) ? 1 : 0,
  };
}

function domainsByNode(
  constraint: TopologySpreadConstraint, placement: PlacementConstraints, targets: readonly TargetSnapshot[],
): ReadonlyMap<string, string> {
  const domains = new Map<string, string>();
  for (const target of targets) {
    const domain = labelOf(target.nodeInfo?.labels ?? {}, constraint.topologyKey);
    if (domain !== undefined && isCounted(constraint, placement, target)) domains.set(target.nodeName, domain);
  }
  return domains;
}

/**
 * Whether the pods of a target are counted: not where node affinity, a policy or, if requested, taints exclude the pod.
 * A policy's rules are to virtual nodes what node affinity is to nodes.
 */
function isCounted(
  { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' }: TopologySpreadConstraint,
  { constraints, rules }: PlacementConstraints, { nodeInfo, nodeName }: TargetSnapshot,
): boolean {
  const labels: StringMap = nodeInfo?.labels ?? {};
  const isExcluded = (): boolean =>
    !matchesNodeSelector(constraints, labels, nodeName) || ruleAgainst(rules, nodeInfo) !== undefined;
  if (nodeAffinityPolicy === 'Honor' && isExcluded()) return false;
  return nodeTaintsPolicy === 'Ignore' ||
    firstUntoleratedTaint(nodeInfo?.taints, constraints.tolerations) === undefined;
}
