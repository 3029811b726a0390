// What the lists keep of an elected pod: a slim record, since a cluster may have ten thousands.
import type { ObjectMeta, Pod, StringMap } from '../../api/objects/core.ts';
import { PLACEMENT_ANNOTATION, TARGET_ANNOTATION } from '../../api/objects/keys.ts';
import { statusOf } from '../../cli/get/pod-table.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { shortTargetName } from '../../model/naming/target-ref.ts';
import { controllerOf, isTerminal } from '../../model/pod/pod.ts';
import { targetsLostAtPlacement } from '../../model/proxy/lost-at-placement.ts';
import { userLabels } from '../../model/proxy/admission-record.ts';
import { containersOf, waitReasonOf, type WaitReason } from '../pod/wait-reason.ts';
import type { PodRow } from '../wire/screens.ts';

/** Twenty targets with the longest names and reasons; anyone who may change a pod could make it larger. */
const LONGEST_RECORD = 4_096;

/** A pod of a list. */
export interface SeenPod extends PodRow {
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly nodeName?: string | undefined;
  /** Why it waits; missing for a pod that runs or has ended. */
  readonly waits?: WaitReason | undefined;
  /** Those that selectors match. */
  readonly labels: StringMap;
  /** Targets that were lost when it was placed, as `Kind/name`; missing where nothing would replace it. */
  readonly lostTargets?: readonly string[] | undefined;
  /** The scheduler's record of its decision; '' for one that is longer than any of the scheduler's. */
  readonly record?: string | undefined;
  /** When it was bound. */
  readonly boundAt?: string | undefined;
}

/** The record of a pod. */
export function toSeenPod(pod: Pod): SeenPod {
  const { namespace = '', name = '', uid = '', creationTimestamp = '', annotations } = pod.metadata;
  const [containers, bound] = [containersOf(pod), annotations?.[TARGET_ANNOTATION]];
  const waits = waitReasonOf(pod);
  return {
    key: `${namespace}/${name}`, namespace, name, uid, createdAt: creationTimestamp,
    status: statusOf(pod),
    isReady: findCondition(pod.status?.conditions, 'Ready')?.status === 'True',
    restarts: containers.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    target: bound === undefined ? undefined : shortTargetName(bound),
    nodeName: pod.spec.nodeName,
    workload: workloadOf(pod.metadata),
    problem: waits?.reason ?? problemOf(pod),
    waits, labels: userLabels(pod.metadata),
    lostTargets: controllerOf(pod.metadata) === undefined ? undefined : targetsLostAtPlacement(pod.metadata),
    record: recordOf(pod.metadata), boundAt: boundAt(pod),
  };
}

function recordOf({ annotations }: ObjectMeta): string | undefined {
  const record = annotations?.[PLACEMENT_ANNOTATION];
  return record !== undefined && record.length > LONGEST_RECORD ? '' : record;
}

function boundAt({ spec, status }: Pod): string | undefined {
  const { status: isScheduled, lastTransitionTime } = findCondition(status?.conditions, 'PodScheduled') ?? {};
  return spec.nodeName !== undefined && isScheduled === 'True' ? lastTransitionTime : undefined;
}

/** A ReplicaSet of a Deployment has the Deployment's name and the hash of its template. */
function workloadOf(metadata: ObjectMeta): string {
  const owner = controllerOf(metadata);
  if (owner === undefined) return `Pod/${metadata.name ?? ''}`;
  const suffix = `-${metadata.labels?.['pod-template-hash'] ?? ''}`;
  const isDeployments = owner.kind === 'ReplicaSet' && suffix !== '-' && owner.name.endsWith(suffix);
  return isDeployments ? `Deployment/${owner.name.slice(0, -suffix.length)}` : `${owner.kind}/${owner.name}`;
}

function problemOf(pod: Pod): string | undefined {
  if (isTerminal(pod.status?.phase)) return undefined; // after a failed init container the others wait on
  const stopped = containersOf(pod).find(({ state, ready }) => ready !== true && state?.waiting?.reason !== undefined);
  return stopped?.state?.waiting?.reason;
}
