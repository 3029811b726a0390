// What is known of a target beside its capacity: its virtual node as the source's administrators see it, and what its object declares.
// Labels of the (Cluster)Target win over those that the target's own nodes gave the virtual node: an administrator's word counts more.
import type { NodeGroup } from '../api/cluster-summary.ts';
import type { TargetSpec } from '../api/cluster-target.ts';
import type { Node, StringMap, Taint } from '../api/core.ts';
import { isByteResource, parseResourceList } from '../model/resources.ts';
import { toTargetCapacity, type TargetCapacity } from './target-capacity.ts';

/** A target as placement sees it. */
export interface TargetTraits {
  /** Labels that selectors of pods and policies are held against. */
  readonly labels: StringMap;
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
export function toTargetTraits({ nodeName, node, labels, spec, rttMs }: TraitSources): TargetTraits {
  return {
    labels: toTargetLabels({ nodeName, node, labels }),
    taints: (node?.spec?.taints ?? []).filter(({ key }) => !OWN_HEALTH_TAINTS.has(key)),
    cordoned: node?.spec?.unschedulable === true,
    hasNode: node !== undefined,
    isSelf: spec.self === true,
    ...(spec.prices !== undefined && { prices: toPrices(spec.prices) }),
    ...(spec.headroom !== undefined && { headroom: toHeadroom(spec.headroom) }),
    ...(rttMs !== undefined && { rttMs }),
  };
}

/** Labels that selectors are held against. */
export function toTargetLabels({ nodeName, node, labels }: Pick<TraitSources, 'nodeName' | 'node' | 'labels'>): StringMap {
  return { [HOST_NAME_LABEL]: nodeName, ...node?.metadata.labels, ...labels };
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
