// A proxy pod as the scheduler and the feedback controller cache it: a slim record instead of the whole object.
import {
  ADOPTED_DELEGATE_ANNOTATION, BOUND_IN_GROUP_ANNOTATION, DELEGATE_CONDITIONS_ANNOTATION, DELEGATE_FINALIZER,
  SOURCE_MANIFEST_ANNOTATION,
} from '../../api/objects/keys.ts';
import type { Condition, ObjectMeta, Pod, PodPhase, PodSpec, StringMap } from '../../api/objects/core.ts';
import type { PodAffinityTerm } from '../../api/objects/affinity.ts';
import {
  hasAdmissionRecord, LABELS_OF_NODES, restoreSourcePod, userLabels, type RestoredPod,
} from './admission-record.ts';
import { findCondition } from '../objects/conditions.ts';
import { parsedJson, textsIn } from '../objects/json-values.ts';
import { controllerOf, isBound, isSchedulingGated, isProxyPod, isTerminating, objectKey } from '../pod/pod.ts';
import { failoverGraceSecondsOf } from '../pod/source-lease.ts';
import { copyableAnnotations, copiedAnnotationKeys } from './copied-annotations.ts';
import {
  readinessConditionsOf, specChangesOf, specDigests, type LiveChanges, type ReadinessConditions,
} from '../pod/live-changes.ts';
import { targetsLostAtPlacement } from './lost-at-placement.ts';
import { podGroupOf, type PodGroup } from '../pod/pod-group.ts';
import { podNeeds, type PodNeeds } from '../pod/pod-needs.ts';
import { PODS } from '../../api/resource-types.ts';
import { deletion, type Command, type Plan } from '../objects/plan.ts';
import { SharedValues } from '../objects/shared-values.ts';
import { digestOf, copiedStatus, sourceConditions } from '../pod/pod-status.ts';
import { traceOf, type TraceContext } from './trace.ts';

/** Constraints on the cluster of a proxy pod; the webhook has set them in the proxy's spec. */
export type ClusterConstraints =
  Pick<PodSpec, 'nodeSelector' | 'tolerations' | 'affinity' | 'topologySpreadConstraints'>;

/** The cached fields of a proxy pod. */
export interface ProxyPod {
  /** `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Creation time, in ms since the epoch. */
  readonly createdAt: number;
  /** Higher is scheduled first. */
  readonly priority: number;
  readonly phase: PodPhase;
  /** Virtual node that it is bound to. */
  readonly nodeName?: string;
  readonly terminating: boolean;
  /**
   * Terminating with a grace period above 0: the API server keeps the pod until a kubelet deletes it with grace period
   * 0, and virtual nodes have no kubelet, so Isthmus has to do it.
   */
  readonly isGracefulDeletion: boolean;
  /** Grace period in seconds of the delete request; missing where the delegate's own applies. */
  readonly graceSeconds?: number;
  /** Has a scheduling gate, so it must not be scheduled yet. */
  readonly schedulingGated: boolean;
  readonly finalizers: readonly string[];
  /** Labels except our own: affinity, spread and policies select by them. */
  readonly labels: StringMap;
  /** UID of the controlling owner, such as a ReplicaSet: replicas are counted by it. */
  readonly controllerUid?: string;
  /** Its controller replaces a deleted pod by one with another name, as a ReplicaSet or Job does. */
  readonly isReplaceable?: boolean;
  /** The pod group that it is placed with. */
  readonly group?: PodGroup;
  /** It was bound as a pod of that group. */
  readonly isBoundInGroup?: true;
  /** Its required anti-affinity, which also applies to later pods. */
  readonly antiAffinity?: readonly PodAffinityTerm[];
  /** Constraints on its cluster; only until the pod is bound. */
  readonly constraints?: ClusterConstraints;
  /** Objects that must follow it to its target. */
  readonly needs: PodNeeds;
  /** The stored pod as JSON, as far as its source pod needs it; only until the binding. */
  readonly stored?: string;
  /** Its trace context; only until the binding, and with tracing. */
  readonly trace?: TraceContext;
  /** Its PodScheduled condition; only until the binding. */
  readonly podScheduled?: Condition;
  /** Generation of its spec, where the API server counts them. */
  readonly generation?: number;
  /** Names of all its containers; only after the binding. */
  readonly containers?: readonly string[];
  /** Conditions that controllers of the source may set; only after the binding. */
  readonly ownConditions?: readonly Condition[];
  /** Types of those that were copied from the delegate. */
  readonly copiedConditions?: readonly string[];
  /** Digests of the mutable parts of its spec; only until the binding. */
  readonly specDigests?: string;
  /** The user's changes of its spec since the binding. */
  readonly changes?: LiveChanges;
  /** Conditions that its readiness gates name; missing without any. */
  readonly readinessConditions?: ReadinessConditions;
  /** Types of the conditions that its readiness gates name; missing without any. */
  readonly readinessGateTypes?: readonly string[];
  /**
   * After the binding: grace period in seconds with which the target stops its delegate when it has lost the source.
   */
  readonly failoverGraceSeconds?: number;
  /** After the binding: keys of targets that were lost when it was placed. */
  readonly lostTargets?: readonly string[];
  /** After the binding: Admiralty created it, and it is not adopted yet, so it is ignored. */
  readonly isOwnedByAdmiralty?: true;
  /** Of an adopted one: name of its delegate, which is not derived from its UID. */
  readonly adoptedDelegate?: string;
  /** Annotations that are not ours; only after the binding. */
  readonly annotations?: StringMap;
  /** Keys of those that were copied from the delegate. */
  readonly copiedAnnotations?: readonly string[];
  /** Digest of the copied status; only after the binding; see {@link digestOf}. */
  readonly statusDigest?: string;
}

/**
 * The record of a pod; undefined when it is not a proxy pod. The fields that every record has come first and by name:
 * then V8 gives all records of a sort one hidden class. With a class each they take a kilobyte more.
 */
export function toProxyPodRecord(
  pod: Pod, key = objectKey(pod.metadata), shared = new SharedValues(),
): ProxyPod | undefined {
  if (!isProxyPod(pod)) return undefined;
  const { metadata, spec, status } = pod;
  const { namespace, name, uid, resourceVersion, finalizers } = identityOf(metadata);
  return {
    key,
    namespace: shared.text(namespace),
    name,
    uid,
    resourceVersion,
    createdAt: Date.parse(metadata.creationTimestamp ?? ''),
    priority: spec.priority ?? 0,
    phase: status?.phase ?? 'Pending',
    terminating: isTerminating(pod),
    isGracefulDeletion: graceSecondsOf(metadata) > 0,
    schedulingGated: isSchedulingGated(pod),
    finalizers: shared.value(finalizers),
    labels: shared.value(userLabels(metadata)),
    needs: podNeeds(pod),
    ...generationFields(pod),
    ...placementFields(pod),
    ...(isBound(pod) ? boundFields(pod, shared) : waitingFields(pod)),
  };
}

function identityOf(
  { namespace = '', name = '', uid = '', resourceVersion = '', finalizers = [] }: ObjectMeta,
): Pick<ProxyPod, 'namespace' | 'name' | 'uid' | 'resourceVersion' | 'finalizers'> {
  return { namespace, name, uid, resourceVersion, finalizers };
}

/** Proxies have no grace period of their own, so any other than 0 was requested (`kubectl delete --grace-period`). */
function graceSecondsOf({ deletionGracePeriodSeconds = 0 }: ObjectMeta): number {
  return deletionGracePeriodSeconds;
}

function generationFields({ metadata, spec }: Pod): Pick<ProxyPod, 'generation' | 'graceSeconds'> {
  const [{ generation }, graceSeconds] = [metadata, graceSecondsOf(metadata)];
  const isAskedFor = graceSeconds > 0 && graceSeconds !== spec.terminationGracePeriodSeconds;
  return { ...(generation !== undefined && { generation }), ...(isAskedFor && { graceSeconds }) };
}

function readinessGateTypesOf({ spec: { readinessGates = [] } }: Pod): readonly string[] {
  return readinessGates.map(({ conditionType }) => conditionType);
}

function boundFields(pod: Pod, shared: SharedValues): Pick<
  ProxyPod,
  'nodeName' | 'statusDigest' | 'containers' | 'ownConditions' | 'copiedConditions' | 'changes'
  | 'readinessConditions' | 'readinessGateTypes'
    | 'failoverGraceSeconds' | 'lostTargets' | 'isOwnedByAdmiralty' | 'adoptedDelegate' | 'annotations'
    | 'copiedAnnotations'
> {
  const { metadata, spec, status } = pod;
  const [changes, readinessConditions] = [specChangesOf(pod, carriedLabels(metadata)), readinessConditionsOf(pod)];
  const copiedAnnotations = copiedAnnotationKeys(metadata);
  const { containers, initContainers = [], ephemeralContainers = [], nodeName = '' } = spec;
  const [failoverGraceSeconds, lostTargets] = [failoverGraceSecondsOf(metadata), targetsLostAtPlacement(metadata)];
  return {
    nodeName: shared.text(nodeName),
    statusDigest: digestOf(copiedStatus(status ?? {})),
    containers: shared.value([...containers, ...initContainers, ...ephemeralContainers].map(({ name }) => name)),
    ...conditionFields(pod),
    ...(changes !== undefined && { changes }),
    ...(readinessConditions !== undefined && { readinessConditions, readinessGateTypes: readinessGateTypesOf(pod) }),
    ...(failoverGraceSeconds !== undefined && { failoverGraceSeconds }),
    ...(lostTargets !== undefined && { lostTargets }),
    ...originOf(metadata),
    annotations: shared.value(copyableAnnotations(metadata)),
    ...(copiedAnnotations !== undefined && { copiedAnnotations }),
  };
}

/** Labels whose changes reach the delegate: its own node gives it those of nodes. */
function carriedLabels(metadata: ObjectMeta): StringMap {
  return Object.fromEntries(Object.entries(userLabels(metadata)).filter(([key]) => !LABELS_OF_NODES.includes(key)));
}

function conditionFields(
  { metadata: { annotations = {} }, status }: Pod,
): Pick<ProxyPod, 'ownConditions' | 'copiedConditions'> {
  const ownConditions = sourceConditions(status?.conditions);
  const copiedConditions = textsIn(parsedJson(annotations[DELEGATE_CONDITIONS_ANNOTATION] ?? ''));
  return {
    ...(ownConditions.length > 0 && { ownConditions }), ...(copiedConditions.length > 0 && { copiedConditions }),
  };
}

/** Admiralty's proxies have a manifest instead of a record, and lack our finalizer. */
function originOf(
  { annotations = {}, finalizers = [] }: ObjectMeta,
): Pick<ProxyPod, 'isOwnedByAdmiralty' | 'adoptedDelegate'> {
  const adoptedDelegate = annotations[ADOPTED_DELEGATE_ANNOTATION];
  if (adoptedDelegate !== undefined) return { adoptedDelegate };
  const hasManifestAlone =
    annotations[SOURCE_MANIFEST_ANNOTATION] !== undefined && !hasAdmissionRecord({ annotations });
  return hasManifestAlone && !finalizers.includes(DELEGATE_FINALIZER) ? { isOwnedByAdmiralty: true } : {};
}

/** Kinds that replace pods by pods of other names. A StatefulSet reuses the name. */
const REPLACING: ReadonlySet<string> = new Set(['ReplicaSet', 'ReplicationController', 'Job']);

function placementFields(
  { metadata, spec }: Pod,
): Pick<ProxyPod, 'controllerUid' | 'isReplaceable' | 'antiAffinity' | 'group' | 'isBoundInGroup'> {
  const controller = controllerOf(metadata);
  const antiAffinity = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const group = podGroupOf(metadata);
  const isBoundInGroup = group !== undefined && metadata.annotations?.[BOUND_IN_GROUP_ANNOTATION] === group.name;
  return {
    ...(controller !== undefined && { controllerUid: controller.uid }),
    ...(controller !== undefined && REPLACING.has(controller.kind) && { isReplaceable: true }),
    ...(antiAffinity !== undefined && { antiAffinity }),
    ...(group !== undefined && { group }),
    ...(isBoundInGroup && { isBoundInGroup }),
  };
}

/** The constraints in the spec of a pod. */
export function clusterConstraintsOf(
  { nodeSelector, tolerations, affinity, topologySpreadConstraints }: PodSpec,
): ClusterConstraints {
  return {
    ...(nodeSelector && { nodeSelector }),
    ...(tolerations && { tolerations }),
    ...(affinity && { affinity }),
    ...(topologySpreadConstraints && { topologySpreadConstraints }),
  };
}

function waitingFields(
  { metadata, spec, status }: Pod,
): Pick<ProxyPod, 'specDigests' | 'stored' | 'trace' | 'podScheduled' | 'constraints'> {
  const { labels, annotations } = metadata;
  const [podScheduled, trace] = [findCondition(status?.conditions, 'PodScheduled'), traceOf(annotations)];
  return {
    specDigests: specDigests(spec, carriedLabels(metadata)),
    constraints: clusterConstraintsOf(spec),
    stored: JSON.stringify({ metadata: { labels, annotations }, spec }),
    ...(trace !== undefined && { trace }),
    ...(podScheduled !== undefined && { podScheduled }),
  };
}

/** The source pod of an unbound proxy. */
export function sourcePodOf({ stored = '{"metadata":{},"spec":{}}' }: ProxyPod): RestoredPod {
  return restoreSourcePod(JSON.parse(stored) as Pod);
}

/** Whether our finalizer is on the pod: it stays until the delegate's absence is confirmed. */
export function holdsFinalizer(proxy: ProxyPod): boolean {
  return proxy.finalizers.includes(DELEGATE_FINALIZER);
}

/** Removes our finalizer, with a precondition on this version. */
export function planFinalizerRemoval(proxy: ProxyPod): Plan {
  const { namespace, name, resourceVersion } = proxy;
  const finalizers = proxy.finalizers.filter((finalizer) => finalizer !== DELEGATE_FINALIZER);
  return [{
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'merge',
    patch: { metadata: { resourceVersion, finalizers } },
  }];
}

/** Ends the grace period that no kubelet will end, then removes our finalizer if present. */
export function planReleaseAtOnce(proxy: ProxyPod): Plan {
  const { namespace, name, uid } = proxy;
  const atOnce: Command = { ...deletion(PODS, proxy), gracePeriodSeconds: 0 };
  if (!holdsFinalizer(proxy)) return [atOnce];
  // the delete has changed the resourceVersion, so other finalizers are those of now, not those that are cached
  return [atOnce, {
    kind: 'patch', type: PODS, at: { namespace, name }, patchType: 'strategic',
    patch: { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [DELEGATE_FINALIZER] } },
  }];
}
