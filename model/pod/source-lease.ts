// The contract between source and target about failover (ADR 0020): the pods it applies to, and the times of the
// SourceLease after which a target stops them. Keys and users call that fencing (`failover: Fenced`,
// `FENCE_ANNOTATION`); it is not kubernetes/flow/fence.ts, which keeps a former leader from writing.
import { FENCE_ANNOTATION } from '../../api/objects/keys.ts';
import type { ObjectMeta } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';

/** Default duration of a SourceLease, in seconds. */
export const SOURCE_LEASE_SECONDS = 120;
/** Default grace period of a pod (`core/v1` PodSpec.terminationGracePeriodSeconds). */
const GRACE_SECONDS = 30;

/** Name of the SourceLease of a source, in each namespace that needs one. */
export function leaseName(sourceId: string): string {
  return `source-${sourceId}`;
}

/** Renewal interval of a lease with this duration, in ms. */
export function renewalMs(durationSeconds: number): number {
  return (durationSeconds * 1_000) / 6;
}

/** Time that a source allows the target's controller to restart and to stop pods, in addition to the lease, in ms. */
export function marginMs(durationSeconds: number): number {
  return (durationSeconds * 1_000) / 2;
}

/**
 * Minimum time that a restarted target controller waits for a renewal, whatever its predecessor has stored, in ms: a
 * live source renews within it.
 */
export function minRenewalWaitMs(durationSeconds: number): number {
  return (durationSeconds * 1_000) / 4;
}

/** The chaperon of a pod that may fail over after its target has stopped it. */
export function withFailover(chaperon: PodChaperon): PodChaperon {
  const { metadata, spec } = chaperon;
  const seconds = spec.terminationGracePeriodSeconds ?? GRACE_SECONDS;
  return {
    ...chaperon,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [FENCE_ANNOTATION]: String(seconds) } },
  };
}

/** Grace period in seconds of such a pod; undefined for a pod that waits for its target. */
export function failoverGraceSecondsOf({ annotations }: ObjectMeta): number | undefined {
  const text = annotations?.[FENCE_ANNOTATION] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
