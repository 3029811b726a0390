// Which fields of an object a record is made of, as data: given with the projection, so that the rest is never parsed.

/** Which fields of an object to keep. Of a list it holds for each element; texts, numbers, booleans and null are kept as they are. */
export interface SelectedFields {
  readonly [field: string]: FieldSelection | undefined;
}

/** All of a value that many objects have in common: those that bring the same one share it, deeply frozen. */
export const SHARED = 'shared';

/** A selection that depends on the other fields of the object, wherever they stand in it; undefined leaves the field out. */
export type LateSelection = (others: Readonly<Record<string, unknown>>) => true | SelectedFields | undefined;

/** What to keep of a value: all of it, some fields, or what the fields beside it say. */
export type FieldSelection = true | typeof SHARED | SelectedFields | LateSelection;

type ElementOf<V> = V extends readonly (infer Element)[] ? Element : V;
type Inner<V> = V extends object ? FieldsOf<V> : never;

/** Fields of objects of type `T`, so that a name which does not exist is no selection. */
export type FieldsOf<T> = { readonly [F in keyof T]?: true | typeof SHARED | LateSelection | Inner<ElementOf<NonNullable<T[F]>>> };
