// Score weights: the installation's, overridden by policies, overridden by the pod's annotation.
import { MAX_WEIGHT, SCORE_NAMES, type ScoreName } from '../../api/kinds/placement-policy.ts';

/** Weight of each score, from 0 (ignored) to 100. */
export type ScoreWeights = Readonly<Record<ScoreName, number>>;

/**
 * Default weights. `preferredAffinity` and `spread` apply only to pods with such preferences; their weights are
 * kube-scheduler's (default plugin configuration v1.36: NodeAffinity, InterPodAffinity and PodTopologySpread 2,
 * NodeResourcesFit 1).
 */
export const DEFAULT_WEIGHTS: ScoreWeights = {
  leastAllocated: 1,
  mostAllocated: 0, balanced: 0, gpuForGpuPods: 0, preferredAffinity: 2, spread: 2, rtt: 0, cost: 0, locality: 0,
};

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
    if (weight === undefined || more.length > 0 || !isWeight(weight)) return {
      kind: 'invalid', message: `the weight of ${name} must be a number from 0 to ${MAX_WEIGHT}, as in ${name}=1`,
    };
  }
  return { kind: 'weights', weights: Object.fromEntries(entries.map(([name, weight]) => [name, Number(weight)])) };
}

/** Whether a text is the name of a score. */
export function isScoreName(name: string): name is ScoreName {
  return SCORE_NAMES.some((known) => known === name);
}

function isWeight(text: string): boolean {
  return /^\d+(?:\.\d+)?$/.test(text) && Number(text) <= MAX_WEIGHT;
}

/** Combines weights; later ones override earlier ones. */
export function mergeWeights(...layers: readonly (Partial<ScoreWeights> | undefined)[]): ScoreWeights {
  return layers.reduce<ScoreWeights>((merged, layer) => ({ ...merged, ...layer }), DEFAULT_WEIGHTS);
}
