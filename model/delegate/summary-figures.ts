// What a ClusterSummary says apart from when it was published. A target renews its summary every minute; with a
// thousand targets most that arrive say nothing new.
import { isDeepStrictEqual } from 'node:util';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { KubernetesObject } from '../../api/objects/core.ts';

type Figure = Exclude<keyof ClusterSummary, keyof KubernetesObject | 'observed'>;

/** By name, so that a field that is missing here is an error of types: a change of it would be taken for a renewal. */
const EACH_FIGURE: Readonly<Record<Figure, true>> = {
  capacity: true, allocatable: true, free: true, largestFree: true, gpus: true, commonLabels: true, nodeGroups: true,
  reduced: true, shares: true,
};
const FIGURES = Object.keys(EACH_FIGURE) as readonly Figure[];
const SETTINGS = ['labels', 'annotations'] as const;

/**
 * `after`, with those parts of `before` that are equal: then {@link isRenewal} is cheap, and the new copy of what is
 * known already can be forgotten at once.
 */
export function withKnownFigures(before: ClusterSummary | undefined, after: ClusterSummary): ClusterSummary {
  if (before === undefined) return after;
  return {
    ...after, ...knownOf(before, after, FIGURES),
    metadata: { ...after.metadata, ...knownOf(before.metadata, after.metadata, SETTINGS) },
  };
}

function knownOf<T extends object, K extends keyof T>(before: T, after: T, names: readonly K[]): Pick<T, K> {
  const equal = names.filter((name) => before[name] !== undefined && isDeepStrictEqual(before[name], after[name]));
  return Object.fromEntries(equal.map((name) => [name, before[name]])) as Pick<T, K>;
}

/**
 * Whether a summary only renews another one: the same figures, labels and annotations, which {@link withKnownFigures}
 * has made the same objects. Times and versions may differ.
 */
export function isRenewal(before: ClusterSummary | undefined, after: ClusterSummary | undefined): boolean {
  return before !== undefined && after !== undefined && FIGURES.every((name) => before[name] === after[name])
    && SETTINGS.every((name) => before.metadata[name] === after.metadata[name]);
}
