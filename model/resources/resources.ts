// Arithmetic on resource lists, the vectors that scheduling compares: requests, free capacity, totals. Resource names
// come from users, so amounts are in Maps, where `__proto__` is an ordinary key. Every function returns a new map and
// does not modify its arguments.

import type { ResourceList } from '../../api/objects/core.ts';
import {
  formatAmount,
  formatBytes,
  formatMilliCpu,
  parseQuantity,
  toMilli,
  toWhole,
  type Amount,
  type Bytes,
  type InvalidQuantity,
  type MilliCpu,
  type Quantity,
} from './quantity.ts';

/**
 * Amounts by resource name: `cpu` in milli-CPU, everything else in whole units (bytes, pods, devices). Safe integers.
 */
export type ResourceAmounts = ReadonlyMap<string, number>;

/** The resource that is counted in milli-CPU. */
export const CPU = 'cpu';
/** The resource of which every pod needs one. */
export const PODS = 'pods';
/** Resource names with this prefix are counted in bytes. */
export const HUGE_PAGES_PREFIX = 'hugepages-';

/** A vector without any resource. */
export const NO_AMOUNTS: ResourceAmounts = new Map();

/** An entry of a resource list that is not a valid quantity. */
export interface InvalidResource {
  readonly resource: string;
  readonly text: string;
  readonly message: string;
}

/** The parsed and the invalid entries of {@link parseResourceList}. */
export interface ParsedResourceList {
  readonly amounts: ResourceAmounts;
  readonly invalid: readonly InvalidResource[];
}

const BYTE_RESOURCES: ReadonlySet<string> = new Set(['memory', 'ephemeral-storage', 'storage']);

/** Whether a resource is counted in bytes, and so printed with binary suffixes. */
export function isByteResource(resource: string): boolean {
  return BYTE_RESOURCES.has(resource) || resource.startsWith(HUGE_PAGES_PREFIX);
}

/** Parses a resource list, rounding up as kube-scheduler does; invalid quantities are reported and left out. */
export function parseResourceList(list: ResourceList | undefined): ParsedResourceList {
  const amounts = new Map<string, number>();
  const invalid: InvalidResource[] = [];
  for (const [resource, value] of Object.entries(list ?? {})) {
    const amount = readAmount(resource === CPU ? MILLIS : WHOLES, value);
    if (typeof amount === 'number') amounts.set(resource, amount);
    else invalid.push(
      { resource, text: typeof value === 'string' ? value : JSON.stringify(value), message: amount.message },
    );
  }
  return { amounts, invalid };
}

/** Cache of parsed amounts of one unit, by text: a cluster's pods have few distinct ones. */
interface KnownAmounts {
  readonly toAmount: (quantity: Quantity) => number;
  readonly byText: Map<string, number>;
}

const MILLIS: KnownAmounts = { toAmount: toMilli, byText: new Map() };
const WHOLES: KnownAmounts = { toAmount: toWhole, byText: new Map() };
/** Maximum number of cached texts, and of characters in one. */
const REMEMBERED = { texts: 10_000, length: 32 };

function readAmount({ toAmount, byText }: KnownAmounts, value: string | number): number | InvalidQuantity {
  const known = typeof value === 'string' ? byText.get(value) : undefined;
  if (known !== undefined) return known;
  const parsed = parseQuantity(value);
  if (parsed.kind === 'invalid') return parsed;
  const amount = toAmount(parsed);
  if (typeof value === 'string' && value.length <= REMEMBERED.length && byText.size < REMEMBERED.texts) {
    byText.set(value, amount);
  }
  return amount;
}

/** Sum of both. */
export function addAmounts(left: ResourceAmounts, right: ResourceAmounts): ResourceAmounts {
  return combine(left, right, (a, b) => a + b);
}

/** Left minus right; a resource that only the right one has is negative. */
export function subtractAmounts(left: ResourceAmounts, right: ResourceAmounts): ResourceAmounts {
  return combine(left, right, (a, b) => a - b);
}

/** The greater amount of each resource; a missing one counts 0. */
export function maxAmounts(left: ResourceAmounts, right: ResourceAmounts): ResourceAmounts {
  return combine(left, right, Math.max);
}

// Saturates as parsing does, so that sums of extreme amounts stay comparable.
function combine(
  left: ResourceAmounts, right: ResourceAmounts, operation: (a: number, b: number) => number,
): ResourceAmounts {
  const result = new Map<string, number>();
  for (const [resource, amount] of left) result.set(resource, saturated(operation(amount, right.get(resource) ?? 0)));
  for (const [resource, amount] of right) {
    if (!left.has(resource)) result.set(resource, saturated(operation(0, amount)));
  }
  return result;
}

function saturated(amount: number): number {
  return Math.min(Math.max(amount, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** One amount in Kubernetes' notation: CPU as `500m`, bytes as `1Gi`, anything else as a decimal. */
export function formatResourceAmount(resource: string, amount: number): string {
  if (resource === CPU) return formatMilliCpu(amount as MilliCpu);
  return isByteResource(resource) ? formatBytes(amount as Bytes) : formatAmount(amount as Amount);
}

/** The resource list in Kubernetes' canonical notation; {@link parseResourceList} parses it back. */
export function formatResourceList(amounts: ResourceAmounts): ResourceList {
  return Object.fromEntries(
    [...amounts].map(([resource, amount]) => [resource, formatResourceAmount(resource, amount)]),
  );
}
