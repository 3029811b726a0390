// Fields of JSON objects by path: `spec.ports[].nodePort` is that field of every port. Paths are constants in the code,
// never user input, so that tables can name fields and one function reads or removes them.
import { isRecord } from './json-values.ts';

/** A compiled path. */
export type FieldPath = readonly { readonly field: string; readonly each: boolean }[];

/** Compiles the text of a path. */
export function fieldPath(text: string): FieldPath {
  return text.split('.').map((step) => ({ field: step.replace(/\[\]$/, ''), each: step.endsWith('[]') }));
}

/** All values at the path; none where a field on the way is missing, null or of another shape. */
export function valuesAt(value: unknown, path: FieldPath): unknown[] {
  const found: unknown[] = [];
  collect(value, path, 0, found);
  return found;
}

function collect(value: unknown, path: FieldPath, depth: number, found: unknown[]): void {
  const step = path[depth];
  if (step === undefined) {
    found.push(value);
    return;
  }
  const inner = isRecord(value) && Object.hasOwn(value, step.field) ? value[step.field] : undefined;
  if (inner === undefined || inner === null) return;
  if (!step.each) collect(inner, path, depth + 1, found);
  else if (Array.isArray(inner)) for (const item of inner) collect(item, path, depth + 1, found);
}

/** The object without the field at the path, at every occurrence. Unaffected parts are shared with the object. */
export function withoutField<T extends object>(object: T, path: FieldPath): T {
  return drop(object, path) as T;
}

function drop(value: unknown, [step, ...rest]: FieldPath): unknown {
  if (step === undefined || !isRecord(value) || !Object.hasOwn(value, step.field)) return value;
  const { [step.field]: inner, ...others } = value;
  if (rest.length === 0) return others;
  const isEach = step.each && Array.isArray(inner);
  const changed = isEach ? inner.map((item: unknown) => drop(item, rest)) : drop(inner, rest);
  return { ...value, [step.field]: changed };
}
