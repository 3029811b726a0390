// A plan as text. Pure.
import { explanationText } from '../placement/explanation-text.ts';
import type { PlannedPod } from './plan-simulation.ts';

/** One line per target with its number of pods, and one explanation per group of pending pods with the same reasons. */
export function planText(planned: readonly PlannedPod[], skipped: readonly string[], wide: boolean): string {
  const lines = [...new Set(planned.map((pod) => outcomeOf(pod, wide)))].map((outcome) => {
    const alike = planned.filter((pod) => outcomeOf(pod, wide) === outcome);
    return `${alike.length} ${alike.length === 1 ? 'pod' : 'pods'} ` +
      `(${alike[0]?.pod ?? ''}${alike.length > 1 ? ', …' : ''}) ${outcome}`;
  });
  const placed = planned.filter(({ kind }) => kind === 'placed').length;
  const sum = planned.length === 0 ? 'No pod is elected.' : `${placed} of ${planned.length} pods would be placed.`;
  return [sum, ...lines, ...skipped].join('\n');
}

function outcomeOf(pod: PlannedPod, wide: boolean): string {
  if (pod.kind === 'denied') return `would be denied: ${pod.message}`;
  if (pod.kind === 'local') return `would run in this cluster: ${pod.message}`;
  if (pod.kind === 'waits') return `would wait: ${explanationText(pod.explanation, wide)}`;
  const notes =
    [...(pod.afterSeconds > 0 ? [`after ${pod.afterSeconds} s`] : []), ...(pod.afterScaleUp ? ['after scale-up'] : [])];
  return `→ ${pod.target}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}
