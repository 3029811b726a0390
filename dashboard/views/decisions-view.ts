// Decisions of the scheduler as they are recorded on the pods that it bound, and one of them beside what the same
// functions decide now.
import type { Filters } from '../wire/routes.ts';
import type { ComparedTarget, DecisionRow, RecordedDecision } from '../wire/placement-rows.ts';
import type { DecisionScreen, DecisionsScreen, TargetEvaluation, Evaluation } from '../wire/screens.ts';
import { readRecord, recordedDecision } from '../pod/recorded-decision.ts';
import { filtered, MOST_ROWS, rowOf } from './pod-lists.ts';
import { evaluationOrReason, type SeenJourney } from './pod-view.ts';
import { unreadableIn, knownRecords } from './reading.ts';
import { toSeenPod, type SeenPod } from './seen-pod.ts';
import type { SeenSource } from './targets-view.ts';

/** The list of decisions, the newest first; undefined until pods were read once. */
export function decisionsScreen(source: SeenSource, filters: Filters): DecisionsScreen | undefined {
  const decided = filtered(source, filters)?.filter(({ record }) => record !== undefined);
  if (decided === undefined) return undefined;
  return {
    screen: 'decisions', total: decided.length,
    rows: decided.toSorted(newestFirst).slice(0, MOST_ROWS).map(decisionRow),
    unreadable: unreadableIn({ pods: source.pods }, source.namespace),
  };
}

function newestFirst(one: SeenPod, other: SeenPod): number {
  const [at = '', before = ''] = [one.boundAt, other.boundAt];
  return at === before ? (one.key < other.key ? -1 : 1) : at > before ? -1 : 1;
}

function decisionRow({ namespace, name, workload, boundAt: at, record = '' }: SeenPod): DecisionRow {
  const decision = readRecord(record);
  if (decision === undefined) return { namespace, name, workload, at };
  const { rejected, more: _more, ...chosen } = decision;
  const counts = new Map<string, number>();
  for (const { reason } of rejected) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].map(([reason, targets]) => ({ reason, targets }))
    .toSorted((one, other) => other.targets - one.targets || (one.reason < other.reason ? -1 : 1));
  return { namespace, name, workload, at, decision: { ...chosen, reasons } };
}

/** The decision about one pod; undefined while the pod is being read. */
export function decisionScreen({ namespace, pod, explanation }: SeenJourney): DecisionScreen | undefined {
  if (pod.kind === 'reading') return undefined;
  const unreadable = unreadableIn({ pods: pod }, namespace);
  const [found] = knownRecords(pod) ?? [];
  if (found === undefined) return { screen: 'decision', targets: [], unreadable };
  const [recorded, seen] = [recordedDecision(found), toSeenPod(found)];
  const { evaluation, unreadable: alsoUnreadable } = evaluationOrReason(explanation);
  return {
    screen: 'decision', pod: rowOf(seen), at: seen.boundAt, recorded, outcome: evaluation?.outcome,
    isSame: recorded && evaluation && chosenIn(evaluation) === recorded.target,
    targets: comparedTargets(recorded, evaluation),
    unreadable: alsoUnreadable === undefined ? unreadable : [...unreadable, alsoUnreadable],
  };
}

function chosenIn({ targets }: Evaluation): string | undefined {
  return targets.find(({ answer }) => answer === 'chosen')?.target;
}

/** Those of the record first, then those that it does not name. */
function comparedTargets(
  recorded: RecordedDecision | undefined, evaluation: Evaluation | undefined,
): readonly ComparedTarget[] {
  const now = new Map(evaluation?.targets.map((evaluated) => [evaluated.target, evaluated]));
  const named = new Map<string, ComparedTarget['before']>(recorded && [
    [recorded.target, { answer: 'chosen', why: `score ${recorded.score.toFixed(3)}` }],
    ...recorded.rejected.map(({ target, reason }) => [target, { answer: 'no', why: reason }] as const),
  ]);
  const all = [...named.keys(), ...[...now.keys()].filter((target) => !named.has(target))];
  return all.map((target) => comparedTarget(target, named.get(target), now.get(target)));
}

function comparedTarget(
  target: string, before: ComparedTarget['before'], evaluated: TargetEvaluation | undefined,
): ComparedTarget {
  if (evaluated === undefined) return { target, before };
  const { answer, score, rejections } = evaluated;
  const now = {
    answer, why: score === undefined ? rejections.map(({ reason, message }) => `${reason}: ${message}`).join('; ')
      : `score ${score.toFixed(3)}`,
  };
  if (before === undefined) return { target, now };
  const isSame = before.answer === answer
    && (answer !== 'no' || rejections.some(({ reason }) => reason === before.why));
  return { target, before, now, isSame };
}
