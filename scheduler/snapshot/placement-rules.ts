// Combines all policies into the rules for one pod. Fails closed: while policies are not synced, or a relevant one is
// invalid, or two conflict, the pod is not placed. Required and forbidden targets add up over all policies. For other
// fields a namespaced policy precedes a cluster policy, field by field; overrides of cluster policies are applied last.
import type {
  ClusterPlacementPolicy, Failback, PlacementPolicy, PlacementPolicySpec,
} from '../../api/kinds/placement-policy.ts';
import type { PolicyOverride } from '../../api/placement/delegate-override.ts';
import type { PolicyReplicas, PolicySpread, PolicyTier } from '../../api/placement/pod-division.ts';
import type { StringMap } from '../../api/objects/core.ts';
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { formatSelector, matchesLabelSelector } from '../../model/objects/label-selector.ts';
import { policyProblem } from './policy-problem.ts';
import type { ScoreWeights } from '../../model/proxy/score-weights.ts';
import type { Rejection } from './rejection.ts';
import { labelsFor, type TargetLabels } from './virtual-node-info.ts';

/** A policy as it is cached. */
export interface KnownPolicy {
  /** `PlacementPolicy NAMESPACE/NAME` or `ClusterPlacementPolicy NAME`, for messages. */
  readonly title: string;
  /** Missing for a cluster policy. */
  readonly namespace?: string;
  readonly spec: PlacementPolicySpec;
  /** Why it is invalid. */
  readonly problem?: string;
}

/** All policies, with whether they are synced. */
export interface PolicyIndex {
  /** False until all policies have been listed once. */
  readonly isComplete: boolean;
  readonly policies: readonly KnownPolicy[];
  /** Labels of the known namespaces. */
  readonly namespaces: ReadonlyMap<string, StringMap>;
}

/** A value with the policy that set it. */
export interface SetByPolicy<T> {
  readonly by: string;
  readonly value: T;
  /** Set by a cluster policy. */
  readonly isClusterScoped?: boolean;
}

/** An override, and whether a cluster policy set it. */
export type PolicySetOverride = PolicyOverride & Pick<SetByPolicy<unknown>, 'isClusterScoped'>;

/** The rules for one pod. */
export interface PlacementRules {
  /** Why the pod must not be placed at all. */
  readonly blocked?: Rejection;
  readonly require: readonly SetByPolicy<LabelSelector>[];
  readonly forbid: readonly SetByPolicy<LabelSelector>[];
  readonly tiers?: SetByPolicy<readonly PolicyTier[]>;
  readonly replicas?: SetByPolicy<PolicyReplicas>;
  readonly spread?: SetByPolicy<readonly PolicySpread[]>;
  readonly weights?: SetByPolicy<Partial<ScoreWeights>>;
  readonly overrides?: SetByPolicy<readonly PolicySetOverride[]>;
  readonly failover?: SetByPolicy<'Never' | 'Fenced'>;
  readonly failback?: SetByPolicy<Failback>;
  /** The pods that `spread` counts. */
  readonly spreadSelector?: LabelSelector;
}

/** The rules without any policy. */
export const NO_RULES: PlacementRules = { require: [], forbid: [] };

/** Fields of which only one policy's value applies. */
const PREFERENCES = ['tiers', 'replicas', 'spread', 'weights', 'overrides', 'failover', 'failback'] as const;

/** Caches a policy object, whatever its shape. */
export function toKnownPolicy(policy: PlacementPolicy | ClusterPlacementPolicy): KnownPolicy {
  const { namespace, name = '' } = policy.metadata;
  const title = namespace === undefined ? `ClusterPlacementPolicy ${name}` : `PlacementPolicy ${namespace}/${name}`;
  const problem = policyProblem(policy.spec, namespace === undefined ? 'cluster' : 'namespace');
  return {
    title, spec: policy.spec, ...(namespace !== undefined && { namespace }), ...(problem !== undefined && { problem }),
  };
}

/** A pod, or an object that follows one, as policies select it. */
export interface SelectedObject {
  readonly namespace: string;
  readonly labels: StringMap;
}

/** The rules for a pod with these labels. */
export function rulesFor(pod: SelectedObject, policyIndex: PolicyIndex): PlacementRules {
  if (!policyIndex.isComplete) return {
    ...NO_RULES,
    blocked: {
      reason: 'PoliciesUnknown',
      message:
        'placement policies have not been read yet; if that lasts, run "isthmus install" again, and check that the ' +
          'scheduler may list them',
    },
  };
  if (policyIndex.policies.length === 0) return NO_RULES;
  const selecting = policyIndex.policies.filter((policy) => selectsPod(policy, pod, policyIndex.namespaces))
    .toSorted((a, b) => (a.title < b.title ? -1 : 1));
  const [broken] = selecting.filter(({ problem }) => problem !== undefined);
  if (broken !== undefined) return {
    ...NO_RULES,
    blocked: { reason: 'PolicyInvalid', message: `${broken.title} ${broken.problem ?? ''}; correct or delete it` },
  };
  const termsOf = (field: 'require' | 'forbid') => selecting.flatMap(({ title, namespace, spec }) => (
    spec[field] === undefined ? [] : [{ by: title, value: spec[field], isClusterScoped: namespace === undefined }]
  ));
  return { require: termsOf('require'), forbid: termsOf('forbid'), ...preferences(selecting) };
}

/** Whether a policy selects a pod. An invalid policy selects every pod that it might. */
export function selectsPod(
  { namespace, spec, problem }: KnownPolicy, pod: SelectedObject, namespaces: PolicyIndex['namespaces'],
): boolean {
  if (namespace !== undefined && namespace !== pod.namespace) return false;
  if (problem !== undefined) return true;
  const inNamespace = spec.namespaceSelector === undefined
    || matchesLabelSelector(spec.namespaceSelector, namespaces.get(pod.namespace) ?? {});
  return inNamespace && (spec.podSelector === undefined || matchesLabelSelector(spec.podSelector, pod.labels));
}

function preferences(selecting: readonly KnownPolicy[]): Partial<PlacementRules> {
  const namespaced = selecting.filter(({ namespace }) => namespace !== undefined);
  const rules: Record<string, unknown> = {};
  for (const field of PREFERENCES) {
    const [first, second] = policiesSetting(field, selecting);
    if (first === undefined) continue;
    if (second !== undefined) {
      return {
        blocked: {
          reason: 'PolicyConflict',
          message: `${first.title} and ${second.title} both set ${field} for this pod; let only one of them select it`,
        },
      };
    }
    rules[field] = field === 'overrides'
      ? allOverrides(selecting)
      : { by: first.title, value: first.spec[field], isClusterScoped: first.namespace === undefined };
    if (field === 'spread') rules['spreadSelector'] = first.spec.podSelector ?? {};
  }
  return 'tiers' in rules && 'replicas' in rules ? tiersOrReplicas(namespaced, rules) : rules;
}

/** The policies whose value of a field applies, namespaced before cluster policies; two of one level conflict. */
function policiesSetting(
  field: (typeof PREFERENCES)[number], selecting: readonly KnownPolicy[],
): readonly KnownPolicy[] {
  const setting = selecting.filter(({ spec }) => spec[field] !== undefined);
  const namespaced = setting.filter(({ namespace }) => namespace !== undefined);
  const clusterScoped = setting.filter(({ namespace }) => namespace === undefined);
  if (namespaced.length === 0 || (field === 'overrides' && clusterScoped.length > 1)) return clusterScoped;
  return namespaced;
}

/** An administrator's overrides cannot be reverted within a namespace. */
function allOverrides(selecting: readonly KnownPolicy[]): SetByPolicy<readonly PolicySetOverride[]> {
  const setting = selecting.filter(({ spec }) => spec.overrides !== undefined)
    .toSorted((a, b) => Number(a.namespace === undefined) - Number(b.namespace === undefined));
  return {
    by: setting.map(({ title }) => title).join(' and '),
    value: setting.flatMap(({ namespace, spec }) => (spec.overrides ?? []).map(
      (override) => (namespace === undefined ? { ...override, isClusterScoped: true } : override),
    )),
  };
}

/** Tiers and replicas are two ways to divide pods over targets: what namespaced policies set applies. */
function tiersOrReplicas(namespaced: readonly KnownPolicy[], rules: Record<string, unknown>): Partial<PlacementRules> {
  const fields =
    (['tiers', 'replicas'] as const).filter((field) => namespaced.some(({ spec }) => spec[field] !== undefined));
  const [field] = fields;
  if (field === undefined || fields.length === 2) {
    return {
      blocked: {
        reason: 'PolicyConflict',
        message: 'one policy sets tiers and another replicas for this pod; they are two ways to divide pods, use ' +
          'only one',
      },
    };
  }
  const { [field === 'tiers' ? 'replicas' : 'tiers']: _overruled, ...kept } = rules;
  return kept;
}

/**
 * Why policies exclude a target with these labels for a pod, or for an object that follows it; undefined when they do
 * not. Labels that the target reports itself can exclude it, and never admit it.
 */
export function ruleAgainst(rules: PlacementRules, target: TargetLabels | undefined): Rejection | undefined {
  if (rules.blocked !== undefined) return rules.blocked;
  const isMetBy = (term: SetByPolicy<LabelSelector>) => [
    labelsFor(term, target), labelsFor(term, target?.assigned ?? target),
  ].map((labels) => matchesLabelSelector(term.value, labels));
  const missed = rules.require.find((term) => isMetBy(term).includes(false));
  if (missed !== undefined) return {
    reason: 'PolicyRequires',
    message:
      `${missed.by} requires targets with ${formatSelector(missed.value)}; label the ` +
        `${missed.isClusterScoped === true ? 'ClusterTarget' : 'ClusterTarget or Target'} if it qualifies`,
  };
  const met = rules.forbid.find((term) => isMetBy(term).includes(true));
  if (met !== undefined) {
    return { reason: 'PolicyForbids', message: `${met.by} forbids targets with ${formatSelector(met.value)}` };
  }
  return undefined;
}

/**
 * Whether an object that goes to all targets (a Service, for example) may be copied to one: some of its pods may run
 * there. `pods` are those that need it. `unknown` while policies are not synced, invalid or in conflict: nothing is
 * then copied or removed.
 */
export function mayFollow(pods: readonly SelectedObject[], target: TargetLabels, policyIndex: PolicyIndex): boolean
  | 'unknown' {
  let isUnknown = false;
  for (const pod of pods) {
    const rules = rulesFor(pod, policyIndex);
    if (ruleAgainst(rules, target) === undefined) return true;
    isUnknown ||= rules.blocked !== undefined;
  }
  return isUnknown && 'unknown';
}
