// What a source remembers of a delegate pod and of its PodChaperon in a target. A delegate pod that the source made itself stands for both.
import type { DelegationMode } from '../../api/kinds/cluster-target.ts';
import { CARRIED_CHANGES_ANNOTATION, EXPIRED_AT_ANNOTATION, GRACE_PERIOD_ANNOTATION, MADE_THROUGH_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_NAME_ANNOTATION, PARENT_UID_LABEL, POD_MISSING_SINCE_ANNOTATION, RUN_ONCE_FINALIZER } from '../../api/objects/keys.ts';
import type { ObjectMeta, Pod, PodStatus, StringMap } from '../../api/objects/core.ts';
import type { PodChaperon } from '../../api/kinds/pod-chaperon.ts';
import { findCondition } from '../objects/conditions.ts';
import { confirmBefore } from './confirmation.ts';
import { fenceSecondsOf } from '../pod/fencing.ts';
import { foreignAnnotations } from '../proxy/foreign-annotations.ts';
import { readCarried, type CarriedChanges } from '../pod/live-changes.ts';
import { controllerOf, isTerminal, objectKey } from '../pod/pod.ts';
import { expectShape } from '../objects/schema-check.ts';
import { TOLD_POD } from './target-answer-shapes.ts';

/** Reason of the PodScheduled condition when the target's API server refused the delegate pod. */
export const DELEGATE_REJECTED = 'DelegateRejected';

/** What the target says about a candidate: no word yet, it is held back by a gate that the target's own admission made, it has a node, or no. */
export type Verdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'gated'; readonly reason: string; readonly message: string }
  | { readonly kind: 'scheduled' }
  | { readonly kind: 'refused'; readonly reason: string; readonly message: string };

/** A delegate pod as its source remembers it. */
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
  /** Those that are not ours. */
  readonly annotations: StringMap;
  /** Key of the target that it was made through, where that is known. */
  readonly through?: string;
  /** Of one that no chaperon made: what it is besides, as if there were a chaperon. */
  readonly direct?: Chaperon;
}

/** What a source has made in a target to have a pod run there, as the source remembers it: a PodChaperon, or the delegate pod itself. */
export interface Chaperon {
  readonly mode: DelegationMode;
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly parentUid: string;
  readonly parentKey: string;
  /** When it was created by the target's clock, in ms since the epoch. */
  readonly createdAt: number;
  readonly terminating: boolean;
  /** Key of the target that it was made through, where that is known. */
  readonly through?: string;
  /** How its delegate ended, once it has: the delegate itself may be gone by then. */
  readonly ended?: PodStatus;
  /** Seconds that its delegate was told to stop within, where not its own. */
  readonly graceSeconds?: number;
  /** What the user has changed of the running pod and was carried here. */
  readonly carried?: CarriedChanges;
  /** Of a pod that must not run again and was made by the source: what keeps it until its end is known, in this version. */
  readonly held?: { readonly finalizers: readonly string[]; readonly resourceVersion: string };
  /** Its target stops the delegate when it has lost the source: seconds that the containers may take to stop. */
  readonly fenceSeconds?: number;
  /** Until when the target waits for it to be confirmed, by its API server's clock, in ms since the epoch. */
  readonly confirmBefore?: number;
  /** It was not confirmed in time, and its delegate stopped. */
  readonly expired?: { readonly mayRunAgain: boolean };
  /** The delegate was there and has gone without us. */
  readonly podMissing: boolean;
  readonly verdict: Verdict;
}

/** The record of a delegate pod, or undefined when it has no parent. Throws TypeError for what has not the shape of a pod. */
export function toDelegatePodRecord(pod: Pod): DelegatePod | undefined {
  expectShape(pod, TOLD_POD);
  const parent = parentOf(pod.metadata);
  if (parent === undefined) return undefined;
  const isDirect = controllerOf(pod.metadata)?.kind !== 'PodChaperon';
  return {
    key: objectKey(pod.metadata),
    uid: pod.metadata.uid ?? '',
    resourceVersion: pod.metadata.resourceVersion ?? '',
    parentUid: parent.uid,
    parentKey: parent.key,
    terminating: pod.metadata.deletionTimestamp !== undefined,
    verdict: verdictOf(pod.status ?? {}),
    status: pod.status ?? {},
    annotations: foreignAnnotations(pod.metadata),
    ...throughOf(pod.metadata),
    ...(isDirect && { direct: toDirectRecord(pod, parent) }),
  };
}

function toDirectRecord(pod: Pod, parent: Parent): Chaperon {
  const { deletionGracePeriodSeconds: graceSeconds, finalizers = [], resourceVersion = '' } = pod.metadata;
  return {
    ...madeFields(pod, parent),
    mode: 'Pod',
    ...(isTerminal(pod.status?.phase) && { ended: pod.status ?? {} }),
    ...(graceSeconds !== undefined && { graceSeconds }),
    ...(finalizers.includes(RUN_ONCE_FINALIZER) && { held: { finalizers, resourceVersion } }),
    podMissing: false,
  };
}

/** The record of a PodChaperon, or undefined when it has no parent. Throws TypeError for what has not the shape of one. */
export function toChaperonRecord(chaperon: PodChaperon): Chaperon | undefined {
  const { metadata } = expectShape(chaperon, TOLD_POD);
  const parent = parentOf(metadata);
  if (parent === undefined) return undefined;
  const podMissing = metadata.annotations?.[POD_MISSING_SINCE_ANNOTATION] !== undefined;
  const fenceSeconds = fenceSecondsOf(metadata);
  return { ...madeFields(chaperon, parent), mode: 'PodChaperon', ...endOf(chaperon), ...(fenceSeconds !== undefined && { fenceSeconds }), ...confirmationOf(chaperon), podMissing };
}

function confirmationOf({ metadata, spec }: PodChaperon): Pick<Chaperon, 'confirmBefore' | 'expired'> {
  const before = confirmBefore(metadata);
  const isExpired = metadata.annotations?.[EXPIRED_AT_ANNOTATION] !== undefined;
  return { ...(before !== undefined && { confirmBefore: before }), ...(isExpired && { expired: { mayRunAgain: (spec.restartPolicy ?? 'Always') === 'Always' } }) };
}

function madeFields({ metadata, status = {} }: PodChaperon | Pod, parent: Parent): Omit<Chaperon, 'mode' | 'podMissing'> {
  const carried = readCarried(metadata.annotations?.[CARRIED_CHANGES_ANNOTATION]);
  return {
    key: objectKey(metadata),
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    parentUid: parent.uid,
    parentKey: parent.key,
    createdAt: Date.parse(metadata.creationTimestamp ?? ''),
    terminating: metadata.deletionTimestamp !== undefined,
    verdict: verdictOf(status),
    ...throughOf(metadata),
    ...(carried !== undefined && { carried }),
  };
}

function throughOf({ annotations }: ObjectMeta): Pick<Chaperon, 'through'> {
  const through = annotations?.[MADE_THROUGH_ANNOTATION];
  return through === undefined ? {} : { through };
}

function endOf({ metadata, status = {} }: PodChaperon): Pick<Chaperon, 'ended' | 'graceSeconds'> {
  const grace = metadata.annotations?.[GRACE_PERIOD_ANNOTATION];
  return { ...(isTerminal(status.phase) && { ended: status }), ...(grace !== undefined && { graceSeconds: Number(grace) }) };
}

/** The target's word as its PodScheduled condition states it. A pod that runs or ran was scheduled, whatever the condition says. */
function verdictOf(status: PodStatus): Verdict {
  if (status.phase !== undefined && status.phase !== 'Pending') return { kind: 'scheduled' };
  const condition = findCondition(status.conditions ?? [], 'PodScheduled');
  if (condition === undefined) return { kind: 'pending' };
  if (condition.status === 'True') return { kind: 'scheduled' };
  const { reason = '', message = '' } = condition;
  if (reason === 'SchedulingGated') return { kind: 'gated', reason, message }; // a queue of the target, Kueue's say, opens it when it is its turn
  // SchedulerError and the like are passing states of the target's scheduler, not its word.
  return ['Unschedulable', DELEGATE_REJECTED].includes(reason) ? { kind: 'refused', reason, message } : { kind: 'pending' };
}

/** The proxy pod that something in a target was made for; the key is `namespace/name`. */
interface Parent {
  readonly uid: string;
  readonly key: string;
}

function parentOf(metadata: ObjectMeta): Parent | undefined {
  const uid = metadata.labels?.[PARENT_UID_LABEL];
  const name = metadata.annotations?.[PARENT_NAME_ANNOTATION];
  const namespace = metadata.annotations?.[PARENT_NAMESPACE_ANNOTATION];
  return uid === undefined || name === undefined || namespace === undefined ? undefined : { uid, key: `${namespace}/${name}` };
}
