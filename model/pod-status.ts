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

/** The merge patch after which an object shows this mirrored status and nothing older: fields that it lacks are taken away. */
export function toStatusPatch(mirrored: PodStatus): Readonly<Record<string, unknown>> {
  return Object.fromEntries(MIRRORED_FIELDS.map((field) => [field, mirrored[field] ?? null]));
}

/**
 * A short text that is equal for equal statuses. The order of fields does not count, nor a field that is null: an API server prints
 * a pod's fields in the order of its Go struct, with null for times that were never set, and a custom resource's sorted, without.
 */
export function digestOf(status: PodStatus): string {
  return createHash('sha1').update(JSON.stringify(status, withSortedFields)).digest('base64');
}

function withSortedFields(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
