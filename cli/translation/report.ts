// What a conversion says about the objects that it was given: fields without a counterpart, and differences to know of.

/** One remark about a field of an object. */
export interface Finding {
  /** `lost`: what the object asks for would not happen. `note`: it happens in another way. */
  readonly kind: 'lost' | 'note';
  /** `kind/namespace/name`. */
  readonly object: string;
  /** Path of the field; empty for the whole object. */
  readonly field: string;
  readonly message: string;
}

/** Collects findings about one object. */
export class Report {
  readonly findings: Finding[] = [];
  readonly #object: string;
  #isUnreadable = false;

  constructor(object: string) {
    this.#object = object;
  }

  /** Something that the object asks for has no counterpart, and why. */
  lost(field: string, message: string): void {
    this.findings.push({ kind: 'lost', object: this.#object, field, message });
  }

  /**
   * Something cannot be read. It might restrict where pods run, so nothing is converted of an object that has such a
   * field.
   */
  unreadable(field: string, message: string): void {
    this.#isUnreadable = true;
    this.lost(field, message);
  }

  /** Whether there was such a field. */
  get isUnreadable(): boolean {
    return this.#isUnreadable;
  }

  /** Something is done in another way, or is left to the user. */
  note(field: string, message: string): void {
    this.findings.push({ kind: 'note', object: this.#object, field, message });
  }
}
