// Tiers of a policy: targets in order of use. A lower tier precedes every score; a higher one opens after a delay.
import { matchesLabelSelector } from '../../model/objects/label-selector.ts';
import type { PlacementRules } from '../snapshot/placement-rules.ts';
import type { PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { labelsFor } from '../snapshot/virtual-node-info.ts';

/**
 * Tier of a target, from 0; undefined when no tier selects it. A target that several tiers select is in the first of
 * them.
 */
export function tierOf(rules: PlacementRules | undefined, target: TargetSnapshot): number | undefined {
  if (rules?.tiers === undefined) return 0;
  const index =
    rules.tiers.value
      .findIndex(({ targets }) => matchesLabelSelector(targets, labelsFor(rules.tiers, target.nodeInfo)));
  return index < 0 ? undefined : index;
}

/** How many seconds after the pod's creation each tier opens, by index. */
export function tierOpenings(rules: PlacementRules | undefined): readonly number[] {
  let opensAt = 0;
  return (rules?.tiers?.value ?? []).map(({ waitSeconds = 0 }) => {
    const opening = opensAt;
    opensAt += waitSeconds;
    return opening;
  });
}

/** In how many seconds the next tier opens; undefined when all are open. */
export function untilNextTier({ placement }: PodToSchedule): number | undefined {
  if (placement === undefined) return undefined;
  const opening = tierOpenings(placement.rules).find((opensAt) => opensAt > placement.waitedSeconds);
  return opening === undefined ? undefined : opening - placement.waitedSeconds;
}

/** The filter for a pod whose policy has tiers. */
export function tierFilter({ placement }: PodToSchedule): ((target: TargetSnapshot) => Rejection | undefined)
  | undefined {
  const tiers = placement?.rules.tiers;
  if (placement === undefined || tiers === undefined) return undefined;
  const openings = tierOpenings(placement.rules);
  return (target) => {
    const tier = tierOf(placement.rules, target);
    if (tier === undefined) return {
      reason: 'NotInTiers',
      message: `no tier in ${tiers.by} selects it; add it to a tier, or label the ClusterTarget or Target`,
    };
    const opensAt = openings[tier] ?? 0;
    if (placement.waitedSeconds >= opensAt) return undefined;
    return {
      reason: 'TierWaits',
      message:
        `it is in tier ${tier + 1} of ${tiers.by}, which gets the pod ${opensAt} s after its creation; lower ` +
          'waitSeconds to have it sooner',
    };
  };
}
