// What is known about a target apart from capacity: its virtual node as administrators see it, and the settings of its
// object. Labels of the (Cluster)Target override those that the virtual node took from the target's nodes. Binding
// policy rules only use labels that the target does not report itself.
import type { NodeGroup } from '../../api/kinds/cluster-summary.ts';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { Node, StringMap, Taint } from '../../api/objects/core.ts';
import { ADMIRALTY_PREFIX, TARGET_LABELS_ANNOTATION, TARGET_NAME_LABEL } from '../../api/objects/keys.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { isByteResource, parseResourceList } from '../../model/resources/resources.ts';
import type { Rejection } from './rejection.ts';
import { toTargetCapacity, type TargetCapacity } from './target-capacity.ts';
import { parsedJson } from '../../model/objects/json-values.ts';

/** A target's properties for placement. */
export interface VirtualNodeInfo {
  /** Labels that selectors of pods and of namespaced policies match. */
  readonly labels: StringMap;
  /** Labels that selectors of cluster policies match, if they differ: without those that a tenant set on a Target. */
  readonly clusterLabels?: StringMap;
  /** The subset of both that administrators of the source assign, not the target itself; all when missing. */
  readonly assigned?: { readonly labels: StringMap; readonly clusterLabels: StringMap };
  readonly taints: readonly Taint[];
  /** `spec.unschedulable` of the virtual node. */
  readonly cordoned: boolean;
  /** Whether the virtual node exists; without it no pod can be bound. */
  readonly hasNode: boolean;
  /** Why it gets no new pods although it answers: it is being removed, or has left its registry. */
  readonly leaving?: Rejection;
  /** The target is the source cluster itself. */
  readonly isSelf: boolean;
  /** Price of each resource, per milli-CPU, byte or device as in {@link ResourceAmounts}. */
  readonly prices?: ReadonlyMap<string, number>;
  /** Nodes that its autoscaler may still add. */
  readonly headroom?: TargetCapacity;
  /** Round trip to its API server, in ms. */
  readonly rttMs?: number;
}

/** Inputs of {@link toVirtualNodeInfo}. */
export interface NodeInfoSources {
  /** Kind of the object: a ClusterTarget's labels are an administrator's. ClusterTarget when missing. */
  readonly kind?: TargetRef['kind'] | undefined;
  readonly nodeName: string;
  /** The virtual node; undefined while it does not exist. */
  readonly node: Pick<Node, 'metadata' | 'spec'> | undefined;
  /** Labels of the (Cluster)Target. */
  readonly labels: StringMap;
  readonly spec: Pick<TargetSpec, 'self' | 'prices' | 'headroom'>;
  readonly rttMs?: number | undefined;
  /** As in {@link VirtualNodeInfo}. */
  readonly leaving?: Rejection | undefined;
}

/** The well-known label of `core/v1` for a node's host name; of a target, the name of its virtual node. */
export const HOST_NAME_LABEL = 'kubernetes.io/hostname';

/**
 * Taints that the source's node lifecycle controller derives from the virtual node's conditions and Lease. This process
 * writes those itself: a new node is briefly "not ready". The target's own state decides instead.
 */
const OWN_HEALTH_TAINTS: ReadonlySet<string> =
  new Set(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']);

/**
 * What is known of the virtual node of a target. It counts as one host, so that affinity by hostname separates
 * clusters.
 */
export function toVirtualNodeInfo(
  { kind, nodeName, node, labels, spec, rttMs, leaving }: NodeInfoSources,
): VirtualNodeInfo {
  return {
    taints: (node?.spec?.taints ?? []).filter(({ key }) => !OWN_HEALTH_TAINTS.has(key)),
    cordoned: node?.spec?.unschedulable === true,
    hasNode: node !== undefined,
    isSelf: spec.self === true,
    ...toTargetLabels({ kind, nodeName, node, labels }),
    ...(spec.prices !== undefined && { prices: toPrices(spec.prices) }),
    ...(spec.headroom !== undefined && { headroom: toHeadroom(spec.headroom) }),
    ...(rttMs !== undefined && { rttMs }),
    ...(leaving !== undefined && { leaving }),
  };
}

/** Labels of a target by who set them. */
export type TargetLabels = Pick<VirtualNodeInfo, 'labels' | 'clusterLabels' | 'assigned'>;

/** The labels that selectors match. */
export function toTargetLabels(
  { kind, nodeName, node, labels }: Pick<NodeInfoSources, 'kind' | 'nodeName' | 'node' | 'labels'>,
): TargetLabels {
  const host = { [HOST_NAME_LABEL]: nodeName };
  const { labels: shown = {}, annotations } = node?.metadata ?? {};
  const own = { ...host, ...withoutTargetLabels(shown, annotations?.[TARGET_LABELS_ANNOTATION]) };
  const all = { ...host, ...shown, ...labels };
  const assigned = { ...own, ...labels };
  if (kind !== 'Target') return { labels: all, assigned: { labels: assigned, clusterLabels: assigned } };
  // A tenant chooses the name and labels of a Target; nodes are written by administrators.
  const nameless = ({ [TARGET_NAME_LABEL]: _name, ...rest }: StringMap) => rest;
  return {
    labels: all, clusterLabels: nameless({ ...host, ...shown }),
    assigned: { labels: assigned, clusterLabels: nameless(own) },
  };
}

/** Labels that the target does not report itself. While the list of reported ones is missing, only our own. */
function withoutTargetLabels(shown: StringMap, listed: string | undefined): StringMap {
  const keys = listed === undefined ? undefined : readKeys(listed);
  return Object.fromEntries(
    Object.entries(shown).filter(([key]) => (keys === undefined ? key.startsWith(ADMIRALTY_PREFIX) : !keys.has(key))),
  );
}

function readKeys(text: string): ReadonlySet<unknown> | undefined {
  const keys = parsedJson(text);
  return Array.isArray(keys) ? new Set<unknown>(keys) : undefined; // somebody may have changed it; it is reverted
}

/** Labels that a policy's target selectors match. */
export function labelsFor(
  policy: { readonly isClusterScoped?: boolean } | undefined, nodeInfo: TargetLabels | undefined,
): StringMap {
  return (policy?.isClusterScoped === true ? nodeInfo?.clusterLabels : undefined) ?? nodeInfo?.labels ?? {};
}

/** Prices of cores, GiB and devices as numbers per unit of a request; invalid prices are ignored. */
function toPrices(prices: StringMap): ReadonlyMap<string, number> {
  const entries = Object.entries(prices).filter(([, text]) => text.trim() !== '' && Number(text) >= 0);
  return new Map(entries.map(([resource, text]) => [resource, Number(text) / pricedUnit(resource)]));
}

/** The unit of a price: a GiB for bytes, else one. */
function pricedUnit(resource: string): number {
  return parseResourceList({ [resource]: isByteResource(resource) ? '1Gi' : '1' }).amounts.get(resource) ?? 1;
}

function toHeadroom(groups: NonNullable<TargetSpec['headroom']>): TargetCapacity {
  const nodeGroups = groups.map(({ labels = {}, taints = [], count, allocatable }): NodeGroup => (
    { labels, taints, holes: [{ count, free: { pods: DEFAULT_PODS, ...allocatable } }] }
  ));
  return toTargetCapacity({ metadata: {}, nodeGroups });
}

/** Default `maxPods` of the kubelet. */
const DEFAULT_PODS = '110';
