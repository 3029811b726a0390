// A canonical text of a value, as the input of digests. Field order and null or undefined fields make no difference:
// API servers print fields in their own order, and null for unset ones.
import { hash } from 'node:crypto';

/** Above so many fields insertion is no longer the fastest sort. */
const MANY_FIELDS = 32;
/** Names that JSON writes as they are, such as those of all fields of Kubernetes. */
const PLAIN_NAME = /^[A-Za-z0-9]+$/;

/**
 * JSON (RFC 8259) with fields sorted by name, without null and undefined. Fast, because it runs for each event of a
 * pod.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === undefined ? 'null' : JSON.stringify(value);
  if (Array.isArray(value)) return textOfList(value);
  const fields = value as Readonly<Record<string, unknown>>;
  let text = '{';
  for (const name of sorted(Object.keys(fields))) {
    const field = fields[name];
    if (field === null || field === undefined) continue;
    text += `${text === '{' ? '' : ','}${quoted(name)}:${canonicalJson(field)}`;
  }
  return `${text}}`;
}

function textOfList(list: readonly unknown[]): string {
  let text = '[';
  for (const entry of list) text += `${text === '[' ? '' : ','}${canonicalJson(entry)}`;
  return `${text}]`;
}

/** Sorts in place by insertion. The engine's own sort copies the list, and objects have few fields. */
function sorted(names: string[]): readonly string[] {
  if (names.length > MANY_FIELDS) return names.toSorted();
  for (let next = 1; next < names.length; next += 1) {
    const name = names[next] ?? '';
    let at = next;
    for (; at > 0 && (names[at - 1] ?? '') > name; at -= 1) names[at] = names[at - 1] ?? '';
    names[at] = name;
  }
  return names;
}

function quoted(name: string): string {
  return PLAIN_NAME.test(name) ? `"${name}"` : JSON.stringify(name);
}

/**
 * A short digest of an object's contents, for caches that do not store the contents: equal for equal values; see
 * {@link canonicalJson}.
 */
export function contentDigest(value: unknown): string {
  return hash('sha256', canonicalJson(value), 'base64');
}
