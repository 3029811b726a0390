// A pod of the target as its own controllers cache it: what capacity needs, and the status of delegates.
import { SENT_CHANGES_ANNOTATION, RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { OwnerReference, Pod, PodPhase, PodStatus } from '../../api/objects/core.ts';
import { controllerOf, isBound, isTerminal, isTerminating, objectKey } from '../../model/pod/pod.ts';
import { heldRequests } from '../../model/pod/pod-requests.ts';
import { SHARED, type FieldsOf } from '../../model/objects/fields.ts';
import { digestOf, copiedStatus } from '../../model/pod/pod-status.ts';
import type { ResourceAmounts } from '../../model/resources/resources.ts';

/** The cached fields of any pod in the target. */
export interface TargetPod {
  readonly key: string;
  readonly uid: string;
  readonly phase: PodPhase;
  readonly terminating: boolean;
  /** Node whose capacity it uses; missing before it is scheduled and after it has terminated. */
  readonly occupies?: { readonly nodeName: string; readonly requests: ResourceAmounts };
  /** UID of the chaperon that it was made from. */
  readonly chaperonUid?: string;
  /**
   * Of terminating delegates: the grace period in seconds; 0 after the containers have stopped, or when no kubelet
   * waits for them.
   */
  readonly graceSeconds?: number;
  /** Of delegates that must not run again, while they have our finalizer: all finalizers, and this version. */
  readonly runOnceFinalizer?: { readonly finalizers: readonly string[]; readonly resourceVersion: string };
  /** Of delegates only: the changes of the running pod, as annotated. */
  readonly appliedChanges?: string;
  /** Of delegates only: the status that the chaperon should show. */
  readonly status?: PodStatus;
  readonly statusDigest?: string;
}

const WHOLE_STATUS = true;
const ONLY_PHASE = { phase: SHARED } as const;
const HELD = { resources: SHARED, allocatedResources: SHARED } as const;
const HELD_BY_NAME = { name: SHARED, ...HELD } as const;
/** What a pod that may have been resized holds. */
const PHASE_AND_HELD = {
  phase: SHARED, conditions: { type: SHARED, reason: SHARED }, containerStatuses: HELD_BY_NAME,
  initContainerStatuses: HELD_BY_NAME, ...HELD,
} as const;

/** The fields that {@link toTargetPodRecord} reads; of a cluster's own pods hardly any. */
export const TARGET_POD_FIELDS: FieldsOf<Pod> = {
  metadata: {
    namespace: SHARED, name: true, uid: true, generation: true,
    resourceVersion: true, deletionTimestamp: true, ownerReferences: { kind: SHARED, uid: SHARED, controller: true },
    deletionGracePeriodSeconds: true, finalizers: true, annotations: { [SENT_CHANGES_ANNOTATION]: true },
  },
  spec: {
    nodeName: SHARED, overhead: SHARED, resources: SHARED,
    initContainers: { name: SHARED, resources: SHARED, restartPolicy: SHARED },
    containers: { name: SHARED, resources: SHARED },
  },
  status: (others) => statusFields(others as Pick<Pod, 'metadata'>),
};

function statusFields(pod: Pick<Pod, 'metadata'>): typeof WHOLE_STATUS | typeof ONLY_PHASE | typeof PHASE_AND_HELD {
  if (chaperonOf(pod) !== undefined) return WHOLE_STATUS;
  return (pod.metadata.generation ?? 0) > 1 ? PHASE_AND_HELD : ONLY_PHASE;
}

function chaperonOf({ metadata }: Pick<Pod, 'metadata'>): OwnerReference | undefined {
  const owner = controllerOf(metadata);
  return owner?.kind === 'PodChaperon' ? owner : undefined;
}

/** The record of a pod; `key` is its `namespace/name` if known already. */
export function toTargetPodRecord(pod: Pod, key = objectKey(pod.metadata)): TargetPod {
  const phase = pod.status?.phase ?? 'Pending';
  const chaperon = chaperonOf(pod);
  return {
    key,
    uid: pod.metadata.uid ?? '',
    phase,
    terminating: isTerminating(pod),
    ...(isBound(pod) && !isTerminal(phase) && {
      occupies: { nodeName: pod.spec.nodeName ?? '', requests: heldRequests(pod) },
    }),
    ...(chaperon !== undefined && { chaperonUid: chaperon.uid, ...statusOf(pod), ...endOf(pod) }),
  };
}

function statusOf(pod: Pod): Pick<TargetPod, 'status' | 'statusDigest'> {
  const status = copiedStatus(pod.status ?? {});
  return { status, statusDigest: digestOf(status) };
}

function endOf(
  { metadata: { finalizers = [], resourceVersion = '', deletionGracePeriodSeconds, annotations } }: Pod,
): Pick<TargetPod, 'graceSeconds' | 'runOnceFinalizer' | 'appliedChanges'> {
  const appliedChanges = annotations?.[SENT_CHANGES_ANNOTATION];
  return {
    ...(appliedChanges !== undefined && { appliedChanges }),
    ...(deletionGracePeriodSeconds !== undefined && { graceSeconds: deletionGracePeriodSeconds }),
    ...(finalizers.includes(RUN_ONCE_FINALIZER) && { runOnceFinalizer: { finalizers, resourceVersion } }),
  };
}
