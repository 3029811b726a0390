// Remarks about one object, and readers of its untrusted fields.
import type { StringMap } from '../../api/objects/core.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import type { Fields } from '../translation/manifest.ts';

/** A remark about a field of an object. */
export interface Remark {
  /** `error`: it will not work, or not elect anything. `warning`: it needs something, or works in another way. */
  readonly level: 'error' | 'warning';
  /** Path of the field; empty for the whole object. */
  readonly field: string;
  /** The reason, and what to change. */
  readonly message: string;
}

/** Something that will not work. */
export function error(field: string, message: string): Remark {
  return { level: 'error', field, message };
}

/** Something that works in another way than in one cluster, or needs something. */
export function warning(field: string, message: string): Remark {
  return { level: 'warning', field, message };
}

/** The texts of a map; others are left to the API server. */
export function textsIn(fields: Fields): StringMap {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The objects of a list; empty where it is none. */
export function listIn(fields: Fields, name: string): readonly Fields[] {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** A text; undefined where it is missing, empty or something else. */
export function textIn(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
