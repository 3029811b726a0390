// Whether two objects say the same, as a short text: caches hold digests where they need not hold contents.
import { createHash } from 'node:crypto';

/**
 * A text that is equal for equal values. The order of fields does not count, nor a field that is null or undefined: API servers print
 * fields in an order of their own, and null for what was never set.
 */
export function contentDigest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value, withSortedFields) ?? '').digest('base64');
}

function withSortedFields(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
