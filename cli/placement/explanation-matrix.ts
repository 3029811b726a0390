// An explanation as a table: a row for each target, a column for each check and score, so that one glance shows what
// speaks against which target.
import type { Explanation, ExplainedTarget } from '../../scheduler/explain/explain.ts';
import { textTable } from '../output/text-table.ts';
import { outcomeLines, rejectionLines } from './explanation-text.ts';

const ANSWERS = { 'passes': '✓', 'no': '✗', 'not-asked': '-' } as const;
/** A rejected target has no scores. */
const NO_SCORE = '-';

/** The outcome, the table, and what each target that is out would have to change. */
export function explanationMatrix(explanation: Explanation): string {
  const { targets } = explanation;
  const reasons = targets.flatMap((target) => {
    const lines = rejectionLines(target);
    return lines.length === 0 ? [] : [target.target, ...lines];
  });
  return [
    ...outcomeLines(explanation), ...(targets.length === 0 ? [] : ['', table(explanation)]),
    ...(reasons.length === 0 ? [] : ['', ...reasons]),
  ].join('\n');
}

function table({ targets, chosen }: Explanation): string {
  const filters = askedFilters(targets);
  const scores = targets.find((target) => target.scores !== undefined)?.scores ?? [];
  return textTable(
    ['TARGET', ...filters, ...scores.map(({ name, weight }) => `${name}×${weight}`), 'SCORE'],
    targets.map(({ target, checks, scores: own, score }) => [
      `${target === chosen ? '→ ' : ''}${target}`,
      ...filters.map((filter) => ANSWERS[checks.find((check) => check.filter === filter)?.answer ?? 'not-asked']),
      ...scores.map(({ name }) => rounded(own?.find((each) => each.name === name)?.score)), rounded(score),
    ]),
  );
}

/** The filters that apply to the pod, in the order in which they are asked. */
function askedFilters([first, ...others]: readonly ExplainedTarget[]): readonly string[] {
  const isEvaluated = (filter: string) => [first, ...others].some(
    (target) => target?.checks.some((check) => check.filter === filter && check.answer !== 'not-asked'),
  );
  return first?.checks.map(({ filter }) => filter).filter(isEvaluated) ?? [];
}

function rounded(score: number | undefined): string {
  return score?.toFixed(3) ?? NO_SCORE;
}
