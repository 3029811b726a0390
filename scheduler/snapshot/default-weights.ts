// Built-in score weights. `--score-weights` overrides them, policies override that, and the pod's annotation both.
import type { ScoreWeights } from '../../model/proxy/score-weights.ts';

/**
 * Default weights. `preferredAffinity` and `spread` apply only to pods with such preferences; their weights are
 * kube-scheduler's (default plugin configuration v1.36: NodeAffinity, InterPodAffinity and PodTopologySpread 2,
 * NodeResourcesFit 1).
 */
export const DEFAULT_WEIGHTS: ScoreWeights = {
  leastAllocated: 1,
  mostAllocated: 0, balanced: 0, gpuForGpuPods: 0, preferredAffinity: 2, spread: 2, rtt: 0, cost: 0, locality: 0,
};

/** Combines weights; later ones override earlier ones. */
export function mergeWeights(...layers: readonly (Partial<ScoreWeights> | undefined)[]): ScoreWeights {
  return layers.reduce<ScoreWeights>((merged, layer) => ({ ...merged, ...layer }), DEFAULT_WEIGHTS);
}
