// Reads fields of an untrusted object. Nothing is ignored silently: a value of another type is
// reported, and so is every field that was not read.
import type { LabelSelector } from '../../api/objects/selectors.ts';
import { isRecord } from '../../model/objects/json-values.ts';
import { selectorProblem } from '../../model/objects/label-selector.ts';
import type { Fields } from './manifest.ts';
import type { Report } from './report.ts';

/** The fields of one object within a manifest; null counts as missing, as in Kubernetes. */
export class FieldReader {
  readonly #fields: Fields;
  readonly #path: string;
  readonly #report: Report;
  readonly #read = new Set<string>();

  constructor(fields: Fields, path: string, report: Report) {
    this.#fields = fields;
    this.#path = path;
    this.#report = report;
  }

  /** Path of a field, for findings. */
  at(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }

  /** Whether the field is there. Does not count as reading it. */
  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name) && this.#fields[name] !== null && this.#fields[name] !== undefined;
  }

  /** Any value. */
  value(name: string): unknown {
    this.#read.add(name);
    return this.has(name) ? this.#fields[name] : undefined;
  }

  text(name: string): string | undefined {
    return this.#typed(name, 'a string', (value) => (typeof value === 'string' ? value : undefined));
  }

  /** An integer from 0. */
  count(name: string): number | undefined {
    return this.#typed(
      name, 'an integer, 0 or more',
      (value) => (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined),
    );
  }

  flag(name: string): boolean | undefined {
    return this.#typed(name, 'true or false', (value) => (typeof value === 'boolean' ? value : undefined));
  }

  /** A list of strings; empty when it is missing. */
  texts(name: string): readonly string[] {
    const isText = (value: unknown): value is readonly string[] =>
      Array.isArray(value) && value.every((item) => typeof item === 'string');
    return this.#typed(name, 'a list of strings', (value) => (isText(value) ? value : undefined)) ?? [];
  }

  /** An object as it is. */
  map(name: string): Fields | undefined {
    return this.#typed(name, 'an object', (value) => (isRecord(value) ? value : undefined));
  }

  /** A reader for an object's fields; undefined when the object is missing. */
  record(name: string): FieldReader | undefined {
    const fields = this.map(name);
    return fields === undefined ? undefined : new FieldReader(fields, this.at(name), this.#report);
  }

  /** The same; an empty object when it is missing. */
  part(name: string): FieldReader {
    return this.record(name) ?? new FieldReader({}, this.at(name), this.#report);
  }

  /** A list of objects as they are; empty when it is missing. */
  maps(name: string): readonly Fields[] {
    const isList = (value: unknown): value is readonly Fields[] => Array.isArray(value) && value.every(isRecord);
    return this.#typed(name, 'a list of objects', (value) => (isList(value) ? value : undefined)) ?? [];
  }

  /** Readers for the fields of a list's objects; empty when the list is missing. */
  records(name: string): readonly FieldReader[] {
    return this.maps(name).map((fields, index) => new FieldReader(fields, `${this.at(name)}[${index}]`, this.#report));
  }

  /** A `meta/v1` LabelSelector that Kubernetes would accept. */
  selector(name: string): LabelSelector | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const problem = selectorProblem(value) ?? unknownField(value);
    if (problem === undefined) return value as LabelSelector;
    this.#report.unreadable(this.at(name), `it ${problem}`);
    return undefined;
  }

  /** Reports fields as ones without a counterpart, where they are set. `why` says what to do instead. */
  reject(why: Readonly<Record<string, string>>): void {
    for (const [name, message] of Object.entries(why)) {
      if (this.value(name) !== undefined) this.#report.lost(this.at(name), message);
    }
  }

  /** Reports all fields that have not been read. */
  finish(): void {
    for (const name of Object.keys(this.#fields)) {
      if (!this.#read.has(name) && this.has(name)) {
        this.#report.unreadable(this.at(name), 'this field is not known here');
      }
    }
  }

  #typed<T>(name: string, what: string, typed: (value: unknown) => T | undefined): T | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    const found = typed(value);
    if (found === undefined) this.#report.unreadable(this.at(name), `it is not ${what}`);
    return found;
  }
}

const SELECTOR_FIELDS: ReadonlySet<string> = new Set(['matchLabels', 'matchExpressions']);

/** A misspelt field would leave a selector that selects everything. */
function unknownField(selector: unknown): string | undefined {
  const field = Object.keys(isRecord(selector) ? selector : {}).find((name) => !SELECTOR_FIELDS.has(name));
  return field === undefined ? undefined : `has a field ${JSON.stringify(field)}, which is not known`;
}
