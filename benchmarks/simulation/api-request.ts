// A request to a simulated API server: its path (Kubernetes API concepts, "Resource URIs"), selectors and patches.
import type { KubernetesObject } from '../../api/objects/core.ts';
import type { StoredObject } from './object-store.ts';

/** What a path names. */
export interface RequestedPath {
  /** `plural.group`, or `plural` for the core group. */
  readonly collection: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

/** Parses a path below `/api` or `/apis`; undefined for others. */
export function parsePath(path: string): RequestedPath | undefined {
  const parts = path.split('/').slice(1).map(decodeURIComponent);
  if (parts[0] === 'api') return toPath(parts.slice(2), '');
  return parts[0] === 'apis' ? toPath(parts.slice(3), `.${parts[1] ?? ''}`) : undefined;
}

function toPath(parts: readonly string[], suffix: string): RequestedPath | undefined {
  const [first, namespace = '', third = ''] = parts;
  const isInNamespace = first === 'namespaces' && third !== '' && third !== 'status' && third !== 'finalize';
  const [plural, name, subresource] = isInNamespace ? parts.slice(2) : parts;
  if (plural === undefined) return undefined;
  return {
    collection: plural + suffix, ...(isInNamespace && { namespace }), ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

/** Whether an object is selected by a namespace, and by label and field selectors of equalities. */
export function selects(query: URLSearchParams, namespace: string | undefined): (object: KubernetesObject) => boolean {
  const equalities = (text: string | null) => (text === null || text === '' ? [] : text.split(',')).map((part) => {
    const [key = '', value] = part.split(/==?/);
    return [key, value] as const;
  });
  const [labels, fields] = [equalities(query.get('labelSelector')), equalities(query.get('fieldSelector'))];
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace)
    && labels.every(([key, value]) => {
      const held = object.metadata.labels?.[key];
      return value === undefined ? held !== undefined : held === value;
    })
    && fields.every(([path, value]) => (fieldOf(object, path) ?? '') === value);
}

function fieldOf(object: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>(
    (value, name) => (value as Readonly<Record<string, unknown>> | undefined)?.[name], object,
  );
}

/**
 * A patch applied: a merge patch (RFC 7386), in which conditions of a strategic one are merged by type. An apply counts
 * as a merge.
 */
export function patched(object: StoredObject, patch: unknown, isStrategic: boolean): StoredObject {
  return merge(object, patch, isStrategic, '') as StoredObject;
}

function merge(value: unknown, patch: unknown, isStrategic: boolean, field: string): unknown {
  if (isStrategic && field === 'conditions' && Array.isArray(patch)) return mergedConditions(value, patch);
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const merged: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {};
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) delete merged[name];
    else merged[name] = merge(merged[name], part, isStrategic, name);
  }
  return merged;
}

function mergedConditions(value: unknown, patch: readonly unknown[]): readonly unknown[] {
  const typeOf = (condition: unknown) => (condition as { readonly type?: unknown }).type;
  const types = new Set(patch.map(typeOf));
  return [...(Array.isArray(value) ? value : []).filter((condition) => !types.has(typeOf(condition))), ...patch];
}
