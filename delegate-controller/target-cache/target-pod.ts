// A pod of the target as its own controllers remember it: enough for capacity, and the status of delegates.
import { CARRIED_CHANGES_ANNOTATION, RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { OwnerReference, Pod, PodPhase, PodStatus } from '../../api/objects/core.ts';
import { controllerOf, isBound, isTerminal, isTerminating, objectKey } from '../../model/pod/pod.ts';
import { podRequests } from '../../model/pod/pod-requests.ts';
import { SHARED, type FieldsOf } from '../../model/objects/fields.ts';
import { digestOf, mirroredStatus } from '../../model/pod/pod-status.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';

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
  /** Of delegates that go: seconds that their containers have to stop; 0 once they have stopped, or nobody waits for them. */
  readonly graceSeconds?: number;
  /** Of delegates that must not run again, while they are held: all finalizers, in this version. */
  readonly held?: { readonly finalizers: readonly string[]; readonly resourceVersion: string };
  /** Of delegates only: what was changed of the running pod, as its annotation says. */
  readonly carried?: string;
  /** Of delegates only: what the chaperon is to show. */
  readonly status?: PodStatus;
  readonly statusDigest?: string;
}

const WHOLE_STATUS = true;
const ONLY_PHASE = { phase: SHARED } as const;

/** What {@link toTargetPodRecord} reads: of a cluster's own pods hardly anything. */
export const TARGET_POD_FIELDS: FieldsOf<Pod> = {
  metadata: {
    namespace: SHARED, name: true, uid: true, resourceVersion: true, deletionTimestamp: true, ownerReferences: { kind: SHARED, uid: SHARED, controller: true },
    deletionGracePeriodSeconds: true, finalizers: true, annotations: { [CARRIED_CHANGES_ANNOTATION]: true },
  },
  spec: { nodeName: SHARED, overhead: SHARED, resources: SHARED, initContainers: { resources: SHARED, restartPolicy: SHARED }, containers: { resources: SHARED } },
  status: (others) => (chaperonOf(others as Pick<Pod, 'metadata'>) === undefined ? ONLY_PHASE : WHOLE_STATUS),
};

function chaperonOf({ metadata }: Pick<Pod, 'metadata'>): OwnerReference | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === 'PodChaperon' ? owner : undefined;
}

/** The record of a pod; `key` is its `namespace/name`, given where it is known already. */
export function toTargetPodRecord(pod: Pod, key = objectKey(pod.metadata)): TargetPod {
  const phase = pod.status?.phase ?? 'Pending';
  const chaperon = chaperonOf(pod);
  return {
    key,
    uid: pod.metadata.uid ?? '',
    phase,
    terminating: isTerminating(pod),
    ...(isBound(pod) && !isTerminal(phase) && { occupies: { nodeName: pod.spec.nodeName ?? '', requests: podRequests(pod.spec) } }),
    ...(chaperon !== undefined && { chaperonUid: chaperon.uid, ...statusOf(pod), ...endOf(pod) }),
  };
}

function statusOf(pod: Pod): Pick<TargetPod, 'status' | 'statusDigest'> {
  const status = mirroredStatus(pod.status ?? {});
  return { status, statusDigest: digestOf(status) };
}

function endOf({ metadata: { finalizers = [], resourceVersion = '', deletionGracePeriodSeconds, annotations } }: Pod): Pick<TargetPod, 'graceSeconds' | 'held' | 'carried'> {
  const carried = annotations?.[CARRIED_CHANGES_ANNOTATION];
  return {
    ...(carried !== undefined && { carried }),
    ...(deletionGracePeriodSeconds !== undefined && { graceSeconds: deletionGracePeriodSeconds }),
    ...(finalizers.includes(RUN_ONCE_FINALIZER) && { held: { finalizers, resourceVersion } }),
  };
}
