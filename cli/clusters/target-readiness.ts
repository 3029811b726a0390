// After peering: waits for the target's Ready condition, written by the source's running Isthmus.
import type { TargetStatus } from '../../api/kinds/cluster-target.ts';
import type { Condition, KubernetesObject } from '../../api/objects/core.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { CLUSTER_TARGETS, TARGETS } from '../../api/resource-types.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import type { Peering } from '../../peering/access/target-access.ts';
import { pollUntil, type Polling } from './poll-until.ts';

/** The last observed status. */
export type Readiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'not-ready'; readonly reason: string; readonly message: string }
  /** It has no status: Isthmus does not run in the source. */
  | { readonly kind: 'not-running' };

type TargetWithStatus = KubernetesObject & { readonly status?: TargetStatus };

/** Timeouts until a status exists at all, and until it is Ready. */
export interface ReadinessTimeouts {
  readonly firstStatus: Polling;
  readonly ready: Polling;
}

const POLLING: ReadinessTimeouts =
  { firstStatus: { forMs: 10_000, everyMs: 200 }, ready: { forMs: 15_000, everyMs: 200 } };

/**
 * Waits at most 25 s until the target is Ready, at most 10 s for a first status: Isthmus may be starting. Throws what
 * {@link ClusterClient.get} throws.
 */
export async function untilTargetReady(
  source: ClusterClient, peering: Peering, signal: AbortSignal, polling = POLLING,
): Promise<Readiness> {
  const type: ResourceType<TargetWithStatus> = peering.namespace === undefined ? CLUSTER_TARGETS : TARGETS;
  const at = { namespace: peering.namespace, name: peering.name };
  const read = async (): Promise<Condition | undefined> => {
    const { metadata, status } = await source.get(type, at, signal);
    return readyCondition(status, metadata.generation);
  };
  const first = await pollUntil(read, polling.firstStatus, signal);
  if (first === undefined) return { kind: 'not-running' };
  if (first.status === 'True') return { kind: 'ready' };
  let last = first;
  const becomesReady = async (): Promise<true | undefined> => {
    last = (await read()) ?? last;
    return last.status === 'True' || undefined;
  };
  if (await pollUntil(becomesReady, polling.ready, signal)) return { kind: 'ready' };
  return { kind: 'not-ready', reason: last.reason ?? 'Unknown', message: last.message ?? '' };
}

/** The Ready condition, unless it is for an older generation. */
export function readyCondition(status: TargetStatus | undefined, generation: number | undefined): Condition
  | undefined {
  const condition = findCondition(status?.conditions, 'Ready');
  if (
    condition?.observedGeneration !== undefined && generation !== undefined && condition.observedGeneration < generation
  ) return undefined;
  return condition;
}
