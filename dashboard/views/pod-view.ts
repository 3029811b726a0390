// The screen of one pod's way: its stages, the verdict of every target, and what both ends say.
import type { Pod } from '../../api/objects/core.ts';
import { outcomeLines } from '../../cli/placement/explanation-text.ts';
import type { ExplainedTarget, Explanation } from '../../scheduler/explain/explain.ts';
import type { Gap, PodEnd, PodScreen, Verdict, Verdicts } from '../wire/screens.ts';
import { conditionRows, containerRows, eventRows, type PodEvent } from './pod-events.ts';
import { rowOf } from './pod-lists.ts';
import { gapsIn, knownRecords, type Reading } from './reading.ts';
import { recordedDecision } from './recorded-decision.ts';
import { shortTargetName, toSeenPod } from './seen-pod.ts';
import { stagesOf, type TargetSide } from './stages.ts';

/** A pod with everything that is known of its way. */
export interface SeenWay {
  readonly namespace: string;
  /** The target that the explanation leaves out. */
  readonly without?: string | undefined;
  /** No record: there is no such pod. */
  readonly pod: Reading<Pod>;
  readonly events: Reading<PodEvent>;
  readonly there: TargetSide;
  readonly explanation: Explanation | Gap | undefined;
}

/** The screen; undefined while the pod is being read. */
export function podScreen({ namespace, without, pod, events, there, explanation }: SeenWay): PodScreen | undefined {
  if (pod.kind === 'reading') return undefined;
  const gaps = gapsIn({ pods: pod, events }, namespace);
  const [found] = knownRecords(pod) ?? [];
  if (found === undefined) return { screen: 'pod', stages: [], containers: [], gaps };
  const verdictGap = explanation !== undefined && 'advice' in explanation ? explanation : undefined;
  const unknown = [...(there.kind === 'unknown' ? [there.gap] : []), ...(verdictGap === undefined ? [] : [verdictGap])];
  return {
    screen: 'pod', pod: rowOf(toSeenPod(found)), stages: stagesOf(found, there), gaps: [...gaps, ...distinct(unknown)],
    recorded: recordedDecision(found), without,
    verdicts: explanation === undefined || 'advice' in explanation ? undefined : verdictsOf(explanation),
    containers: containerRows(found),
    source: endOf(found, knownRecords(events)),
    target: there.kind === 'found' && there.delegate !== undefined ? endOf(there.delegate, there.events) : undefined,
  };
}

/** What both need may be missing for the same reason. */
function distinct(gaps: readonly Gap[]): readonly Gap[] {
  return gaps.filter(({ why }, index) => gaps.findIndex((gap) => gap.why === why) === index);
}

function endOf(pod: Pod, events: readonly PodEvent[] | undefined): PodEnd {
  return {
    name: pod.metadata.name ?? '', node: pod.spec.nodeName, conditions: conditionRows(pod),
    events: events === undefined ? undefined : eventRows(events),
  };
}

/** An explanation as a matrix: targets by filters and scores. */
export function verdictsOf(explanation: Explanation): Verdicts {
  return {
    outcome: outcomeLines(explanation),
    targets: explanation.targets.map((target) => verdictOf(target, target.target === explanation.chosen)),
  };
}

function verdictOf({ target, checks, scores = [], score }: ExplainedTarget, isChosen: boolean): Verdict {
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
