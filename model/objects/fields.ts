// The fields of an object that a record is made of, as data, so that the rest is never parsed.

/**
 * The fields to select. For a list they apply to each element; strings, numbers, booleans and null are selected as they
 * are.
 */
export interface SelectedFields {
  readonly [field: string]: FieldSelection | undefined;
}

/** Selects a whole value that many objects have in common: equal values share one deeply frozen object. */
export const SHARED = 'shared';

/** A selection that depends on the other fields of the object, in any order; undefined omits the field. */
export type LateSelection = (others: Readonly<Record<string, unknown>>) => true | SelectedFields | undefined;

/** Selects all of a value, some fields, or what its sibling fields determine. */
export type FieldSelection = true | typeof SHARED | SelectedFields | LateSelection;

type ElementOf<V> = V extends readonly (infer Element)[] ? Element : V;
type Inner<V> = V extends object ? FieldsOf<V> : never;

/** Fields of objects of type `T`; an unknown name is a compile error. */
export type FieldsOf<T> =
  { readonly [F in keyof T]?: true | typeof SHARED | LateSelection | Inner<ElementOf<NonNullable<T[F]>>> };
