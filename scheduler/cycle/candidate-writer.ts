// A candidate as a target's caches show it, and the call that creates one.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import type { Pod } from '../../api/objects/core.ts';
import { PARENT_UID_LABEL } from '../../api/objects/keys.ts';
import type { ResourceType } from '../../api/objects/group-version.ts';
import { isAlreadyExists, isNotFound, type ApiError } from '../../kubernetes/flow/api-error.ts';
import { outcomeOf } from '../../kubernetes/http/call-outcome.ts';
import type { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { createPod } from '../../kubernetes/client/create-pod.ts';
import { NotLeaderError } from '../../kubernetes/flow/fence.ts';
import type { TargetCluster } from '../../targets/target-cluster.ts';
import type { TargetClusters } from '../../targets/target-clusters.ts';
import { CONFIRM_MARGIN_MS } from '../../model/delegate/confirmation.ts';
import type { Chaperon, DelegatePod } from '../../model/delegate/cached-delegate.ts';
import { DELEGATIONS } from '../../model/delegate/delegation.ts';
import { isTerminal } from '../../model/pod/pod.ts';
import type { ProxyPod } from '../../model/proxy/proxy-pod.ts';
import { messageOf } from '../../process/errors.ts';
import type { Candidate } from './placement.ts';
import type { PodState } from './pod-state.ts';
import { toRejection, type Rejection } from '../snapshot/rejection.ts';

/** What a target's caches contain of a pod; `unknown` until the target has been listed. */
export function findCandidate(
  target: Pick<TargetCluster, 'session' | 'owns'>, proxy: Pick<ProxyPod, 'key' | 'uid'>,
): Pick<Candidate, 'chaperon' | 'delegate'> | 'nothing' | 'unknown' {
  const { session } = target;
  if (!session?.hasSynced) return 'unknown';
  const found = session.find(proxy);
  const made = found.chaperon ?? found.delegate;
  return made === undefined || !target.owns(made) ? 'nothing' : found;
}

/** The state of a candidate that its target's objects do not show. */
export function candidateStateOf(chaperon: Chaperon | undefined, { target, podState, now }: {
  readonly target: TargetCluster; readonly podState: PodState; readonly now: number
}): Pick<Candidate, 'deletion' | 'isAbandoned' | 'isCloseToDeadline'> {
  const deletion = podState.deletionOf(target.key, chaperon?.uid);
  const isAbandoned = podState.abandonedIn.has(target.key);
  return {
    ...(deletion !== undefined && { deletion }), ...(isAbandoned && { isAbandoned }),
    ...(isCloseToDeadline(target, chaperon, now) && { isCloseToDeadline: true }),
  };
}

/** Whether a candidate that needs a confirmation could only be confirmed after its deadline. */
function isCloseToDeadline({ session }: TargetCluster, chaperon: Chaperon | undefined, now: number): boolean {
  const before = chaperon?.confirmBefore;
  return before !== undefined && (session?.client.transport.clock.latest(now) ?? Infinity) > before - CONFIRM_MARGIN_MS;
}

/**
 * Targets that may have a candidate that nobody sees: it was sent there and the session is being reopened, or an
 * earlier process may have sent it. In the latter case `observed` are the targets that have been observed since.
 */
export function unobservedTargets(
  targets: TargetClusters, podState: PodState, observed: ReadonlySet<string> | undefined,
): string[] {
  // one of many targets for most pods: looking at all of them is for pods that an earlier process may have sent
  const possible =
    observed !== undefined ? targets.all() : [...podState.targets].flatMap((key) => targets.get(key) ?? []);
  const unobserved = [...possible].filter(({ key, ref, session }) => {
    if (session?.hasSynced === true && observed?.has(key) !== false) return false;
    return podState.targets.has(key) || targets.object(ref)?.status.clusterID !== undefined;
  }).map(({ key }) => key);
  podState.isKnownEverywhere ||= observed !== undefined && unobserved.length === 0;
  return unobserved;
}

/** Whether a delegate has terminated permanently. */
export function hasEnded(delegate: DelegatePod | undefined): boolean {
  return isTerminal(delegate?.status.phase);
}

/** How long a candidate may wait for a connection before another target is tried, in ms. */
const CONNECTION_TIMEOUT_MS = 1_200;
/**
 * The same after a create whose outcome is unknown, when no other target may be tried: a slow target needs time to
 * answer.
 */
const RETRY_CONNECTION_TIMEOUT_MS = 15_000;

/** How long a create may wait for a connection, in ms. */
export function connectionTimeoutMs(isRetry: boolean): number {
  return isRetry ? RETRY_CONNECTION_TIMEOUT_MS : CONNECTION_TIMEOUT_MS;
}

/** The target of a candidate, and the delegation mode. */
export interface CandidateHost {
  readonly client: ClusterClient;
  readonly mode: DelegationMode;
  readonly isRetry?: boolean;
}

/** Outcome of a create. */
export type CandidateAnswer =
  /** The chaperon exists; `resourceVersion` is the target's. */
  | { readonly kind: 'created'; readonly resourceVersion: number }
  /** It certainly does not exist: the target rejected it, or was not asked (`unreachable`). */
  | { readonly kind: 'rejected' | 'unreachable'; readonly rejection: Rejection };

/**
 * Creates a candidate. Retrying is safe: the name is derived from the proxy's UID, so there is never a second one.
 * `isRetry` says that the outcome of an earlier create is unknown: then neither a rejection nor a timeout proves that
 * none exists. @throws the error of the call when its outcome is unknown; the pod must then stay with this target.
 */
export async function createCandidate(
  { client, mode, isRetry = false }: CandidateHost, chaperon: PodChaperon, signal: AbortSignal,
): Promise<CandidateAnswer> {
  const { type, toObject } = DELEGATIONS[mode];
  try {
    const created = mode === 'Pod'
      ? await createPod(client, toObject(chaperon) as Pod, signal)
      : await client.metadataOnly().create(type, toObject(chaperon), signal);
    return { kind: 'created', resourceVersion: Number(created.metadata.resourceVersion) };
  } catch (error) {
    if (isAlreadyExists(error)) return adopt(client, type, chaperon, signal);
    const outcome = error instanceof NotLeaderError ? 'unknown' : outcomeOf(error);
    if (outcome === 'unknown' || (isRetry && outcome === 'not-sent')) throw error;
    if (outcome === 'not-sent') return {
      kind: 'unreachable', rejection: { reason: 'Unreachable', message: `it cannot be reached: ${messageOf(error)}` },
    };
    const rejected =
      { kind: 'rejected', rejection: toRejection(error as ApiError, chaperon.metadata.namespace ?? '') } as const;
    return isRetry ? adopt(client, type, chaperon, signal).catch(instead(isNotFound, rejected)) : rejected;
  }
}

function instead<T>(expected: (thrown: unknown) => boolean, value: T): (thrown: unknown) => T {
  return (thrown) => {
    if (expected(thrown)) return value;
    throw thrown;
  };
}

/** A chaperon of this name that belongs to this pod is the requested one: an earlier response was lost. */
async function adopt(
  client: ClusterClient, type: ResourceType, chaperon: PodChaperon, signal: AbortSignal,
): Promise<CandidateAnswer> {
  const { namespace, name = '', labels } = chaperon.metadata;
  const { metadata } = await client.get(type, { namespace, name }, signal);
  if (metadata.labels?.[PARENT_UID_LABEL] === labels?.[PARENT_UID_LABEL]) {
    return { kind: 'created', resourceVersion: Number(metadata.resourceVersion) };
  }
  return {
    kind: 'rejected',
    rejection: {
      reason: 'NameCollision',
      message: `a ${type.kind} ${name} that does not belong to this pod exists there; delete it`,
    },
  };
}
