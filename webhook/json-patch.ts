// The smallest JSON patch (RFC 6902) from a pod to its proxy. Works on plain JSON, so fields that we do not know survive.

/** One operation; `path` is a JSON pointer (RFC 6901). */
export type PatchOperation =
  | { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

type Json = Readonly<Record<string, unknown>>;

/** Operations that turn `before` into `after`. Objects are compared key by key; lists and scalars that differ are replaced whole. */
export function diffJson(before: Json, after: Json, pointer = ''): PatchOperation[] {
  const operations: PatchOperation[] = [];
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) operations.push({ op: 'remove', path: child(pointer, key) });
  }
  for (const [key, value] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) operations.push({ op: 'add', path: child(pointer, key), value });
    else if (before[key] !== value) operations.push(...diffValue(before[key], value, child(pointer, key)));
  }
  return operations;
}

function diffValue(before: unknown, after: unknown, path: string): PatchOperation[] {
  if (isObject(before) && isObject(after)) return diffJson(before, after, path);
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: 'replace', path, value: after }];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function child(pointer: string, key: string): string {
  return `${pointer}/${key.includes('~') ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key.replaceAll('/', '~1')}`;
}
