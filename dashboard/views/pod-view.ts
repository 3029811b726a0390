// The screen of one pod's journey: its stages, the evaluation of every target, and what source and target say.
import type { Pod } from '../../api/objects/core.ts';
import { outcomeLines } from '../../cli/placement/explanation-text.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { controllerOf, isTerminal, isTerminating } from '../../model/pod/pod.ts';
import type { ExplainedTarget, Explanation } from '../../scheduler/explain/explain.ts';
import type { ActionKind } from '../wire/actions.ts';
import type { MorePods, PolicyChoice } from '../wire/placement-rows.ts';
import type { UnreadablePart, PodSide, PodScreen, TargetEvaluation, Evaluation } from '../wire/screens.ts';
import { conditionRows, containerRows, eventRows, type PodEvent } from '../pod/pod-events.ts';
import { recordedDecision } from '../pod/recorded-decision.ts';
import { stagesOf, type TargetSide } from '../pod/stages.ts';
import { rowOf } from './pod-lists.ts';
import { unreadableIn, knownRecords, type Reading } from './reading.ts';
import { toSeenPod } from './seen-pod.ts';

/** Where a further pod would go, as the simulation of `isthmus plan` says. */
type FurtherPod =
  | { readonly kind: 'placed'; readonly target: string }
  | { readonly kind: 'waits'; readonly explanation: Explanation }
  | { readonly kind: 'local' | 'denied'; readonly message: string };

/** A pod with everything that is known of its journey. */
export interface SeenJourney {
  readonly namespace: string;
  /** The target that the explanation leaves out. */
  readonly without?: string | undefined;
  /** No record: there is no such pod. */
  readonly pod: Reading<Pod>;
  readonly events: Reading<PodEvent>;
  readonly targetSide: TargetSide;
  readonly explanation: Explanation | UnreadablePart | undefined;
  /** The policies that can be supposed to apply to it; missing where targets cannot be evaluated. */
  readonly choice?: PolicyChoice | undefined;
  /** Where more pods like it would go, if the viewer asked; or why that is not known. */
  readonly planned?: readonly FurtherPod[] | UnreadablePart | undefined;
  /** What the viewer may do with it; nothing when missing. */
  readonly actions?: readonly ActionKind[] | undefined;
}

/** The screen; undefined while the pod is being read. */
export function podScreen(journey: SeenJourney): PodScreen | undefined {
  const { namespace, without, pod, events, targetSide, explanation, choice, planned, actions = [] } = journey;
  if (pod.kind === 'reading') return undefined;
  const unreadable = unreadableIn({ pods: pod, events }, namespace);
  const [found] = knownRecords(pod) ?? [];
  if (found === undefined) return { screen: 'pod', stages: [], containers: [], actions: [], unreadable };
  const { evaluation, unreadable: evaluationUnreadable } = evaluationOrReason(explanation);
  const { morePods, unreadable: morePodsUnreadable } = morePodsOrReason(planned);
  const targetUnreadable = targetSide.kind === 'unknown' ? targetSide.unreadable : undefined;
  const unknown = [targetUnreadable, evaluationUnreadable, morePodsUnreadable].filter((part) => part !== undefined);
  return {
    screen: 'pod', pod: rowOf(toSeenPod(found)), stages: stagesOf(found, targetSide),
    unreadable: [...unreadable, ...distinct(unknown)],
    recorded: recordedDecision(found), without, evaluation, choice,
    morePods: evaluation && morePods,
    containers: containerRows(found), actions: isMovable(found) ? actions : [],
    source: sideOf(found, knownRecords(events)),
    target: targetSide.kind === 'found' && targetSide.delegate !== undefined
      ? sideOf(targetSide.delegate, targetSide.events) : undefined,
  };
}

/** One that a controller recreates; `isthmus move --recreate` is for the others, and loses what they have stored. */
function isMovable(pod: Pod): boolean {
  return controllerOf(pod.metadata) !== undefined && !isTerminal(pod.status?.phase) && !isTerminating(pod);
}

/** What both need may be missing for the same reason. */
function distinct(unreadable: readonly UnreadablePart[]): readonly UnreadablePart[] {
  return unreadable.filter(({ why }, index) => unreadable.findIndex((part) => part.why === why) === index);
}

function sideOf(pod: Pod, events: readonly PodEvent[] | undefined): PodSide {
  return {
    name: pod.metadata.name ?? '', node: pod.spec.nodeName, conditions: conditionRows(pod),
    events: events === undefined ? undefined : eventRows(events),
  };
}

/** The evaluation, or why there is none; neither while it is being gathered. */
export function evaluationOrReason(
  explanation: SeenJourney['explanation'],
): { readonly evaluation?: Evaluation; readonly unreadable?: UnreadablePart } {
  if (explanation === undefined) return {};
  return 'advice' in explanation ? { unreadable: explanation } : { evaluation: evaluationOf(explanation) };
}

/** Where more pods would go, or why that is not known; neither if the viewer did not ask. */
function morePodsOrReason(
  planned: SeenJourney['planned'],
): { readonly morePods?: MorePods; readonly unreadable?: UnreadablePart } {
  if (planned === undefined) return {};
  return 'advice' in planned ? { unreadable: planned } : { morePods: morePodsOf(planned) };
}

/** How many of them each target gets, and why others get none. */
function morePodsOf(planned: readonly FurtherPod[]): MorePods {
  const counts = new Map<string, number>();
  for (const pod of planned) if (pod.kind === 'placed') counts.set(pod.target, (counts.get(pod.target) ?? 0) + 1);
  const others = planned.filter(({ kind }) => kind !== 'placed');
  const [first] = others;
  return {
    pods: planned.length, waiting: others.length,
    placed: [...counts].map(([target, pods]) => ({ target: shortTargetName(target), pods }))
      .toSorted((one, other) => other.pods - one.pods || (one.target < other.target ? -1 : 1)),
    why: first === undefined || first.kind === 'placed' ? []
      : first.kind === 'waits' ? outcomeLines(first.explanation) : [first.message],
  };
}

/** An explanation as a matrix: targets by filters and scores. */
export function evaluationOf(explanation: Explanation): Evaluation {
  return {
    outcome: outcomeLines(explanation),
    targets: explanation.targets.map((target) => evaluatedTarget(target, target.target === explanation.chosen)),
  };
}

function evaluatedTarget(
  { target, checks, scores = [], score }: ExplainedTarget, isChosen: boolean,
): TargetEvaluation {
  return {
    target: shortTargetName(target),
    answer: isChosen ? 'chosen' : score === undefined ? 'no' : 'possible',
    score, scores,
    passed: checks.flatMap(({ filter, answer }) => (answer === 'passes' ? [filter] : [])),
    rejections: checks.flatMap((check) => (
      check.answer === 'no' ? [{ filter: check.filter, reason: check.reason, message: check.message }] : []
    )),
  };
}
