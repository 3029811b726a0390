// Pod groups, such as the workers of one training run. A group is named on its pods; there is no object for it.
import {
  POD_GROUP_LABEL, POD_GROUP_MIN_COUNT_ANNOTATION, COSCHEDULING_POD_GROUP_LABEL,
} from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';

/** The group that a pod belongs to, within its namespace. */
export interface PodGroup {
  readonly name: string;
  /** Minimum number of pods that are placed together, or none. */
  readonly minCount: number;
}

/** The group that a pod's metadata names. */
export type PodGroupReading =
  | { readonly kind: 'none' }
  | { readonly kind: 'group'; readonly group: PodGroup }
  /** `message` says what to change. */
  | { readonly kind: 'invalid'; readonly message: string };

/** Maximum number of pods in one decision. */
const MOST_MEMBERS = 1_000;

/** Parses a pod's group. A name without a count, as with the Coscheduling plugin and its own object, does not make a
 * group. */
export function readPodGroup({ labels = {}, annotations = {} }: ObjectMeta): PodGroupReading {
  const name = labels[POD_GROUP_LABEL] ?? labels[COSCHEDULING_POD_GROUP_LABEL];
  const text = annotations[POD_GROUP_MIN_COUNT_ANNOTATION];
  if (text === undefined) return { kind: 'none' };
  if (name === undefined) return {
    kind: 'invalid',
    message: `annotation ${POD_GROUP_MIN_COUNT_ANNOTATION} needs label ${POD_GROUP_LABEL} with the name of the group`,
  };
  const minCount = Number(text);
  if (/^\d+$/.test(text) && minCount >= 1 && minCount <= MOST_MEMBERS) {
    return { kind: 'group', group: { name, minCount } };
  }
  return {
    kind: 'invalid',
    message:
      `annotation ${POD_GROUP_MIN_COUNT_ANNOTATION} must be an integer from 1 to ${MOST_MEMBERS}, not "${text}"`,
  };
}

/** The group of a pod; undefined when it has none or an invalid one, which admission rejects. */
export function podGroupOf(metadata: ObjectMeta): PodGroup | undefined {
  const reading = readPodGroup(metadata);
  return reading.kind === 'group' ? reading.group : undefined;
}
