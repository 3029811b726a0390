// A node of the target as its own controllers cache it: what decides whether it may take a pod.
import type { Node, StringMap, Taint } from '../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../api/objects/keys.ts';
import { findCondition } from '../../model/objects/conditions.ts';
import { parseResourceList, type ResourceAmounts } from '../../model/resources/resources.ts';

/** A node that may take pods. */
export interface TargetNode {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly capacity: ResourceAmounts;
  readonly allocatable: ResourceAmounts;
}

/** The record of a node; undefined when it may not take pods now: it is cordoned, not ready, or virtual. */
export function toTargetNodeRecord(node: Node): TargetNode | undefined {
  if (!mayTakePods(node)) return undefined;
  const { labels = {}, name = '' } = node.metadata;
  return {
    name,
    labels,
    taints: (node.spec?.taints ?? []).map(toPublishedTaint),
    capacity: parseResourceList(node.status?.capacity).amounts,
    allocatable: parseResourceList(node.status?.allocatable).amounts,
  };
}

function mayTakePods({ metadata, spec, status }: Node): boolean {
  const isReady = findCondition(status?.conditions, 'Ready')?.status === 'True';
  return isReady && spec?.unschedulable !== true && metadata.labels?.[PROVIDER_KEY] !== PROVIDER_VALUE;
}

/**
 * Node controllers add timestamps to taints, which would give every node its own group, and the CRD has no such field.
 */
function toPublishedTaint({ key, value, effect }: Taint): Taint {
  return value === undefined ? { key, effect } : { key, value, effect };
}
