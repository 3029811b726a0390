// Puts together what one pod is placed by: its constraints, the policies' rules, the weights of scores, and how its delegate differs by target.
import type { Pod, StringMap, TopologySpreadConstraint } from '../../api/objects/core.ts';
import { SCORE_WEIGHTS_ANNOTATION } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ClusterConstraints, ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { overriddenChaperon } from '../snapshot/delegate-overrides.ts';
import type { PlacedPods } from '../snapshot/placed-pods.ts';
import { rulesFor, type PlacementRules, type PolicyBook } from '../snapshot/placement-rules.ts';
import { mergeWeights, parseWeights, type ScoreWeights } from '../snapshot/score-weights.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import { toRequirements } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';

/** What is the same for all pods. */
export interface PlacementWorld {
  readonly policies: PolicyBook;
  readonly placed: PlacedPods;
  /** What the installation says; policies and pods may say otherwise. */
  readonly weights?: Partial<ScoreWeights>;
  readonly location?: PlacementConstraints['location'];
}

/** A pod that is to be placed, with what would be sent to a target. `now` is in ms since the epoch. */
export interface PodInQuestion {
  readonly proxy: ProxyPod;
  readonly sourcePod: Pod;
  readonly chaperon: PodChaperon;
  readonly now: number;
}

/** What a decision about a pod is made on beside the targets. `share` gives one object for equal requirements. */
export function toPodToSchedule(question: PodInQuestion, world: PlacementWorld, targets: Iterable<TargetSnapshot>, decided: Decided): PodToSchedule {
  const { share = (requirements) => requirements, refusals } = decided;
  const placement = toPlacementConstraints(question, world);
  const overrides = overridesFor(question.chaperon, placement.rules, targets, share);
  return { namespace: question.proxy.namespace, requirements: share(toRequirements(question.chaperon.spec)), refusals, placement: { ...placement, ...overrides } };
}

/** What earlier decisions leave behind. */
export interface Decided {
  readonly refusals: PodToSchedule['refusals'];
  readonly share?: (requirements: NodeRequirements) => NodeRequirements;
}

/** What a pod is placed by, all but overrides; see {@link overridesFor}. */
export function toPlacementConstraints({ proxy, sourcePod, now }: PodInQuestion, { policies, placed, weights, location }: PlacementWorld): PlacementConstraints {
  const { namespace, labels, controllerUid } = proxy;
  const rules = rulesFor({ namespace, labels }, policies);
  const constraints = withPolicySpread(proxy.constraints ?? {}, rules);
  const counts = needsCounts(constraints, rules) || placed.hasAntiAffinity;
  return {
    labels,
    constraints,
    rules,
    weights: weightsOf(sourcePod.metadata.annotations ?? {}, rules, weights),
    waitedSeconds: Math.max(0, (now - proxy.createdAt) / 1_000),
    placed: counts ? [...placed.classes()] : [],
    namespaces: policies.namespaces,
    ...(controllerUid !== undefined && { controllerUid }),
    ...(location !== undefined && { location }),
  };
}

function needsCounts({ affinity, topologySpreadConstraints = [] }: ClusterConstraints, { replicas }: PlacementRules): boolean {
  return affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined || topologySpreadConstraints.length > 0 || replicas !== undefined;
}

/** An annotation that cannot be read counts for nothing: weights are placement, not limits. */
function weightsOf(annotations: StringMap, rules: PlacementRules, installation: Partial<ScoreWeights> | undefined): ScoreWeights {
  const parsed = parseWeights(annotations[SCORE_WEIGHTS_ANNOTATION] ?? '');
  return mergeWeights(installation, rules.weights?.value, parsed.kind === 'weights' ? parsed.weights : undefined);
}

/** The policy's spread is a topology spread constraint like the pod's own ones, over the pods that the policy selects. */
function withPolicySpread(constraints: ClusterConstraints, { spread, spreadSelector = {} }: PlacementRules): ClusterConstraints {
  if (spread === undefined) return constraints;
  const added = spread.value.map(({ topologyKey, maxSkew = 1, whenUnsatisfiable = 'ScheduleAnyway' }): TopologySpreadConstraint => ({
    topologyKey, maxSkew, whenUnsatisfiable, labelSelector: spreadSelector,
  }));
  return { ...constraints, topologySpreadConstraints: [...(constraints.topologySpreadConstraints ?? []), ...added] };
}

/**
 * What the delegate asks of a node where a policy changes it, by target; undefined where it changes none. A patch that cannot be
 * applied in a target keeps the pod out of it: see {@link overriddenChaperon}.
 */
function overridesFor(chaperon: PodChaperon, rules: PlacementRules, targets: Iterable<TargetSnapshot>, share: NonNullable<Decided['share']>): Pick<PlacementConstraints, 'overridden' | 'unpatchable'> {
  if (rules.overrides === undefined) return {};
  const overridden = new Map<string, NodeRequirements>();
  const unpatchable = new Map<string, string>();
  for (const target of targets) {
    const patched = overriddenChaperon(chaperon, rules, target.traits);
    if (patched.kind === 'failed') unpatchable.set(target.key, patched.message);
    else if (patched.chaperon !== chaperon) overridden.set(target.key, share(toRequirements(patched.chaperon.spec)));
  }
  return { overridden, unpatchable };
}
