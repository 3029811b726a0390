// Finds what a projection reads of an object although the selection that goes with it leaves that out: it would be
// undefined in production.
import { SHARED, type FieldSelection, type SelectedFields } from '../../../model/objects/fields.ts';

/**
 * The paths that `use` reads of `object` and that `fields` does not keep, such as `spec.hostNetwork`; those without a
 * value, too.
 */
export function unselectedReads<T extends object>(
  object: T, fields: SelectedFields, use: (recorded: T) => unknown,
): string[] {
  const unselected: string[] = [];
  use(recording(object, fields, { path: '', unselected }) as T);
  return unselected;
}

interface Recording {
  readonly path: string;
  readonly unselected: string[];
}

function recording(value: unknown, fields: SelectedFields, { path, unselected }: Recording): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name);
      if (typeof name === 'symbol' || (Array.isArray(target) && !/^\d+$/.test(name))) return member;
      if (Array.isArray(target)) return recording(member, fields, { path: `${path}[]`, unselected });
      const at = { path: path === '' ? name : `${path}.${name}`, unselected };
      const selection = decided(fields[name], target);
      if (selection === undefined) unselected.push(at.path);
      return selection === true || selection === undefined ? member : recording(member, selection, at);
    },
  });
}

function decided(selection: FieldSelection | undefined, others: object): true | SelectedFields | undefined {
  if (selection === SHARED) return true;
  return typeof selection === 'function' ? selection(others as Readonly<Record<string, unknown>>) : selection;
}
