// Reads selected fields of JSON straight from its bytes. Other fields are skipped and never become objects: of a pod's
// five kilobytes a controller reads a tenth. Selected values are those that JSON.parse returns, since most are parsed
// by it.
import { SHARED, type FieldSelection, type LateSelection, type SelectedFields } from '../../model/objects/fields.ts';
import { placeForScan } from './json-nesting.ts';
import { SharedValues } from './shared-values.ts';
import { CODES, endOfValue, malformed, skipSpace } from './json-scan.ts';

interface Field {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly selection: Selection;
}

interface Fields {
  readonly kind: 'fields';
  /** Grouped by the byte length of their names, so that most other keys are ruled out at once. */
  readonly byLength: readonly (readonly Field[] | undefined)[];
  readonly byName: ReadonlyMap<string, Field>;
}

type Selection = { readonly kind: 'whole' } | { readonly kind: 'shared' } | Fields
  | { readonly kind: 'late'; readonly decide: LateSelection };

const { quote: QUOTE, comma: COMMA, colon: COLON, backslash: BACKSLASH } = CODES;
const { openBrace: OPEN_BRACE, closeBrace: CLOSE_BRACE, openBracket: OPEN_BRACKET, closeBracket: CLOSE_BRACKET } =
  CODES;
const FIRST_NON_ASCII = 0x80;
const NO_BYTES = Buffer.alloc(0);
/** Recognized without calling the parser. */
const LITERALS = [true, false, null].map((value) => ({ text: Buffer.from(String(value)), value }));

/** Reads selected fields of UTF-8 JSON, one document at a time. */
export class FieldReader {
  readonly #selection: Selection;
  readonly #shared = new SharedValues(parse);
  #bytes: Buffer = NO_BYTES;
  #at = 0;
  #end = 0;

  /** Throws RangeError for a field `__proto__`. */
  constructor(selection: true | SelectedFields) {
    this.#selection = compile(selection);
  }

  /**
   * The selected part of the document between two indexes. Of a repeated key the last one counts.
   * @throws SyntaxError when a selected part is malformed or the document ends early; other parts are not checked.
   */
  read(bytes: Buffer, start = 0, end = bytes.length): unknown {
    this.#place(bytes, start, end);
    const value = this.#value(this.#selection);
    const [read, at] = [this.#bytes, this.#at];
    this.#bytes = NO_BYTES; // an idle reader must not keep a page alive
    if (at > this.#end || skipSpace(read, at) < this.#end) throw malformed(at);
    return value;
  }

  #place(bytes: Buffer, start: number, end: number): void {
    const memory = placeForScan(bytes, start, end);
    [this.#bytes, this.#at, this.#end] = memory === undefined ? [bytes, start, end] : [memory, 0, end - start];
  }

  #value(selection: Selection): unknown {
    const start = skipSpace(this.#bytes, this.#at);
    this.#at = start;
    const code = this.#bytes[start];
    if (selection.kind === 'shared') return this.#sharedValue();
    if (code === QUOTE) return this.#text();
    if (selection.kind === 'fields') {
      if (code === OPEN_BRACE) return this.#object(selection);
      if (code === OPEN_BRACKET) return this.#list(selection);
    }
    this.#at = endOfValue(this.#bytes, start, this.#end);
    return parse(this.#bytes, start, this.#at);
  }

  #sharedValue(): unknown {
    const start = this.#at;
    this.#at = endOfValue(this.#bytes, start, this.#end);
    if (this.#at > this.#end) throw malformed(this.#end);
    return this.#shared.get(this.#bytes, start, this.#at);
  }

  #object(fields: Fields): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    let late: { readonly field: Field; readonly decide: LateSelection; readonly at: number }[] | undefined;
    for (let more = this.#open(CLOSE_BRACE); more; more = this.#goOn(CLOSE_BRACE)) {
      const field = this.#key(fields);
      this.#expect(COLON);
      if (field === undefined || field.selection.kind === 'late') {
        if (field?.selection.kind === 'late') {
          (late ??= []).push({ field, decide: field.selection.decide, at: this.#at });
        }
        this.#at = endOfValue(this.#bytes, skipSpace(this.#bytes, this.#at), this.#end);
      } else object[field.name] = this.#value(field.selection);
    }
    const end = this.#at;
    for (const { field, decide, at } of late ?? []) {
      const selection = decide(object);
      if (selection === undefined) continue;
      this.#at = at;
      object[field.name] = this.#value(compiled(selection));
    }
    this.#at = end;
    return object;
  }

  #list(selection: Selection): unknown[] {
    const list: unknown[] = [];
    for (let more = this.#open(CLOSE_BRACKET); more; more = this.#goOn(CLOSE_BRACKET)) {
      list.push(this.#value(selection));
    }
    return list;
  }

  /**
   * Moves behind the opening bracket or brace, and behind its close if that follows; returns whether there is a member.
   */
  #open(close: number): boolean {
    const first = skipSpace(this.#bytes, this.#at + 1);
    const isEmpty = this.#bytes[first] === close;
    this.#at = isEmpty ? first + 1 : first;
    return !isEmpty;
  }

  /** Moves behind the comma or the close after a member; returns whether there is another member. */
  #goOn(close: number): boolean {
    const at = skipSpace(this.#bytes, this.#at);
    const code = this.#bytes[at];
    if (code !== COMMA && code !== close) throw malformed(at);
    this.#at = at + 1;
    return code === COMMA;
  }

  #expect(code: number): void {
    const at = skipSpace(this.#bytes, this.#at);
    if (this.#bytes[at] !== code) throw malformed(at);
    this.#at = at + 1;
  }

  /** The field of the next key, if it is selected; moves behind the key. */
  #key({ byLength, byName }: Fields): Field | undefined {
    const bytes = this.#bytes;
    this.#expect(QUOTE);
    const start = this.#at;
    let at = start;
    for (let code = bytes[at]; code !== QUOTE; code = bytes[at]) {
      if (code === undefined) throw malformed(at);
      if (code === BACKSLASH) return this.#escapedKey(start - 1, byName);
      at += 1;
    }
    this.#at = at + 1;
    for (const field of byLength[at - start] ?? []) {
      if (isAt(field.bytes, bytes, start)) return field;
    }
    return undefined;
  }

  #escapedKey(at: number, byName: Fields['byName']): Field | undefined {
    this.#at = at;
    return byName.get(this.#text());
  }

  /** The string that begins here; its quote is the next byte. */
  #text(): string {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    let at = start;
    let seen = 0;
    for (let code = bytes[at]; code !== QUOTE; code = bytes[at]) {
      if (code === undefined) throw malformed(at);
      if (code === BACKSLASH || code < 0x20) seen |= FIRST_NON_ASCII; // an escape or an error: leave it to JSON.parse
      seen |= code;
      at += code === BACKSLASH ? 2 : 1;
    }
    this.#at = at + 1;
    if (seen < FIRST_NON_ASCII) return bytes.toString('latin1', start, at);
    return JSON.parse(bytes.toString('utf8', start - 1, at + 1)) as string;
  }
}

function parse(bytes: Buffer, start: number, end: number): unknown {
  for (const { text, value } of LITERALS) if (text.length === end - start && isAt(text, bytes, start)) return value;
  return JSON.parse(bytes.toString('utf8', start, end));
}

function isAt(expected: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let i = 0; i < expected.length; i += 1) if (expected[i] !== bytes[from + i]) return false;
  return true;
}

const remembered = new WeakMap<SelectedFields, Selection>();

/** As {@link compile}, memoized: late selections are mostly the same few objects. */
function compiled(selection: true | SelectedFields): Selection {
  if (selection === true) return compile(selection);
  let known = remembered.get(selection);
  if (known === undefined) remembered.set(selection, (known = compile(selection)));
  return known;
}

function compile(selection: FieldSelection): Selection {
  if (selection === true) return { kind: 'whole' };
  if (selection === SHARED) return { kind: 'shared' };
  if (typeof selection === 'function') return { kind: 'late', decide: selection };
  const byLength: Field[][] = [];
  const byName = new Map<string, Field>();
  for (const [name, inner] of Object.entries(selection)) {
    if (name === '__proto__') throw new RangeError('a field __proto__ cannot be selected');
    if (inner === undefined) continue;
    const field = { name, bytes: Buffer.from(name), selection: compile(inner) };
    (byLength[field.bytes.length] ??= []).push(field);
    byName.set(name, field);
  }
  return { kind: 'fields', byLength, byName };
}
