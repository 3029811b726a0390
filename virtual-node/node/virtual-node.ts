// The Node in the source that represents a target: name, labels, taints, capacity.
import { isIP } from 'node:net';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { Condition, Lease, Node, NodeAddress, ResourceList, StringMap, Taint } from '../../api/objects/core.ts';
import {
  CLUSTER_TARGET_NAME_LABEL, PROVIDER_KEY, PROVIDER_VALUE, RESOURCE_METRICS_PATH_ANNOTATION, TARGET_NAME_LABEL,
  TARGET_LABELS_ANNOTATION, TARGET_NAMESPACE_LABEL, TARGET_READY_CONDITION,
} from '../../api/objects/keys.ts';
import { ANY_SOURCE } from '../../api/kinds/resource-share.ts';
import { NODE_LEASE_NAMESPACE } from '../../model/access/system-namespaces.ts';
import {
  formatResourceList, NO_AMOUNTS, parseResourceList, type ResourceAmounts,
} from '../../model/resources/resources.ts';
import { parsedJson, textsIn } from '../../model/objects/json-values.ts';
import { findCondition, setCondition, type ConditionUpdate } from '../../model/objects/conditions.ts';
import { virtualNodeName } from '../../model/naming/names.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { VIRTUAL_NODE_TAINT } from '../../model/pod/tolerations.ts';
import { shownLabels, type LabelSettings } from './shown-labels.ts';

/** Longest interval between two reports of the same conditions, in ms (kubelet `nodeStatusReportFrequency`). */
export const REPORT_MS = 300_000;
/** Duration of a node's Lease, in s (kubelet `nodeLeaseDurationSeconds`); virtual-node-controller.ts renews it. */
export const NODE_LEASE_SECONDS = 40;

/**
 * Changes of running pods that an API server lets through only where the node declares that it can (KEP-5328), sorted:
 * they are copied to delegates, and the target says whether its own node can.
 */
const DECLARED_FEATURES = ['InPlacePodLevelResourcesVerticalScaling', 'InPlacePodVerticalScalingInitContainers'];

/** Labels that do not depend on the target's nodes. */
const BASE_LABELS: StringMap = {
  type: 'virtual-kubelet',
  [PROVIDER_KEY]: PROVIDER_VALUE,
  'kubernetes.io/role': 'cluster',
  'alpha.service-controller.kubernetes.io/exclude-balancer': 'true',
  'node.kubernetes.io/exclude-from-external-load-balancers': 'true',
};

/**
 * The Node object of a target for server-side apply. Users' labels and taints stay theirs. Taints are one value to an
 * apply, so those of `before` are applied again, with a precondition on its version. An annotation lists the labels
 * that the target reported.
 */
export function toVirtualNode(
  target: TargetRef, summary: ClusterSummary | undefined, settings: LabelSettings = {}, before?: Node,
): Node {
  const name = virtualNodeName(target);
  const { resourceVersion } = before?.metadata ?? {};
  const reported = summary === undefined ? lastPublished(before) : summary.metadata.labels ?? {};
  const shown = shownLabels(target, reported, settings);
  return {
    metadata: {
      name,
      annotations: {
        [TARGET_LABELS_ANNOTATION]: JSON.stringify(Object.keys(shown)),
        [RESOURCE_METRICS_PATH_ANNOTATION]: `/nodes/${name}/metrics/resource`,
      },
      labels: { ...shown, ...BASE_LABELS, ...targetLabels(target) },
      ...(resourceVersion !== undefined && { resourceVersion }),
    },
    spec: { taints: [...(before?.spec?.taints ?? []).filter((taint) => !isOurs(taint)), VIRTUAL_NODE_TAINT] },
  };
}

/**
 * The labels that a node got from its target before, while nothing is known of the target. Where the annotation that
 * lists them is gone, all labels count as the target's.
 */
function lastPublished(before: Node | undefined): StringMap {
  const { labels = {}, annotations = {} } = before?.metadata ?? {};
  const listed = parsedJson(annotations[TARGET_LABELS_ANNOTATION] ?? '');
  if (!Array.isArray(listed)) return labels;
  const keys = new Set(textsIn(listed));
  return Object.fromEntries(Object.entries(labels).filter(([key]) => keys.has(key)));
}

/** A node has one taint per key and effect. */
function isOurs({ key, effect }: Taint): boolean {
  return key === VIRTUAL_NODE_TAINT.key && effect === VIRTUAL_NODE_TAINT.effect;
}

function targetLabels(target: TargetRef): StringMap {
  if (target.kind === 'ClusterTarget') return { [CLUSTER_TARGET_NAME_LABEL]: target.name };
  return { [TARGET_NAMESPACE_LABEL]: target.namespace, [TARGET_NAME_LABEL]: target.name };
}

/** Where the source's API server reaches the kubelet API of virtual nodes. */
export interface KubeletEndpoint {
  /** An IP address, or a DNS name that API servers resolve. */
  readonly address: string;
  readonly port: number;
}

/** State of a target apart from its summary. */
export interface NodeContext {
  /** UID of the source's kube-system Namespace. */
  readonly sourceId: string;
  /** Missing where none is served. */
  readonly kubelet: KubeletEndpoint | undefined;
  /** Version of the target's API server; the node keeps its last one while it is unknown. */
  readonly targetVersion?: string | undefined;
  /** The limits by quotas of a Target's namespace; the node keeps its last ones while they are unknown. */
  readonly quota?: ResourceAmounts | 'unknown';
  /** Why the target accepts no new pods now. */
  readonly problem?: { readonly reason: string; readonly message: string } | undefined;
}

/** The status that a virtual node should have. */
export interface VirtualNodeStatus {
  readonly addresses: readonly NodeAddress[];
  readonly daemonEndpoints: { readonly kubeletEndpoint: { readonly Port: number } };
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly conditions: readonly Condition[];
  readonly nodeInfo: StringMap;
  /** API servers before 1.36 drop them. */
  readonly declaredFeatures: readonly string[];
}

/**
 * Status of a virtual node: totals of the target, or the last ones while those are unknown. Ready stays True while the
 * target is unreachable: Kubernetes evicts the pods of a NotReady node, and an unreachable target must not cause a mass
 * eviction. TargetReady reports it instead.
 */
export function toVirtualNodeStatus(
  summary: ClusterSummary | undefined, context: NodeContext, before: Node | undefined, now: string,
): VirtualNodeStatus {
  const { kubelet, targetVersion, problem } = context;
  const ready = {
    type: 'Ready', status: 'True', reason: 'TargetServed', message: 'pods bound here run in the target cluster',
  } as const;
  const { capacity = {}, allocatable = {} } = totalsOf(summary, context, before);
  return {
    capacity,
    allocatable,
    conditions: conditionsOf([ready, toTargetReady(problem)], before?.status?.conditions ?? [], now),
    addresses: kubelet === undefined ? [] : [toNodeAddress(kubelet.address)],
    daemonEndpoints: { kubeletEndpoint: { Port: kubelet?.port ?? 0 } },
    nodeInfo: toNodeInfo(summary, targetVersion, before),
    declaredFeatures: DECLARED_FEATURES,
  };
}

/**
 * Merges the reported conditions into `before`. Each report updates every heartbeat time, as a kubelet's does: when a
 * condition has changed, and every {@link REPORT_MS}. Returns `before` when no report is due.
 */
function conditionsOf(
  reported: readonly ConditionUpdate[], before: readonly Condition[], now: string,
): readonly Condition[] {
  const conditions =
    reported.reduce<readonly Condition[]>((list, condition) => setCondition(list, condition, now), before);
  const isFresh = (type: string): boolean => Date.parse(now) - Date
    .parse(findCondition(before, type)?.lastHeartbeatTime ?? '') < REPORT_MS;
  if (conditions === before && reported.every(({ type }) => isFresh(type))) return before;
  const ours = new Set(reported.map(({ type }) => type));
  return conditions.map(
    (condition) => (ours.has(condition.type) ? { ...condition, lastHeartbeatTime: now } : condition),
  );
}

function totalsOf(
  summary: ClusterSummary | undefined, { sourceId, quota = NO_AMOUNTS }: NodeContext, before: Node | undefined,
): NonNullable<Node['status']> {
  const shown = before?.status ?? {};
  if (summary === undefined || (quota === 'unknown' && shown.allocatable !== undefined)) return shown;
  const allocatable = allocatableFor(summary, sourceId, quota === 'unknown' ? NO_AMOUNTS : quota);
  return { capacity: summary.capacity ?? {}, allocatable };
}

/**
 * The columns of kubectl get nodes. The version is the target's: tools compare it with API servers', and it determines
 * the features that pods can use.
 */
function toNodeInfo(
  summary: ClusterSummary | undefined, targetVersion: string | undefined, before: Node | undefined,
): StringMap {
  const { nodeInfo = {} } = before?.status ?? {};
  const labels = summary?.metadata.labels
    ?? { 'kubernetes.io/arch': nodeInfo['architecture'] ?? '', 'kubernetes.io/os': nodeInfo['operatingSystem'] ?? '' };
  return {
    kubeletVersion: targetVersion ?? nodeInfo['kubeletVersion'] ?? '',
    architecture: labels['kubernetes.io/arch'] ?? '',
    operatingSystem: labels['kubernetes.io/os'] ?? '',
    osImage: 'Isthmus virtual node',
    containerRuntimeVersion: 'isthmus://',
    // required, and specific to one machine
    kernelVersion: '', kubeProxyVersion: '', machineID: '', systemUUID: '', bootID: '',
  };
}

function toTargetReady(problem: NodeContext['problem']): Condition {
  if (problem !== undefined) return { type: TARGET_READY_CONDITION, status: 'False', ...problem };
  return { type: TARGET_READY_CONDITION, status: 'True', reason: 'Ready', message: 'the target takes pods' };
}

/** No Hostname address: API servers would try it first and cannot resolve it. */
function toNodeAddress(address: string): NodeAddress {
  return { type: isIP(address) === 0 ? 'InternalDNS' : 'InternalIP', address };
}

/**
 * What the source may use: for each resource the minimum of the target's allocatable, its ResourceShare and quotas. A
 * cordoned share allows no pods.
 */
function allocatableFor(
  { allocatable = {}, shares = [] }: ClusterSummary, sourceId: string, quota: ResourceAmounts,
): ResourceList {
  const share = shares.find(({ source }) => source === sourceId) ?? shares.find(({ source }) => source === ANY_SOURCE);
  if (share === undefined && quota.size === 0) return allocatable;
  const limits = parseResourceList({ ...share?.limits, ...(share?.cordoned === true && { pods: '0' }) }).amounts;
  const limited = [...parseResourceList(allocatable).amounts].map(
    ([resource, amount]) =>
      [resource, Math.min(amount, limits.get(resource) ?? amount, quota.get(resource) ?? amount)] as const,
  );
  return formatResourceList(new Map(limited));
}

/** The merge patch that gives the Node this status: resources that the target has lost are removed. */
export function toStatusPatch(before: Node | undefined, { capacity, allocatable, ...rest }: VirtualNodeStatus): object {
  return {
    ...rest,
    capacity: withRemovedAsNull(before?.status?.capacity, capacity),
    allocatable: withRemovedAsNull(before?.status?.allocatable, allocatable),
  };
}

function withRemovedAsNull(
  before: ResourceList | undefined, now: ResourceList,
): Readonly<Record<string, string | number | null>> {
  const lost = Object.keys(before ?? {}).filter((resource) => !Object.hasOwn(now, resource));
  return Object.fromEntries([...lost.map((resource) => [resource, null] as const), ...Object.entries(now)]);
}

/** Whether the stored Node's status is up to date. */
export function isStatusUpToDate({ status = {} }: Node, wanted: VirtualNodeStatus): boolean {
  return (
    sameQuantities(status.capacity, wanted.capacity) &&
    sameQuantities(status.allocatable, wanted.allocatable) &&
    status.conditions === wanted.conditions &&
    Object.entries(wanted.nodeInfo).every(([field, value]) => (status.nodeInfo?.[field] ?? '') === value) &&
    showsEndpoint(status, wanted)
  );
}

function showsEndpoint(
  { addresses = [], daemonEndpoints }: NonNullable<Node['status']>, wanted: VirtualNodeStatus,
): boolean {
  return (
    addresses.length === wanted.addresses.length &&
    wanted.addresses.every(
      ({ type, address }, index) => addresses[index]?.type === type && addresses[index]?.address === address,
    ) &&
    (daemonEndpoints?.kubeletEndpoint?.Port ?? 0) === wanted.daemonEndpoints.kubeletEndpoint.Port
  );
}

/**
 * Whether the stored Node has the expected labels, annotation and taint, and no label that the target no longer
 * reports.
 */
export function isMetadataUpToDate(node: Node, wanted: Node): boolean {
  const { labels = {}, annotations = {} } = node.metadata;
  const wantedLabels = wanted.metadata.labels ?? {};
  const taints = node.spec?.taints ?? [];
  return (
    Object.keys(wantedLabels).every((key) => labels[key] === wantedLabels[key]) &&
    Object.entries(wanted.metadata.annotations ?? {}).every(([key, value]) => annotations[key] === value) &&
    (wanted.spec?.taints ?? []).every((taint) => taints.some(
      ({ key, value, effect }) => key === taint.key && value === taint.value && effect === taint.effect,
    ))
  );
}

function sameQuantities(one: ResourceList | undefined, other: ResourceList): boolean {
  const keys = Object.keys(one ?? {});
  return keys.length === Object.keys(other).length && keys
    .every((key) => Object.hasOwn(other, key) && String(one?.[key]) === String(other[key]));
}

/**
 * The Lease that keeps a virtual node healthy for the node lifecycle controller. The node owns it, as with kubelets,
 * and it is deleted with the node.
 */
export function toNodeLease({ name, uid }: { readonly name: string; readonly uid: string }, renewTime: string): Lease {
  return {
    metadata:
      { name, namespace: NODE_LEASE_NAMESPACE, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
    spec: { holderIdentity: name, leaseDurationSeconds: NODE_LEASE_SECONDS, renewTime },
  };
}
