// An explanation as text: the outcome, then the filters and scores of each target.
import type { Explanation, ExplainedTarget } from '../../scheduler/explain/explain.ts';

const BY: Readonly<Record<Exclude<NonNullable<Explanation['margin']>['by'], 'score'>, string>> = {
  'tier': 'its tier comes first',
  'capacity-now': 'it has free capacity now, the other only after a scale-up',
  'share': 'its replica share is further behind',
  'name': 'both are equal, and its name sorts first',
};

/** An explanation as text. `wide` shows every check and score. */
export function explanationText(explanation: Explanation, wide: boolean): string {
  return [...outcomeLines(explanation), '', ...explanation.targets.flatMap(
    (target) => targetLines(target, explanation.chosen, wide),
  )].join('\n');
}

/** Where the pod goes and what decided, or the smallest change that would admit it. */
export function outcomeLines({ chosen, targets, margin, smallestChange }: Explanation): string[] {
  if (chosen === undefined) {
    const first = targets.length === 0
      ? 'There is no target for this namespace.'
      : `None of ${targets.length} targets can take the pod.`;
    return smallestChange === undefined
      ? [first]
      : [first, `Smallest change that would place it in ${smallestChange.target}:`, ...smallestChange.changes.map(
        (change) => `  - ${change}`,
      )];
  }
  if (margin === undefined) return [`${chosen} is the only target that can take the pod.`];
  const by = margin.by === 'score' ? ` by ${round(margin.score)}` : `: ${BY[margin.by]}`;
  return [`${chosen} leads ${margin.over}${by}.`];
}

/** What speaks against a target. */
export function rejectionLines({ checks }: ExplainedTarget): string[] {
  return checks.flatMap(
    (check) => (check.answer === 'no' ? [`  ✗ ${check.filter}: ${check.reason}: ${check.message}`] : []),
  );
}

function targetLines(explained: ExplainedTarget, chosen: string | undefined, wide: boolean): string[] {
  const { target, checks, scores, score, tier = 0, afterScaleUp = false } = explained;
  const noes = rejectionLines(explained);
  const notes = [...(tier > 0 ? [`tier ${tier + 1}`] : []), ...(afterScaleUp ? ['after scale-up'] : [])];
  const firstLine = score === undefined
    ? target
    : `${target === chosen ? '→ ' : ''}${target}  score ${[round(score), ...notes].join(', ')}`;
  if (!wide) return [firstLine, ...noes];
  const passed = checks.flatMap(({ filter, answer }) => (answer === 'passes' ? [filter] : []));
  const parts = (scores ?? []).map(({ name, weight, score: value }) => `  ${name} ${round(value)} × ${weight}`);
  return [firstLine, ...(passed.length > 0 ? [`  ✓ ${passed.join(', ')}`] : []), ...noes, ...parts];
}

function round(value: number): string {
  return value.toFixed(3);
}
