// Objects for tests, built from small changes: `aPod(named('x'), withRequests({ cpu: '1' }))`. They look as an API
// server prints them. Each builder gives a valid object without any change, so that a test names only what it is about.
import type {
  Condition, KubernetesObject, Node, ObjectMeta, Pod, PodPhase, PodSpec, PodStatus, ResourceList, StringMap, Taint,
} from '../../../api/objects/core.ts';
import {
  DELEGATE_FINALIZER,
  ELECT_ANNOTATION, PARENT_NAME_ANNOTATION, PARENT_NAMESPACE_ANNOTATION, PARENT_UID_LABEL, PROXY_SCHEDULER,
  ADMISSION_RECORD_ANNOTATION, SOURCE_WATCHES_PODS_ANNOTATION, TRUE,
} from '../../../api/objects/keys.ts';
import type { PodChaperon } from '../../../api/kinds/pod-chaperon.ts';
import { ADMIRALTY_API_VERSION } from '../../../api/objects/group-version.ts';
import {
  toChaperonRecord, toDelegatePodRecord, type Chaperon, type DelegatePod,
} from '../../../model/delegate/cached-delegate.ts';
import type { Plan } from '../../../model/objects/plan.ts';
import { toProxyPodRecord, type ProxyPod } from '../../../model/proxy/proxy-pod.ts';
import { addAmounts, formatResourceList, NO_AMOUNTS, parseResourceList } from '../../../model/resources/resources.ts';
import { targetKey, type TargetRef } from '../../../model/naming/target-ref.ts';
import type { TargetSnapshot } from '../../../scheduler/snapshot/snapshot.ts';
import { toTargetCapacity } from '../../../scheduler/snapshot/target-capacity.ts';

/** One change to an object under construction. */
export type Change<T> = (object: T) => T;
/** A change that any object can undergo. */
type ObjectChange = <T extends KubernetesObject>(object: T) => T;
/** What pods and chaperons have in common. */
type PodLike = KubernetesObject & { readonly spec: PodSpec; readonly status?: PodStatus };
type PodChange = <T extends PodLike>(object: T) => T;

/** UID of the proxy pod unless a test says otherwise. */
export const PROXY_UID = 'proxy-uid';
/** UID of the chaperon unless a test says otherwise. */
export const CHAPERON_UID = 'chaperon-uid';
/** When objects were created unless a test says otherwise. */
export const CREATED_AT = '2026-01-01T00:00:00Z';

function build<T>(object: T, changes: readonly Change<T>[]): T {
  return changes.reduce((built, change) => change(built), object);
}

// --- objects

/** A pod as a user made it, stored. */
export function aPod(...changes: Change<Pod>[]): Pod {
  const metadata =
    { namespace: 'team-a', name: 'web', uid: 'pod-uid', resourceVersion: '1', creationTimestamp: CREATED_AT };
  return build<Pod>(
    { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'app', image: 'app:1' }] } }, changes,
  );
}

/** An elected pod after admission, not bound yet. */
export function aProxy(...changes: Change<Pod>[]): Pod {
  const admitted = aPod(
    withUid(PROXY_UID),
    annotated({ [ELECT_ANNOTATION]: '', [ADMISSION_RECORD_ANNOTATION]: '{"spec":{}}' }),
    withFinalizers(DELEGATE_FINALIZER),
    withSpec({ schedulerName: PROXY_SCHEDULER }),
  );
  return build(admitted, changes);
}

/** The chaperon of {@link aProxy}'s pod in some target. */
export function aChaperon(...changes: Change<PodChaperon>[]): PodChaperon {
  const chaperon: PodChaperon = {
    apiVersion: ADMIRALTY_API_VERSION,
    kind: 'PodChaperon',
    metadata: {
      namespace: 'team-a',
      name: 'web-abc',
      uid: CHAPERON_UID,
      resourceVersion: '10',
      creationTimestamp: CREATED_AT,
      labels: { [PARENT_UID_LABEL]: PROXY_UID },
      annotations: {
        [PARENT_NAME_ANNOTATION]: 'web', [PARENT_NAMESPACE_ANNOTATION]: 'team-a',
        [SOURCE_WATCHES_PODS_ANNOTATION]: TRUE,
      },
    },
    spec: { containers: [{ name: 'app', image: 'app:1' }] },
  };
  return build(chaperon, changes);
}

/** The delegate pod that was made from {@link aChaperon}'s chaperon. */
export function aDelegate(...changes: Change<Pod>[]): Pod {
  const { namespace, name, labels, annotations } = aChaperon().metadata;
  const owner = {
    apiVersion: ADMIRALTY_API_VERSION, kind: 'PodChaperon', name: 'web-abc', uid: CHAPERON_UID, controller: true,
    blockOwnerDeletion: true,
  };
  const ours =
    withMetadata({ namespace, name, uid: 'delegate-uid', labels, annotations, ownerReferences: [owner] } as ObjectMeta);
  return build(aPod(ours, inPhase('Pending')), changes);
}

/** A node that is ready for pods. */
export function aNode(...changes: Change<Node>[]): Node {
  const room = { cpu: '4', memory: '8Gi', pods: '110' };
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node-1', uid: 'node-uid', resourceVersion: '1' },
    status: { capacity: room, allocatable: room, conditions: [{ type: 'Ready', status: 'True' }] },
  };
  return build(node, changes);
}

/** A ClusterTarget with one node of 4 CPUs, 8 GiB and 110 pods. */
export function aTarget(name: string, ...changes: Change<TargetSnapshot>[]): TargetSnapshot {
  const target = withRef({ kind: 'ClusterTarget', name })({ nodeName: `admiralty-${name}` } as TargetSnapshot);
  return build(withNodes({ cpu: '4', memory: '8Gi', pods: '110' })(target), changes);
}

// --- records of them, as components remember them

/** {@link aProxy} as it is remembered. */
export function aProxyRecord(...changes: Change<Pod>[]): ProxyPod {
  return toProxyPodRecord(aProxy(...changes))!;
}

/** {@link aChaperon} as its source remembers it. */
export function aChaperonRecord(...changes: Change<PodChaperon>[]): Chaperon {
  return toChaperonRecord(aChaperon(...changes))!;
}

/** {@link aDelegate} as its source remembers it. */
export function aDelegateRecord(...changes: Change<Pod>[]): DelegatePod {
  return toDelegatePodRecord(aDelegate(...changes))!;
}

// --- changes to any object

/** Merges into the metadata; other changes to metadata are made of this one. */
export function withMetadata(metadata: ObjectMeta): ObjectChange {
  return (object) => ({ ...object, metadata: { ...object.metadata, ...metadata } });
}

export const named = (name: string) => withMetadata({ name });
export const inNamespace = (namespace: string) => withMetadata({ namespace });
export const withUid = (uid: string) => withMetadata({ uid });
export const withVersion = (resourceVersion: string) => withMetadata({ resourceVersion });
export const withFinalizers = (...finalizers: string[]) => withMetadata({ finalizers });
export const withoutOwner = () => withMetadata({ ownerReferences: [] });
/** Deleted, and still there for its finalizers or containers. */
export const terminating = () => withMetadata({ deletionTimestamp: '2026-01-01T01:00:00Z' });

/** Adds labels. */
export function labelled(labels: StringMap): ObjectChange {
  return (object) => withMetadata({ labels: { ...object.metadata.labels, ...labels } })(object);
}

/** Adds annotations. */
export function annotated(annotations: StringMap): ObjectChange {
  return (object) => withMetadata({ annotations: { ...object.metadata.annotations, ...annotations } })(object);
}

/** Takes one annotation away. */
export function withoutAnnotation(key: string): ObjectChange {
  return (object) => {
    const { [key]: _gone, ...annotations } = object.metadata.annotations ?? {};
    return withMetadata({ annotations })(object);
  };
}

// --- changes to pods and chaperons

/** Merges into the spec. */
export function withSpec(spec: Partial<PodSpec>): PodChange {
  return (pod) => ({ ...pod, spec: { ...pod.spec, ...spec } });
}

/** Merges into the status. */
export function withStatus(status: PodStatus): PodChange {
  return (pod) => ({ ...pod, status: { ...pod.status, ...status } });
}

/** Requests of the first container. */
export function withRequests(requests: ResourceList): PodChange {
  return (pod) => {
    const [first = { name: 'app' }, ...others] = pod.spec.containers;
    return withSpec({ containers: [{ ...first, resources: { requests } }, ...others] })(pod);
  };
}

export const onNode = (nodeName: string) => withSpec({ nodeName });
export const inPhase = (phase: PodPhase) => withStatus({ phase });

/** Adds a condition, or replaces the one of its type. */
export function withCondition(condition: Condition): PodChange {
  return (pod) => withStatus(
    { conditions: [...(pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type), condition] },
  )(pod);
}

/** The target's scheduler has found a node. */
export const scheduled = () => withCondition({ type: 'PodScheduled', status: 'True' });
/** The target's scheduler has said no. */
export const unschedulable = (message = '0/3 nodes are available') =>
  withCondition({ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message });

// --- changes to nodes

export const cordoned = (): Change<Node> => (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } });
export const tainted = (...taints: Taint[]): Change<Node> => (node) => ({ ...node, spec: { ...node.spec, taints } });
export const withReady = (status: 'True' | 'False' | 'Unknown'): Change<Node> =>
  (node) => ({ ...node, status: { ...node.status, conditions: [{ type: 'Ready', status }] } });
export const withAllocatable = (room: ResourceList): Change<Node> =>
  (node) => ({ ...node, status: { ...node.status, capacity: room, allocatable: room } });

// --- changes to targets as a decision sees them

/** Which target it is. */
export function withRef(ref: TargetRef): Change<TargetSnapshot> {
  return (target) => ({ ...target, ref, key: targetKey(ref) });
}

/** One node for each list, all of its room free. */
export function withNodes(...rooms: ResourceList[]): Change<TargetSnapshot> {
  const total = formatResourceList(rooms.map((room) => parseResourceList(room).amounts).reduce(addAmounts, NO_AMOUNTS));
  const nodeGroups = rooms.length === 0 ? [] : [{ holes: rooms.map((free) => ({ count: 1, free })) }];
  return (target) =>
    ({ ...target, capacity: toTargetCapacity({ metadata: {}, allocatable: total, free: total, nodeGroups }) });
}

/** Cannot get pods now. */
export function unavailable(reason: string, message: string): Change<TargetSnapshot> {
  return (target) => ({ ...target, unavailable: { reason, message } });
}

/** Has told nothing of its capacity. */
export function withoutSummary(): Change<TargetSnapshot> {
  return ({ capacity: _capacity, ...target }) => target;
}

// --- what an API server would store

const FROM_LIST = '$deleteFromPrimitiveList/';

/**
 * The value after a JSON merge patch (RFC 7386): null takes a field away, lists are replaced. Of strategic merge
 * patches it knows what takes elements from a list.
 */
export function afterMergePatch(value: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const before = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  const merged = new Map(Object.entries(before));
  for (const [field, change] of Object.entries(patch)) {
    if (change === null) merged.delete(field);
    else if (field.startsWith(FROM_LIST)) {
      const [list, gone] = [field.slice(FROM_LIST.length), change as readonly unknown[]];
      merged.set(list, ((merged.get(list) ?? []) as readonly unknown[]).filter((each) => !gone.includes(each)));
    } else merged.set(field, afterMergePatch(merged.get(field), change));
  }
  return Object.fromEntries(merged);
}

/** The object after the patches of a plan to its status, with lists as merge patches replace them. */
export function afterStatusPatches<T extends object>(object: T, plan: Plan): T {
  const patches = plan.flatMap(
    (command) => (command.kind === 'patch' && command.at.subresource === 'status' ? [command.patch] : []),
  );
  return patches.reduce<T>((stored, patch) => afterMergePatch(stored, patch) as T, object);
}

// --- proof that nothing is mutated

/**
 * Freezes a value with all that it holds, maps and sets included, and gives it back: a function that mutates it throws.
 */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map || value instanceof Set) {
    for (const method of ['set', 'add', 'delete', 'clear']) Object.defineProperty(value, method, { value: refuse });
    for (const item of value instanceof Map ? [...value.keys(), ...value.values()] : value) frozen(item);
  }
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

function refuse(): never {
  throw new TypeError('a decision mutated its input');
}
