// Whether the selectors of a policy select any target that there is. A valid policy that leaves no target to its pods
// keeps all of them waiting, so its author must see it.
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { formatSelector, matchesLabelSelector } from '../../model/objects/label-selector.ts';
import { NO_RULES, ruleAgainst, type KnownPolicy, type SetByPolicy } from '../snapshot/placement-rules.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { labelsFor, type TargetLabels } from '../snapshot/virtual-node-info.ts';

/** What a policy makes of the targets that there are. */
export interface PolicyReach {
  /** Why no target is left to the pods of the policy; undefined when one is. */
  readonly blocked?: string;
  /** Parts of the policy that select no target and block nothing. */
  readonly idle: readonly string[];
}

/** The reach of a policy. `targets` are those that its pods may use at all; without any, nothing is said yet. */
export function reachOf(policy: KnownPolicy, targets: readonly TargetLabels[]): PolicyReach {
  if (targets.length === 0) return { idle: [] };
  const blocked = blockedBy(policy, targets);
  return blocked === undefined ? { idle: idleParts(policy, targets) } : { blocked, idle: [] };
}

/** Why a valid policy, on its own, excludes a target from its pods; undefined when it does not. */
export function exclusionBy(policy: KnownPolicy, target: TargetLabels): Rejection | undefined {
  const { tiers, replicas } = policy.spec;
  const rule = ruleOf(policy, target);
  if (rule !== undefined) return rule;
  const isIn = (parts: readonly Part[]) => parts.some((part) => selects(policy, part, target));
  if (tiers !== undefined && !isIn(tiers)) {
    return { reason: 'NotInTiers', message: `no tier in ${policy.title} selects it` };
  }
  if (replicas?.whenUnsatisfiable === 'DoNotSchedule' && !isIn(replicas.shares)) {
    return { reason: 'NotInShares', message: `no replica share in ${policy.title} selects it` };
  }
  return undefined;
}

function ruleOf(policy: KnownPolicy, target: TargetLabels): Rejection | undefined {
  const { require, forbid } = policy.spec;
  return ruleAgainst({ ...NO_RULES, require: termsOf(policy, require), forbid: termsOf(policy, forbid) }, target);
}

function blockedBy(policy: KnownPolicy, targets: readonly TargetLabels[]): string | undefined {
  const { tiers, replicas } = policy.spec;
  const allowed = targets.filter((target) => ruleOf(policy, target) === undefined);
  if (allowed.length === 0) return againstAll(policy, targets);
  const isIn = (parts: readonly Part[]): boolean =>
    parts.some((part) => allowed.some((target) => selects(policy, part, target)));
  if (tiers !== undefined && !isIn(tiers)) return 'none of its tiers selects a target';
  if (replicas?.whenUnsatisfiable === 'DoNotSchedule' && !isIn(replicas.shares)) {
    return 'none of its replica shares selects a target';
  }
  return undefined;
}

function againstAll(policy: KnownPolicy, targets: readonly TargetLabels[]): string {
  const { require, forbid } = policy.spec;
  const required = { ...NO_RULES, require: termsOf(policy, require) };
  const isRequired = targets.some((target) => ruleAgainst(required, target) === undefined);
  if (require !== undefined && !isRequired) {
    return `no target has the labels that it requires (${formatSelector(require)})`;
  }
  return `it forbids every target that it does not exclude otherwise (${formatSelector(forbid ?? {})})`;
}

interface Part {
  readonly targets: LabelSelector;
}

function idleParts(policy: KnownPolicy, targets: readonly TargetLabels[]): readonly string[] {
  const { tiers = [], replicas, overrides = [] } = policy.spec;
  const parts: readonly (readonly [string, readonly Part[]])[] =
    [['tier', tiers], ['replica share', replicas?.shares ?? []], ['override', overrides]];
  return parts.flatMap(([name, list]) => list.flatMap(
    (part, index) => (targets.some((target) => selects(policy, part, target)) ? [] : [`${name} ${index + 1}`]),
  ));
}

function selects({ namespace }: KnownPolicy, part: Part, target: TargetLabels): boolean {
  return matchesLabelSelector(part.targets, labelsFor({ isClusterScoped: namespace === undefined }, target));
}

function termsOf(
  { title, namespace }: KnownPolicy, value: LabelSelector | undefined,
): readonly SetByPolicy<LabelSelector>[] {
  return value === undefined ? [] : [{ by: title, value, isClusterScoped: namespace === undefined }];
}
