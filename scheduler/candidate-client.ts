// A candidate as it is seen in a target, and the one call by which it comes to be there.
import type { DelegationMode } from '../api/cluster-target.ts';
import type { PodChaperon } from '../api/pod-chaperon.ts';
import { PARENT_UID_LABEL } from '../api/keys.ts';
import type { ResourceType } from '../api/resource-types.ts';
import { ApiError, isAlreadyExists, isNotFound, isRejection } from '../kubernetes/api-error.ts';
import type { ClusterClient } from '../kubernetes/cluster-client.ts';
import type { TargetCluster } from '../kubernetes/target-cluster.ts';
import { DELEGATIONS } from '../model/delegation.ts';
import type { ProxyPod } from '../model/proxy-pod.ts';
import type { Candidate } from './placement.ts';
import type { Rejection } from './snapshot.ts';

/** What a target's collections hold of a pod; nothing can be said of a target that has not been listed yet. */
export function findCandidate(target: Pick<TargetCluster, 'session' | 'holds'>, proxy: Pick<ProxyPod, 'key' | 'uid'>): Pick<Candidate, 'chaperon' | 'delegate'> | 'nothing' | 'unknown' {
  const { session } = target;
  if (!session?.hasSynced) return 'unknown';
  const found = session.find(proxy);
  const made = found.chaperon ?? found.delegate;
  return made === undefined || !target.holds(made) ? 'nothing' : found;
}

/** Where a candidate is made, and in which way. */
export interface CandidateHost {
  readonly client: ClusterClient;
  readonly mode: DelegationMode;
}

/** What the target answered. */
export type CandidateAnswer =
  /** The chaperon is there; `resourceVersion` is the target's. */
  | { readonly kind: 'created'; readonly resourceVersion: number }
  /** The target will not have it. */
  | { readonly kind: 'refused'; readonly refusal: Rejection };

/**
 * Creates a candidate. Asking again is safe: the name is a function of the proxy's UID, so there is never a second one.
 * @throws what the call threw when nobody knows whether it was done; the pod must then stay with this target.
 */
export async function createCandidate({ client, mode }: CandidateHost, chaperon: PodChaperon, signal: AbortSignal): Promise<CandidateAnswer> {
  const delegation = DELEGATIONS[mode];
  try {
    const created = await client.create(delegation.type, delegation.toObject(chaperon), signal);
    return { kind: 'created', resourceVersion: Number(created.metadata.resourceVersion) };
  } catch (error) {
    if (isAlreadyExists(error)) return adopt(client, delegation.type, chaperon, signal);
    const refusal = toRefusal(error, chaperon.metadata.namespace ?? '');
    if (refusal === undefined) throw error;
    return { kind: 'refused', refusal };
  }
}

/** A chaperon of this name that is ours is the one that was asked for: an earlier answer was lost. */
async function adopt(client: ClusterClient, type: ResourceType, chaperon: PodChaperon, signal: AbortSignal): Promise<CandidateAnswer> {
  const { namespace, name = '', labels } = chaperon.metadata;
  const { metadata } = await client.get(type, { namespace, name }, signal);
  if (metadata.labels?.[PARENT_UID_LABEL] === labels?.[PARENT_UID_LABEL]) return { kind: 'created', resourceVersion: Number(metadata.resourceVersion) };
  return { kind: 'refused', refusal: { reason: 'NameCollision', message: `a ${type.kind} ${name} that is not this pod's exists there; delete it` } };
}

/** What the user is told when a target does not accept a candidate; undefined when the outcome is unknown. */
export function toRefusal(error: unknown, namespace: string): Rejection | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (isNotFound(error) && error.message.includes('namespaces')) {
    return { reason: 'NamespaceMissing', message: `namespace ${namespace} does not exist there; create it in the target cluster` };
  }
  if (isNotFound(error)) return { reason: 'NotInstalled', message: 'it does not serve PodChaperons; run "isthmus install" there' };
  if (isRejection(error)) return { reason: error.reason === '' ? 'Refused' : error.reason, message: error.message };
  // Throttled or overloaded: such requests were not begun.
  return error.status === 429 || error.status === 503 ? { reason: 'Overloaded', message: error.message } : undefined;
}
