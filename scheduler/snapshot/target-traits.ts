// What is known of a target beside its capacity: its virtual node as the source's administrators see it, and what its object declares.
// Labels of the (Cluster)Target win over those that the target's own nodes gave the virtual node: an administrator's word counts more. What a rule
// of a policy binds by is only what the target does not say itself.
import type { NodeGroup } from '../../api/kinds/cluster-summary.ts';
import type { TargetSpec } from '../../api/kinds/cluster-target.ts';
import type { Node, StringMap, Taint } from '../../api/objects/core.ts';
import { OWN_PREFIX, TARGET_LABELS_ANNOTATION, TARGET_NAME_LABEL } from '../../api/objects/keys.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import { isByteResource, parseResourceList } from '../../model/resources/resources.ts';
import { toTargetCapacity, type TargetCapacity } from './target-capacity.ts';

/** A target as placement sees it. */
export interface TargetTraits {
  /** Labels that selectors of pods are held against, and those of policies of the namespace. */
  readonly labels: StringMap;
  /** Those that selectors of policies of the cluster are held against, where they differ: without what a tenant says of a Target. */
  readonly clusterLabels?: StringMap;
  /** Of both, what the target does not say itself; all of them when missing. */
  readonly vouched?: { readonly labels: StringMap; readonly clusterLabels: StringMap };
  readonly taints: readonly Taint[];
  /** `spec.unschedulable` of the virtual node. */
  readonly cordoned: boolean;
  /** Whether the virtual node exists; a pod cannot be bound to one that does not. */
  readonly hasNode: boolean;
  /** The target is the source itself. */
  readonly isSelf: boolean;
  /** Price of each resource, in the units of {@link ResourceAmounts}: of a milli-CPU, of a byte, of a device. */
  readonly prices?: ReadonlyMap<string, number>;
  /** Nodes that its autoscaler may still add. */
  readonly headroom?: TargetCapacity;
  /** Round trip to its API server in ms. */
  readonly rttMs?: number;
}

/** What {@link toTargetTraits} puts together. */
export interface TraitSources {
  /** Whose object it is: a ClusterTarget's labels are an administrator's. A ClusterTarget when missing. */
  readonly kind?: TargetRef['kind'] | undefined;
  readonly nodeName: string;
  /** The virtual node; undefined while it is not there. */
  readonly node: Pick<Node, 'metadata' | 'spec'> | undefined;
  /** Labels of the (Cluster)Target. */
  readonly labels: StringMap;
  readonly spec: Pick<TargetSpec, 'self' | 'prices' | 'headroom'>;
  readonly rttMs?: number | undefined;
}

const HOST_NAME_LABEL = 'kubernetes.io/hostname';

/**
 * What the source's node lifecycle controller makes of a virtual node's conditions and Lease, which this process writes itself and knows
 * earlier: a new node is "not ready" for a moment. Whether the target can be used is seen from the target.
 */
const OWN_HEALTH_TAINTS: ReadonlySet<string> = new Set(['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']);

/** The traits of a target. A virtual node counts as one host, so that affinity by host name tells clusters apart. */
export function toTargetTraits({ kind, nodeName, node, labels, spec, rttMs }: TraitSources): TargetTraits {
  return {
    ...toTargetLabels({ kind, nodeName, node, labels }),
    taints: (node?.spec?.taints ?? []).filter(({ key }) => !OWN_HEALTH_TAINTS.has(key)),
    cordoned: node?.spec?.unschedulable === true,
    hasNode: node !== undefined,
    isSelf: spec.self === true,
    ...(spec.prices !== undefined && { prices: toPrices(spec.prices) }),
    ...(spec.headroom !== undefined && { headroom: toHeadroom(spec.headroom) }),
    ...(rttMs !== undefined && { rttMs }),
  };
}

/** Labels of a target by who says them. */
export type TargetLabels = Pick<TargetTraits, 'labels' | 'clusterLabels' | 'vouched'>;

/** Labels that selectors are held against. */
export function toTargetLabels({ kind, nodeName, node, labels }: Pick<TraitSources, 'kind' | 'nodeName' | 'node' | 'labels'>): TargetLabels {
  const host = { [HOST_NAME_LABEL]: nodeName };
  const { labels: shown = {}, annotations } = node?.metadata ?? {};
  const own = { ...host, ...withoutTargetLabels(shown, annotations?.[TARGET_LABELS_ANNOTATION]) };
  const all = { ...host, ...shown, ...labels };
  const vouched = { ...own, ...labels };
  if (kind !== 'Target') return { labels: all, vouched: { labels: vouched, clusterLabels: vouched } };
  // A tenant chooses the name of a Target, and its labels; nodes are written by administrators.
  const nameless = ({ [TARGET_NAME_LABEL]: _name, ...rest }: StringMap) => rest;
  return { labels: all, clusterLabels: nameless({ ...host, ...shown }), vouched: { labels: vouched, clusterLabels: nameless(own) } };
}

/** The labels of a virtual node that its target does not say; only those of ours while it is not known which it says. */
function withoutTargetLabels(shown: StringMap, said: string | undefined): StringMap {
  const keys = said === undefined ? undefined : readKeys(said);
  return Object.fromEntries(Object.entries(shown).filter(([key]) => (keys === undefined ? key.startsWith(OWN_PREFIX) : !keys.has(key))));
}

function readKeys(text: string): ReadonlySet<unknown> | undefined {
  try {
    const keys: unknown = JSON.parse(text);
    return Array.isArray(keys) ? new Set<unknown>(keys) : undefined;
  } catch {
    return undefined; // somebody has changed it; it is put back
  }
}

/** Labels that the selectors of targets in a policy are held against. */
export function labelsFor(policy: { readonly isClusters?: boolean } | undefined, traits: TargetLabels | undefined): StringMap {
  return (policy?.isClusters === true ? traits?.clusterLabels : undefined) ?? traits?.labels ?? {};
}

/** Prices of cores, GiB and devices as numbers by the units that requests have; what is no price is left out. */
function toPrices(prices: StringMap): ReadonlyMap<string, number> {
  const entries = Object.entries(prices).filter(([, text]) => text.trim() !== '' && Number(text) >= 0);
  return new Map(entries.map(([resource, text]) => [resource, Number(text) / pricedUnit(resource)]));
}

/** What a price is for: a GiB of bytes, one of anything else. */
function pricedUnit(resource: string): number {
  return parseResourceList({ [resource]: isByteResource(resource) ? '1Gi' : '1' }).amounts.get(resource) ?? 1;
}

function toHeadroom(groups: NonNullable<TargetSpec['headroom']>): TargetCapacity {
  const nodeGroups = groups.map(({ labels = {}, taints = [], count, allocatable }): NodeGroup => ({ labels, taints, holes: [{ count, free: { pods: DEFAULT_PODS, ...allocatable } }] }));
  return toTargetCapacity({ metadata: {}, nodeGroups });
}

/** Pods of a node that does not say otherwise (kubelet `maxPods`). */
const DEFAULT_PODS = '110';
