// Collects the placement inputs of one pod: its constraints, the rules of policies, score weights, and overrides of its
// delegate by target.
import type { Pod, StringMap } from '../../api/objects/core.ts';
import type { TopologySpreadConstraint } from '../../api/objects/affinity.ts';
import { SCORE_WEIGHTS_ANNOTATION } from '../../api/objects/keys.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { ClusterConstraints, ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { overriddenChaperon } from '../snapshot/delegate-overrides.ts';
import type { PlacedPods } from '../snapshot/placed-pods.ts';
import { rulesFor, type PlacementRules, type PolicyIndex } from '../snapshot/placement-rules.ts';
import { parseWeights, type ScoreWeights } from '../../model/proxy/score-weights.ts';
import { mergeWeights } from '../snapshot/default-weights.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import { toRequirements } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';

/**
 * Inputs of a decision that are the same for all pods, apart from the targets. Those of one pod are
 * {@link PodToPlace}; both together become {@link PodToSchedule}.
 */
export interface PlacementContext {
  readonly policies: PolicyIndex;
  readonly placed: PlacedPods;
  /** The installation's weights; policies and pods may override them. */
  readonly weights?: Partial<ScoreWeights>;
  readonly location?: PlacementConstraints['location'];
}

/** A pod to place, with the object to send to a target. `now` is in ms since the epoch. */
export interface PodToPlace {
  readonly proxy: ProxyPod;
  readonly sourcePod: Pod;
  readonly chaperon: PodChaperon;
  readonly now: number;
}

/** The pod as the decision reads it. `intern` returns one object for equal requirements. */
export function toPodToSchedule(
  question: PodToPlace, context: PlacementContext, targets: Iterable<TargetSnapshot>, decided: EarlierDecisions,
): PodToSchedule {
  const { intern = (requirements) => requirements, rejectedBy } = decided;
  const { namespace, labels } = question.proxy;
  const placement = toPlacementConstraints(question, rulesFor({ namespace, labels }, context.policies), context);
  const overrides = overridesFor(question.chaperon, placement.rules, targets, intern);
  return {
    namespace: question.proxy.namespace, requirements: intern(toRequirements(question.chaperon.spec)), rejectedBy,
    placement: { ...placement, ...overrides },
  };
}

/** State from earlier decisions. */
export interface EarlierDecisions {
  readonly rejectedBy: PodToSchedule['rejectedBy'];
  readonly intern?: (requirements: NodeRequirements) => NodeRequirements;
}

/** What placement constraints are made of: a pod that exists, or one that could. */
export interface ConstrainedPod {
  readonly proxy: Pick<ProxyPod, 'labels' | 'controllerUid' | 'constraints' | 'createdAt'>;
  readonly sourcePod: Pick<Pod, 'metadata'>;
  /** In ms since the epoch. */
  readonly now: number;
}

/** All placement inputs of a pod under these rules, except overrides; see {@link overridesFor}. */
export function toPlacementConstraints(
  { proxy, sourcePod, now }: ConstrainedPod, rules: PlacementRules,
  { policies, placed, weights, location }: PlacementContext,
): PlacementConstraints {
  const { labels, controllerUid } = proxy;
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

/**
 * Whether the decision counts placed pods. Counting costs a step for each class of them, so it is left out otherwise: a
 * filter or score that reads `placed` must be known here, or it would see no pods.
 */
function needsCounts(
  { affinity, topologySpreadConstraints = [] }: ClusterConstraints, { replicas }: PlacementRules,
): boolean {
  return affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined
    || topologySpreadConstraints.length > 0 || replicas !== undefined;
}

/** An invalid annotation is ignored: weights are preferences, not limits. */
function weightsOf(
  annotations: StringMap, rules: PlacementRules, installation: Partial<ScoreWeights> | undefined,
): ScoreWeights {
  const parsed = parseWeights(annotations[SCORE_WEIGHTS_ANNOTATION] ?? '');
  return mergeWeights(installation, rules.weights?.value, parsed.kind === 'weights' ? parsed.weights : undefined);
}

/** The policy's spread is a topology spread constraint like the pod's own, over the pods that the policy selects. */
function withPolicySpread(
  constraints: ClusterConstraints, { spread, spreadSelector = {} }: PlacementRules,
): ClusterConstraints {
  if (spread === undefined) return constraints;
  const added = spread.value.map(({
    topologyKey, maxSkew = 1, whenUnsatisfiable = 'ScheduleAnyway',
  }): TopologySpreadConstraint => ({
    topologyKey, maxSkew, whenUnsatisfiable, labelSelector: spreadSelector,
  }));
  return { ...constraints, topologySpreadConstraints: [...(constraints.topologySpreadConstraints ?? []), ...added] };
}

/**
 * What the delegate requires of a node where a policy overrides it, by target; undefined when no policy does. A target
 * where the patch cannot be applied is rejected: see {@link overriddenChaperon}.
 */
function overridesFor(
  chaperon: PodChaperon, rules: PlacementRules, targets: Iterable<TargetSnapshot>,
  intern: NonNullable<EarlierDecisions['intern']>,
): Pick<PlacementConstraints, 'overridden' | 'unpatchable'> {
  if (rules.overrides === undefined) return {};
  const overridden = new Map<string, NodeRequirements>();
  const unpatchable = new Map<string, string>();
  for (const target of targets) {
    const patched = overriddenChaperon(chaperon, rules, target.nodeInfo);
    if (patched.kind === 'failed') unpatchable.set(target.key, patched.message);
    else if (patched.chaperon !== chaperon) overridden.set(target.key, intern(toRequirements(patched.chaperon.spec)));
  }
  return { overridden, unpatchable };
}
