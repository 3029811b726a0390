// The part of a pod's status that a target may tell a source. What a target sends is data: known fields only (design §8).
import { createHash } from 'node:crypto';
import type { PodStatus } from '../api/core.ts';

const MIRRORED_FIELDS = [
  'phase',
  'conditions',
  'message',
  'reason',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
] as const satisfies readonly (keyof PodStatus)[];

/** The fields of a status that feedback copies, in a fixed order. Nominated nodes and QoS belong to each cluster itself. */
export function mirroredStatus(status: PodStatus): PodStatus {
  const mirrored: Record<string, unknown> = {};
  for (const field of MIRRORED_FIELDS) {
    if (status[field] !== undefined) mirrored[field] = status[field];
  }
  return mirrored;
}

/** A short text that is equal for equal statuses. Both sides were printed by an API server, so equal content has equal text. */
export function digestOf(status: PodStatus): string {
  return createHash('sha1').update(JSON.stringify(status)).digest('base64');
}
