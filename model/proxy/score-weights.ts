// Weights of scores as text: the annotation on a pod, the option of `isthmus run`.
import { MAX_WEIGHT, SCORE_NAMES, type ScoreName } from '../../api/kinds/placement-policy.ts';

/** Weight of each score, from 0 (ignored) to 100. */
export type ScoreWeights = Readonly<Record<ScoreName, number>>;

/** Parsed weights, or what is wrong with them. */
export type ParsedWeights = { readonly kind: 'weights'; readonly weights: Partial<ScoreWeights> }
  | { readonly kind: 'invalid'; readonly message: string };

/** Parses `cost=2,leastAllocated=0`, the form of the annotation and of the option of `isthmus run`. */
export function parseWeights(text: string): ParsedWeights {
  const entries = text.split(',').map((part) => part.trim()).filter((part) => part !== '').map(
    (part) => part.split('=').map((side) => side.trim()),
  );
  for (const [name = '', weight, ...more] of entries) {
    if (!isScoreName(name)) return {
      kind: 'invalid', message: `there is no score ${JSON.stringify(name)}; there are ${SCORE_NAMES.join(', ')}`,
    };
    const isWeight = /^\d+(?:\.\d+)?$/.test(weight ?? '') && Number(weight) <= MAX_WEIGHT;
    if (more.length > 0 || !isWeight) return {
      kind: 'invalid', message: `the weight of ${name} must be a number from 0 to ${MAX_WEIGHT}, as in ${name}=1`,
    };
  }
  return { kind: 'weights', weights: Object.fromEntries(entries.map(([name, weight]) => [name, Number(weight)])) };
}

/** Whether a text is the name of a score. */
export function isScoreName(name: string): name is ScoreName {
  return SCORE_NAMES.some((known) => known === name);
}
