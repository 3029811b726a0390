// The smallest JSON patch (RFC 6902) from one object to another. Works on plain JSON, so unknown fields survive.
import { isRecord } from '../../model/objects/json-values.ts';

/** One operation; `path` is a JSON pointer (RFC 6901). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

type Json = Readonly<Record<string, unknown>>;

/**
 * Operations that turn `before` into `after`. Objects are compared key by key; differing lists and scalars are replaced
 * whole.
 */
export function diffJson(before: Json, after: Json): PatchOperation[] {
  const patch: PatchOperation[] = [];
  diffObject(patch, '', before, after);
  return patch;
}

/** Appends the operations for one member of an object; undefined means a missing member. */
export function diffMember(patch: PatchOperation[], path: string, before: unknown, after: unknown): void {
  if (before === after) return;
  if (after === undefined) patch.push({ op: 'remove', path });
  else if (before === undefined) patch.push({ op: 'add', path, value: after });
  else if (isRecord(before) && isRecord(after)) diffObject(patch, path, before, after);
  else if (!isSameJson(before, after)) patch.push({ op: 'replace', path, value: after });
}

function diffObject(patch: PatchOperation[], pointer: string, before: Json, after: Json): void {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) patch.push({ op: 'remove', path: memberPointer(pointer, key) });
  }
  for (const [key, value] of Object.entries(after)) {
    diffMember(patch, memberPointer(pointer, key), Object.hasOwn(before, key) ? before[key] : undefined, value);
  }
}

/** The JSON pointer to a member of the object at `pointer`. */
export function memberPointer(pointer: string, key: string): string {
  if (!key.includes('~') && !key.includes('/')) return `${pointer}/${key}`;
  return `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function isSameJson(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other) && one.length !== other.length) return false;
  return JSON.stringify(one) === JSON.stringify(other);
}
