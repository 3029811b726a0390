// Which placement inputs make the decision on one target depend on other targets. An input that is missing here is a
// compile error, so that no new one is cached by target by mistake.
import { SCORE_NAMES, type ScoreName } from '../../api/kinds/placement-policy.ts';
import type { Affinity } from '../../api/objects/affinity.ts';
import type { ClusterConstraints } from '../../model/proxy/proxy-pod.ts';
import type { PlacementRules } from '../snapshot/placement-rules.ts';
import type { PlacementConstraints, PodToSchedule } from '../snapshot/snapshot.ts';

/** For each field of an input: whether a value that is set compares targets with one another. */
type Comparing<T> = { readonly [K in keyof Required<T>]: (value: Required<T>[K]) => boolean };

const always = (): boolean => true;
const never = (): boolean => false;

function comparesAny<T extends object>(input: T, fields: Comparing<T>): boolean {
  for (const name in fields) {
    const value = input[name];
    if (value !== undefined && value !== null && fields[name](value)) return true; // null is unset, as in Kubernetes
  }
  return false;
}

const BY_AFFINITY: Comparing<Affinity> = {
  podAffinity: always, podAntiAffinity: always,
  nodeAffinity: (affinity) => affinity.preferredDuringSchedulingIgnoredDuringExecution !== undefined,
};

const BY_CONSTRAINTS: Comparing<ClusterConstraints> = {
  nodeSelector: never, tolerations: never,
  affinity: (affinity) => comparesAny(affinity, BY_AFFINITY),
  topologySpreadConstraints: (spread) => spread.length > 0,
};

const BY_RULES: Comparing<PlacementRules> = {
  blocked: never, require: never, forbid: never, weights: never, overrides: never, failover: never, failback: never,
  // constraints of the pod have what a policy spreads
  spread: never, spreadSelector: never,
  tiers: always, replicas: always,
};

/** A cost is high or low only relative to the others. Scores of preferences follow from the preferences. */
const BY_SCORES: Readonly<Record<ScoreName, boolean>> = {
  leastAllocated: false, mostAllocated: false, balanced: false, gpuForGpuPods: false, preferredAffinity: false,
  spread: false, rtt: false, cost: true, locality: false,
};

const BY_PLACEMENT: Comparing<PlacementConstraints> = {
  // they matter only to what compares targets
  labels: never, controllerUid: never, waitedSeconds: never, namespaces: never,
  location: never, unpatchable: never,
  constraints: (constraints) => comparesAny(constraints, BY_CONSTRAINTS),
  rules: (rules) => comparesAny(rules, BY_RULES),
  weights: (weights) => SCORE_NAMES.some((name) => BY_SCORES[name] && weights[name] > 0),
  placed: (placed) => placed.some(({ antiAffinity }) => antiAffinity !== undefined),
  overridden: always,
};

/**
 * Whether the decision on a target depends on other targets, by counts over targets or by delays. If not, each target
 * is evaluated on its own, and results are cached by target.
 */
export function dependsOnOtherTargets({ placement }: PodToSchedule): boolean {
  return placement !== undefined && comparesAny(placement, BY_PLACEMENT);
}
