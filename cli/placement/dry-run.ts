// Asks a target whether it would take a pod, by a dry run of what the scheduler would create there: namespaces,
// permissions, quotas and admission of the target are its own, and nothing else knows them. Nothing is stored.
import type { Pod } from '../../api/objects/core.ts';
import { DELEGATIONS } from '../../model/delegate/delegation.ts';
import { toPodChaperon } from '../../model/delegate/pod-chaperon.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { ApiError, isAlreadyExists } from '../../kubernetes/flow/api-error.ts';
import { outcomeOf } from '../../kubernetes/http/call-outcome.ts';
import { toRejection, type Rejection } from '../../scheduler/snapshot/rejection.ts';
import type { LiveState } from './live-state.ts';

/** Timeout of a question in ms. */
const ASK_MS = 5_000;

/** A pod as the source has it, and as it was before admission. */
export interface PodToExplain {
  readonly proxy: Pick<ProxyPod, 'namespace' | 'name' | 'uid' | 'labels'>;
  readonly sourcePod: Pod;
}

/** Why a target would reject the pod; undefined when it would take it, or does not say. */
export async function rejectionOf(
  live: LiveState, target: string, { proxy, sourcePod }: PodToExplain, signal: AbortSignal,
): Promise<Rejection | undefined> {
  const session = live.sessions.get(target)?.session;
  if (session?.mode === undefined) return undefined;
  const { type, toObject } = DELEGATIONS[session.mode];
  const { namespace, name, uid, labels } = proxy;
  const chaperon = toPodChaperon(sourcePod, { clusterId: live.sourceId, namespace, name, uid, labels });
  try {
    await session.client.withoutRateLimit(ASK_MS).dryRunCreate(type, toObject(chaperon), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const isRejected = error instanceof ApiError && !isAlreadyExists(error) && outcomeOf(error) === 'not-done';
    return isRejected ? toRejection(error, namespace) : undefined;
  }
}
