// What decisions were made on, as plain JSON and back: for what-if, for the decision log, for replay. What is read back decides alike.
import type { ClusterSummary } from '../../api/kinds/cluster-summary.ts';
import type { StringMap, Taint } from '../../api/objects/core.ts';
import type { TargetRef } from '../../model/naming/target-ref.ts';
import type { PlacementConstraints, PodToSchedule, TargetSnapshot } from '../snapshot/snapshot.ts';
import type { Rejection } from '../snapshot/rejection.ts';
import { toTargetCapacity } from '../snapshot/target-capacity.ts';
import type { NodeRequirements } from '../snapshot/node-requirements.ts';
import type { TargetTraits } from '../snapshot/target-traits.ts';

/** A target as it was at a decision. */
export interface RecordedTarget {
  readonly ref: TargetRef;
  readonly key: string;
  readonly nodeName: string;
  readonly unavailable?: Rejection;
  /** What was left of its capacity, assumed pods taken off. */
  readonly summary?: ClusterSummary;
  readonly traits?: RecordedTraits;
}

type RecordedTraits = Omit<TargetTraits, 'prices' | 'headroom'> & {
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
  readonly prices?: readonly (readonly [string, number])[];
  readonly headroom?: ClusterSummary;
};

/** A target as plain data. */
export function recordTarget({ ref, key, nodeName, unavailable, capacity, traits }: TargetSnapshot): RecordedTarget {
  return {
    ref, key, nodeName,
    ...(unavailable !== undefined && { unavailable }),
    ...(capacity !== undefined && { summary: capacity.toSummary() }),
    ...(traits !== undefined && { traits: recordTraits(traits) }),
  };
}

function recordTraits({ prices, headroom, ...traits }: TargetTraits): RecordedTraits {
  return { ...traits, ...(prices !== undefined && { prices: [...prices] }), ...(headroom !== undefined && { headroom: headroom.toSummary() }) };
}

/** The target that was recorded, with a capacity of its own. */
export function restoreTarget({ summary, traits, ...identity }: RecordedTarget): TargetSnapshot {
  return { ...identity, ...(summary !== undefined && { capacity: toTargetCapacity(summary) }), ...(traits !== undefined && { traits: restoreTraits(traits) }) };
}

function restoreTraits({ prices, headroom, ...traits }: RecordedTraits): TargetTraits {
  return { ...traits, ...(prices !== undefined && { prices: new Map(prices) }), ...(headroom !== undefined && { headroom: toTargetCapacity(headroom) }) };
}

/** Marks a Map in JSON; no key of Kubernetes begins so. */
const MAP_MARK = '$map';

/** JSON in which Maps survive. */
export function toRecordText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (part instanceof Map ? { [MAP_MARK]: [...(part as Map<unknown, unknown>)] } : part));
}

/** Reads what {@link toRecordText} wrote. Throws SyntaxError for what is no JSON. */
export function parseRecordText(text: string): unknown {
  return JSON.parse(text, (_key, part: unknown) => {
    const entries = typeof part === 'object' && part !== null && Object.hasOwn(part, MAP_MARK) ? (part as Record<string, unknown>)[MAP_MARK] : undefined;
    return Array.isArray(entries) ? new Map(entries as [unknown, unknown][]) : part;
  });
}

/** A pod as {@link toRecordText} takes it: all that decides, Maps included. */
export type RecordedPod = PodToSchedule & { readonly requirements: NodeRequirements; readonly placement?: PlacementConstraints };
