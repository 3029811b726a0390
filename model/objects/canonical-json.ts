// A canonical text of a value, as the input of digests. Field order and null or undefined fields make no difference:
// API servers print fields in their own order, and null for unset ones.
import { hash } from 'node:crypto';

/**
 * JSON (RFC 8259) with fields sorted by name, without null and undefined. Fast, because it runs for each event of a
 * pod.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'null' : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of inOrder(Object.keys(fields))) {
    const field = fields[name];
    if (field === null || field === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}

/** Most fields come in order: API servers print those of custom resources and maps sorted. */
function inOrder(names: readonly string[]): readonly string[] {
  for (let index = 1; index < names.length; index += 1) {
    if ((names[index] ?? '') < (names[index - 1] ?? '')) return names.toSorted();
  }
  return names;
}

/**
 * A short digest of an object's contents, for caches that do not store the contents: equal for equal values; see
 * {@link canonicalJson}.
 */
export function contentDigest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64');
}
