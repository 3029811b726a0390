// Inputs of decisions as plain JSON and back, for `isthmus plan`, the decision log and replay. Restored inputs give the
// same decisions.
import { isRecord } from '../../model/objects/json-values.ts';
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { StringMap, Taint } from '../../api/objects/core.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { toTargetCapacity } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';
import type { VirtualNodeInfo } from '../snapshot/virtual-node-info.ts';

/** A target at the time of a decision. */
export interface RecordedTarget {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
  readonly unavailable?: Rejection;
  /** Its remaining capacity, without assumed pods. */
  readonly summary?: ClusterSummary;
  readonly nodeInfo?: RecordedNodeInfo;
}

type RecordedNodeInfo = Omit<VirtualNodeInfo, 'prices' | 'headroom'> & {
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly prices?: readonly (readonly [string, number])[];
  readonly headroom?: ClusterSummary;
};

/** A target as plain data. */
export function recordTarget({ ref, key, nodeName, unavailable, capacity, nodeInfo }: TargetSnapshot): RecordedTarget {
  return {
    ref, key, nodeName,
    ...(unavailable !== undefined && { unavailable }),
    ...(capacity !== undefined && { summary: capacity.toSummary() }),
    ...(nodeInfo !== undefined && { nodeInfo: recordNodeInfo(nodeInfo) }),
  };
}

function recordNodeInfo({ prices, headroom, ...nodeInfo }: VirtualNodeInfo): RecordedNodeInfo {
  return {
    ...nodeInfo, ...(prices !== undefined && { prices: [...prices] }),
    ...(headroom !== undefined && { headroom: headroom.toSummary() }),
  };
}

/** The recorded target, with a capacity object of its own. */
export function restoreTarget({ summary, nodeInfo, ...identity }: RecordedTarget): TargetSnapshot {
  return {
    ...identity, ...(summary !== undefined && { capacity: toTargetCapacity(summary) }),
    ...(nodeInfo !== undefined && { nodeInfo: restoreNodeInfo(nodeInfo) }),
  };
}

function restoreNodeInfo({ prices, headroom, ...nodeInfo }: RecordedNodeInfo): VirtualNodeInfo {
  return {
    ...nodeInfo, ...(prices !== undefined && { prices: new Map(prices) }),
    ...(headroom !== undefined && { headroom: toTargetCapacity(headroom) }),
  };
}

/** Key that represents a Map in JSON; no Kubernetes key starts like this. */
const MAP_MARK = '$map';

/** JSON that preserves Maps. */
export function toRecordText(value: unknown): string {
  return JSON.stringify(
    value, (_key, part: unknown) => (part instanceof Map ? { [MAP_MARK]: [...(part as Map<unknown, unknown>)] } : part),
  );
}

/** Parses the output of {@link toRecordText}. Throws SyntaxError for invalid JSON. */
export function parseRecordText(text: string): unknown {
  return JSON.parse(text, (_key, part: unknown) => {
    const entries = isRecord(part) ? part[MAP_MARK] : undefined;
    return Array.isArray(entries) ? new Map(entries as [unknown, unknown][]) : part;
  });
}

/** A pod as {@link toRecordText} stores it: all inputs of the decision, Maps included. */
export type RecordedPod = PodToSchedule
  & { readonly requirements: NodeRequirements; readonly placement?: PlacementConstraints };
