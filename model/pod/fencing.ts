// What a source and a target agree on about fencing (ADR 0020): which pods it concerns, and the times of a SourceLease.
import { FENCE_ANNOTATION } from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';

/** How long a renewal of a SourceLease holds unless told otherwise, in seconds. */
export const LEASE_SECONDS = 120;
/** How long containers get to stop unless their pod says so (`core/v1` PodSpec.terminationGracePeriodSeconds). */
const GRACE_SECONDS = 30;

/** Name of the SourceLease of a source, in each namespace that needs one. */
export function leaseName(sourceId: string): string {
  return `source-${sourceId}`;
}

/** How often a lease of this duration is renewed, in ms. */
export function renewalMs(durationSeconds: number): number {
  return (durationSeconds * 1_000) / 6;
}

/** What a source gives the target's controller to restart and to stop pods, beside the lease itself, in ms. */
export function marginMs(durationSeconds: number): number {
  return (durationSeconds * 1_000) / 2;
}

/** How long a target's controller waits for a renewal at least, whatever its predecessor has noted, in ms: a source that lives renews in it. */
export function returnMs(durationSeconds: number): number {
  return (durationSeconds * 1_000) / 4;
}

/** The chaperon of a pod that may be moved once its target has stopped it. */
export function fencedChaperon(chaperon: PodChaperon): PodChaperon {
  const { metadata, spec } = chaperon;
  const seconds = spec.terminationGracePeriodSeconds ?? GRACE_SECONDS;
  return { ...chaperon, metadata: { ...metadata, annotations: { ...metadata.annotations, [FENCE_ANNOTATION]: String(seconds) } } };
}

/** Seconds that the containers of such a pod may take to stop; undefined for one that waits for its target. */
export function fenceSecondsOf({ annotations }: ObjectMeta): number | undefined {
  const text = annotations?.[FENCE_ANNOTATION] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
