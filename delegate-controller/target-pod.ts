// A pod of the target as its own controllers remember it: enough for capacity, and the status of delegates.
import type { Pod, PodPhase, PodStatus } from '../api/core.ts';
import { controllerOf, isBound, isTerminal, isTerminating, objectKey } from '../model/pod.ts';
import { podRequests } from '../model/pod-requests.ts';
import { digestOf, mirroredStatus } from '../model/pod-status.ts';
import type { ResourceAmounts } from '../model/resources.ts';

/** What is remembered of any pod in the target. */
export interface TargetPod {
  readonly key: string;
  readonly uid: string;
  readonly phase: PodPhase;
  readonly terminating: boolean;
  /** Node it holds capacity on; missing while it has none, and once it has ended. */
  readonly occupies?: { readonly nodeName: string; readonly requests: ResourceAmounts };
  /** UID of the chaperon it was made from. */
  readonly chaperonUid?: string;
  /** Of delegates only: what the chaperon is to show. */
  readonly status?: PodStatus;
  readonly statusDigest?: string;
}

/** The record of a pod. */
export function toTargetPodRecord(pod: Pod): TargetPod {
  const phase = pod.status?.phase ?? 'Pending';
  const owner = controllerOf(pod.metadata);
  const status = mirroredStatus(pod.status ?? {});
  return {
    key: objectKey(pod.metadata),
    uid: pod.metadata.uid ?? '',
    phase,
    terminating: isTerminating(pod),
    ...(isBound(pod) && !isTerminal(phase) && { occupies: { nodeName: pod.spec.nodeName ?? '', requests: podRequests(pod.spec) } }),
    ...(owner?.kind === 'PodChaperon' && { chaperonUid: owner.uid, status, statusDigest: digestOf(status) }),
  };
}
