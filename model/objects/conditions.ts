// Conditions of an object's status (KEP-1623, and the older ones of pods and nodes, which have the same core). If
// nothing changes the same list is returned, so that callers can see that no write is needed.

import type { Condition } from '../../api/objects/core.ts';

/** A condition to set; {@link setCondition} computes its last transition time. */
export type ConditionUpdate = Omit<Condition, 'lastTransitionTime'>;

/** The condition of this type, if present. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** `Ready`, or the reason why it is not, and what to change. `type` is the condition that says so. */
export function readinessOf(
  conditions: readonly Condition[] | undefined, type = 'Ready',
): { readonly state: string; readonly message?: string | undefined } {
  const ready = findCondition(conditions, type);
  return ready?.status === 'True' ? { state: 'Ready' } : { state: ready?.reason ?? 'Unknown', message: ready?.message };
}

/**
 * The list with the condition of this type replaced or appended. `now` is an RFC 3339 time. `lastTransitionTime`
 * changes only with `status`. `reason`, `message` and `observedGeneration` are replaced together (missing ones are
 * cleared); other fields of the old condition stay. Returns the same list when nothing changes.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: ConditionUpdate,
  now: string,
): readonly Condition[] {
  const list = conditions ?? [];
  const index = list.findIndex(({ type }) => type === condition.type);
  const existing = list[index];
  if (existing === undefined) return [...list, { ...condition, lastTransitionTime: now }];
  const updated = toUpdatedCondition(existing, condition, now);
  return isSameCondition(existing, updated) ? list : list.with(index, updated);
}

/**
 * A status with conditions and the `metadata.generation` that it describes, which GitOps tools compare with the spec's.
 */
export interface ConditionedStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly Condition[];
}

/** The generation that a status describes, and the time. */
export interface Observation {
  /** The object's `metadata.generation`. */
  readonly generation: number;
  /** RFC 3339. */
  readonly now: string;
}

/** The status with these conditions of this generation; `before` itself when nothing changes. */
export function withConditions<S extends ConditionedStatus>(
  before: S, updates: readonly ConditionUpdate[], { generation, now }: Observation,
): S {
  const observedGeneration = generation;
  const conditions = updates.reduce<readonly Condition[]>(
    (list, update) => setCondition(list, { ...update, observedGeneration }, now), before.conditions ?? [],
  );
  const isSame = conditions === before.conditions && observedGeneration === before.observedGeneration;
  return isSame ? before : { ...before, observedGeneration, conditions };
}

function toUpdatedCondition(existing: Condition, update: ConditionUpdate, now: string): Condition {
  const { reason: _reason, message: _message, observedGeneration: _observedGeneration, ...rest } = existing;
  const since = existing.status === update.status ? existing.lastTransitionTime : undefined;
  return { ...rest, ...update, lastTransitionTime: since ?? now };
}

// The API server writes `lastProbeTime: null` where a client omitted the field, so both are equal.
function isSameCondition(left: Condition, right: Condition): boolean {
  const [a, b] = [fieldsOf(left), fieldsOf(right)];
  return [...a.keys(), ...b.keys()].every((key) => (a.get(key) ?? undefined) === (b.get(key) ?? undefined));
}

function fieldsOf(condition: Condition): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(condition));
}
