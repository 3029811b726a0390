// A source's cached records of delegate pods and PodChaperons in a target. In Pod mode the delegate pod represents
// both.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import {
  SENT_CHANGES_ANNOTATION, EXPIRED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION, TARGET_KEY_ANNOTATION,
  PARENT_NAMESPACE_ANNOTATION, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL, POD_MISSING_SINCE_ANNOTATION,
  RUN_ONCE_FINALIZER, SPEC_AT_BIND_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { ObjectMeta, Pod, PodStatus, StringMap } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { findCondition } from '../objects/conditions.ts';
import { confirmBefore } from './confirmation.ts';
import { failoverGraceSecondsOf } from '../pod/source-lease.ts';
import { copyableAnnotations } from '../proxy/copied-annotations.ts';
import { readSentChanges, type SentChanges } from '../pod/live-changes.ts';
import { controllerOf, isTerminal, objectKey } from '../pod/pod.ts';
import { expectShape } from '../objects/schema-check.ts';
import { SharedValues } from '../objects/shared-values.ts';
import { REPORTED_POD_SHAPE } from './target-answer-shapes.ts';

/** Reason of the PodScheduled condition when the target's API server rejected the delegate pod. */
export const DELEGATE_REJECTED = 'DelegateRejected';

/**
 * The target's verdict on a candidate: none yet, held by a scheduling gate that the target's admission added,
 * nominated for a node where pods of lower priority are being stopped for it, scheduled, or rejected.
 */
export type Verdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'scheduling-gated'; readonly reason: string; readonly message: string }
  | { readonly kind: 'nominated' }
  | { readonly kind: 'scheduled' }
  | { readonly kind: 'rejected'; readonly reason: string; readonly message: string };

/** The record of a delegate pod. */
export interface DelegatePod {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly parentUid: string;
  /** `namespace/name` of the proxy pod. */
  readonly parentKey: string;
  readonly terminating: boolean;
  readonly verdict: Verdict;
  readonly status: PodStatus;
  /** Generation of its spec. */
  readonly generation?: number;
  /** The state of the proxy that the user's changes have brought its spec to; missing when there were none. */
  readonly changedTo?: string;
  /** Annotations that are not ours. */
  readonly annotations: StringMap;
  /** Key of the target that it was created through, if known. */
  readonly targetKey?: string;
  /** In Pod mode: its record as a chaperon. */
  readonly asChaperon?: Chaperon;
}

/**
 * The record of the object that a source created in a target for a pod: a PodChaperon or, in Pod mode, the delegate
 * pod.
 */
export interface Chaperon {
  readonly mode: DelegationMode;
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly parentUid: string;
  readonly parentKey: string;
  /** Creation time by the target's clock, in ms since the epoch. */
  readonly createdAt: number;
  readonly terminating: boolean;
  /** Key of the target that it was created through, if known. */
  readonly targetKey?: string;
  /** Terminal status of its delegate, once it has one; the delegate itself may be gone by then. */
  readonly ended?: PodStatus;
  /** Requested grace period of its delegate in seconds, if not its own. */
  readonly graceSeconds?: number;
  /** Digests of the spec of the proxy pod that it was made of. */
  readonly specDigests?: string;
  /** The user's changes of the running pod that were sent here. */
  readonly sentChanges?: SentChanges;
  /**
   * In Pod mode, for a pod that must not run again: its finalizers and version, until its terminal status is stored.
   */
  readonly runOnceFinalizer?: { readonly finalizers: readonly string[]; readonly resourceVersion: string };
  /** Grace period in seconds with which the target stops the delegate when it has lost the source. */
  readonly failoverGraceSeconds?: number;
  /** Deadline of its confirmation, by the target API server's clock, in ms since the epoch. */
  readonly confirmBefore?: number;
  /** It was not confirmed in time, and its delegate was stopped. */
  readonly expired?: { readonly mayRunAgain: boolean };
  /** The delegate existed and was deleted in the target, not by its source. */
  readonly podMissing: boolean;
  readonly verdict: Verdict;
}

/**
 * The record of a delegate pod; undefined when it has no parent. Throws TypeError for an object without the shape of a
 * pod.
 */
export function toDelegatePodRecord(
  pod: Pod, key = objectKey(pod.metadata), shared = new SharedValues(),
): DelegatePod | undefined {
  expectShape(pod, REPORTED_POD_SHAPE);
  const parent = parentOf(pod.metadata);
  if (parent === undefined) return undefined;
  const isPodMode = controllerOf(pod.metadata)?.kind !== 'PodChaperon';
  const status = shared.texts(pod.status ?? {});
  return {
    key,
    uid: pod.metadata.uid ?? '',
    resourceVersion: pod.metadata.resourceVersion ?? '',
    parentUid: parent.uid,
    parentKey: parent.key,
    terminating: pod.metadata.deletionTimestamp !== undefined,
    verdict: verdictOf(status),
    status,
    ...generationOf(pod.metadata),
    annotations: shared.value(copyableAnnotations(pod.metadata)),
    ...targetKeyOf(pod.metadata, shared),
    ...(isPodMode && { asChaperon: toPodModeChaperon({ ...pod, status }, { key, parent, shared }) }),
  };
}

function generationOf({ generation, annotations }: ObjectMeta): Pick<DelegatePod, 'generation' | 'changedTo'> {
  const changes = readSentChanges(annotations?.[SENT_CHANGES_ANNOTATION]);
  return {
    ...(generation !== undefined && { generation }), ...(changes !== undefined && { changedTo: changes.of }),
  };
}

function toPodModeChaperon(pod: Pod, known: Known): Chaperon {
  const { deletionGracePeriodSeconds: graceSeconds, finalizers = [], resourceVersion = '' } = pod.metadata;
  return toRecord(pod, known, {
    mode: 'Pod',
    ...(isTerminal(pod.status?.phase) && { ended: pod.status ?? {} }),
    ...(graceSeconds !== undefined && { graceSeconds }),
    ...(finalizers.includes(RUN_ONCE_FINALIZER) && { runOnceFinalizer: { finalizers, resourceVersion } }),
  });
}

/**
 * The record of a PodChaperon; undefined when it has no parent. Throws TypeError for an object without the shape of
 * one.
 */
export function toChaperonRecord(
  chaperon: PodChaperon, key = objectKey(chaperon.metadata), shared = new SharedValues(),
): Chaperon | undefined {
  const { metadata } = expectShape(chaperon, REPORTED_POD_SHAPE);
  const parent = parentOf(metadata);
  if (parent === undefined) return undefined;
  const failoverGraceSeconds = failoverGraceSecondsOf(metadata);
  return toRecord(chaperon, { key, parent, shared }, {
    mode: 'PodChaperon', ...endOf(chaperon), ...(failoverGraceSeconds !== undefined && { failoverGraceSeconds }),
    ...confirmationOf(chaperon),
  });
}

function confirmationOf({ metadata, spec }: PodChaperon): Pick<Chaperon, 'confirmBefore' | 'expired'> {
  const before = confirmBefore(metadata);
  const isExpired = metadata.annotations?.[EXPIRED_AT_ANNOTATION] !== undefined;
  return {
    ...(before !== undefined && { confirmBefore: before }),
    ...(isExpired && { expired: { mayRunAgain: (spec.restartPolicy ?? 'Always') === 'Always' } }),
  };
}

/**
 * The fields that every record has come first and by name: then V8 gives all records one hidden class. With a class
 * each they take a kilobyte more.
 */
function toRecord(
  { metadata, status = {} }: PodChaperon | Pod, { key, parent, shared }: Known,
  { mode, ...own }: Pick<Chaperon, 'mode'> & Partial<Chaperon>,
): Chaperon {
  const { annotations = {} } = metadata;
  const sentChanges = readSentChanges(annotations[SENT_CHANGES_ANNOTATION]);
  return {
    mode,
    key,
    namespace: shared.text(metadata.namespace ?? ''),
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    parentUid: parent.uid,
    parentKey: parent.key,
    createdAt: Date.parse(metadata.creationTimestamp ?? ''),
    terminating: metadata.deletionTimestamp !== undefined,
    podMissing: mode === 'PodChaperon' && annotations[POD_MISSING_SINCE_ANNOTATION] !== undefined,
    verdict: verdictOf(status),
    ...targetKeyOf(metadata, shared),
    ...specDigestsOf(annotations, shared),
    ...(sentChanges !== undefined && { sentChanges }),
    ...own,
  };
}

/** Longer digests than those of any pod are none: they go into the Binding, and a target may have changed them. */
const LONGEST_DIGESTS = 16_384;

function specDigestsOf(annotations: StringMap, shared: SharedValues): Pick<Chaperon, 'specDigests'> {
  const specDigests = annotations[SPEC_AT_BIND_ANNOTATION];
  const isKnown = specDigests !== undefined && specDigests.length <= LONGEST_DIGESTS;
  return isKnown ? { specDigests: shared.text(specDigests) } : {};
}

function targetKeyOf({ annotations }: ObjectMeta, shared: SharedValues): Pick<Chaperon, 'targetKey'> {
  const targetKey = annotations?.[TARGET_KEY_ANNOTATION];
  return targetKey === undefined ? {} : { targetKey: shared.text(targetKey) };
}

function endOf({ metadata, status = {} }: PodChaperon): Pick<Chaperon, 'ended' | 'graceSeconds'> {
  const grace = metadata.annotations?.[GRACE_PERIOD_ANNOTATION];
  return {
    ...(isTerminal(status.phase) && { ended: status }), ...(grace !== undefined && { graceSeconds: Number(grace) }),
  };
}

/** Reason of the condition PodScheduled of a pod with a scheduling gate. */
export const SCHEDULING_GATED = 'SchedulingGated';
const SCHEDULED: Verdict = { kind: 'scheduled' };
const PENDING: Verdict = { kind: 'pending' };
/** Claims of ephemeral volumes are made, and bound, after kube-scheduler has looked (`plugins/volumebinding`). */
const AWAITS_CLAIM = /waiting for ephemeral volume controller|unbound immediate PersistentVolumeClaims/;

/**
 * The target's verdict from the PodScheduled condition. A pod that runs or ran was scheduled, whatever the condition
 * says.
 */
function verdictOf(status: PodStatus): Verdict {
  if (status.phase !== undefined && status.phase !== 'Pending') return SCHEDULED;
  const condition = findCondition(status.conditions ?? [], 'PodScheduled');
  if (condition === undefined) return PENDING;
  if (condition.status === 'True') return SCHEDULED;
  const { reason = '', message = '' } = condition;
  // a queue of the target, such as Kueue, removes the gate
  if (reason === SCHEDULING_GATED) return { kind: 'scheduling-gated', reason, message };
  // SchedulerError and the like are transient states of the target's scheduler, not its verdict.
  const isVerdict = reason === 'Unschedulable' ? !AWAITS_CLAIM.test(message) : reason === DELEGATE_REJECTED;
  if (!isVerdict) return PENDING;
  // withdrawn now, it would leave a gap, and the pods that were stopped for it would take it again
  return isNominated(status) ? { kind: 'nominated' } : { kind: 'rejected', reason, message };
}

function isNominated({ nominatedNodeName = '' }: PodStatus): boolean {
  return nominatedNodeName !== '';
}

/** What is known of an object before its record is made. */
interface Known {
  readonly key: string;
  readonly parent: Parent;
  readonly shared: SharedValues;
}

/** The proxy pod of an object in a target; the key is `namespace/name`. */
interface Parent {
  readonly uid: string;
  readonly key: string;
}

function parentOf(metadata: ObjectMeta): Parent | undefined {
  const uid = metadata.labels?.[PARENT_UID_LABEL];
  const name = metadata.annotations?.[PARENT_NAME_ANNOTATION];
  const namespace = metadata.annotations?.[PARENT_NAMESPACE_ANNOTATION];
  if (uid === undefined || name === undefined || namespace === undefined) return undefined;
  return { uid, key: objectKey({ namespace, name }) };
}
