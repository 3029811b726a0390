import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { FieldReader } from '../../kubernetes/json/json-fields.ts';
import { SCANNER } from '../../kubernetes/json/json-nesting.ts';
import { SHARED, type FieldSelection, type SelectedFields } from '../../model/objects/fields.ts';
import { codePoint } from '../support/objects/code-points.ts';

/** What a selection keeps, said with parsed values: what the reader must give. */
function pick(value: unknown, selection: true | typeof SHARED | SelectedFields): unknown {
  if (selection === true || selection === SHARED || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element) => pick(element, selection));
  const picked: Record<string, unknown> = {};
  const present = Object.entries(selection).filter(([name]) => Object.hasOwn(value, name));
  const valueOf = (name: string) => (value as Record<string, unknown>)[name];
  for (const [name, inner] of present) {
    if (inner !== undefined && typeof inner !== 'function') picked[name] = pick(valueOf(name), inner);
  }
  for (const [name, inner] of present) {
    const decided = typeof inner === 'function' ? inner({ ...picked }) : undefined;
    if (decided !== undefined) picked[name] = pick(valueOf(name), decided);
  }
  return picked;
}

const read = (text: string, selection: true | SelectedFields): unknown =>
  new FieldReader(selection).read(Buffer.from(text));
const asGiven = (text: string, selection: true | SelectedFields): void =>
  assert.deepEqual(read(text, selection), pick(JSON.parse(text), selection), text);

// Few names, so that selections meet them; some that begin alike, have the same length, or must be escaped.
const name = fc.constantFrom('a', 'b', 'aa', 'ab', 'ba', 'name', 'spec', 'é', '"', '\\', 'x\ny', '🙂', '');
const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r ');

/** A text of JSON as nobody prints it but anybody may: with white space, escapes and keys that come twice. */
const escaped =
  fc.tuple(fc.oneof(name, fc.string({ unit: codePoint, maxLength: 9 })), fc.boolean()).map(([text, all]) => {
  const printed = JSON.stringify(text);
  return all
    ? `"${text.split('').map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`
    : printed;
});
const scalar = fc.oneof(escaped, fc.constantFrom('true', 'false', 'null', '0', '-1.5e3', '12345678901234567890', '""'));
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    scalar,
    fc.array(fc.tuple(space, tie('text'), space), { maxLength: 3 })
      .map((all) => `[${all.map((parts) => parts.join('')).join(',')}]`),
    fc.array(fc.tuple(space, escaped, space, tie('text'), space), { maxLength: 5 }).map(
      (all) =>
        `{${all.map(([before, key, colon, value, after]) => `${before}${key}${colon}:${value}${after}`).join(',')}}`,
    ),
  ),
}));
const { selection } = fc.letrec<{ selection: true | SelectedFields }>((tie) => ({
  selection: fc.oneof({ maxDepth: 4 }, fc.constant(true as const), fc.dictionary(
    name, fc.oneof(fc.constant(SHARED), tie('selection')), { maxKeys: 5 },
  )),
}));
const lateSelection =
  fc.tuple(selection, name, name, selection).map(([base, late, condition, chosen]): SelectedFields => {
  const decide: FieldSelection = (others) => (others[condition] === undefined ? undefined : chosen);
  return base === true ? { [condition]: true, [late]: decide } : { ...base, [late]: decide };
});

describe('FieldReader', () => {
  it('gives what picking from the parsed document gives, for any document and selection', () => {
    fc.assert(
      fc.property(
        text, space, selection, (document, around, selected) => asGiven(`${around}${document}${around}`, selected),
      ),
      { numRuns: 2_000 },
    );
  });

  it('gives it for documents as API servers print them', () => {
    fc.assert(fc.property(
      fc.jsonValue({ stringUnit: codePoint }), selection, (value, selected) => asGiven(JSON.stringify(value), selected),
    ));
    fc.assert(fc.property(
      fc.dictionary(name, fc.jsonValue()), selection, (value, selected) => asGiven(JSON.stringify(value), selected),
    ));
  });

  it('decides late selections by the other fields, wherever they stand', () => {
    fc.assert(
      fc.property(text, lateSelection, (document, selected) => asGiven(document, selected)), { numRuns: 1_000 },
    );
    const selected: SelectedFields =
      { kind: true, status: ({ kind }) => (kind === 'Pod' ? { phase: true } : undefined) };
    assert.deepEqual(read('{"status":{"phase":"Running","x":1},"kind":"Pod","z":0}', selected), {
      kind: 'Pod', status: { phase: 'Running' },
    });
    assert.deepEqual(read('{"status":{"phase":"Running"},"kind":"Node"}', selected), { kind: 'Node' });
  });

  it('reads a document that lies among others', () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), selection, (documents, selected) => {
        const reader = new FieldReader(selected);
        const bytes = Buffer.from(documents.map((document) => `${document}\n`).join(''));
        let start = 0;
        for (const document of documents) {
          const end = start + Buffer.byteLength(document);
          assert.deepEqual(reader.read(bytes, start, end), pick(JSON.parse(document), selected));
          start = end + 1;
        }
      }),
    );
  });

  it('never takes a part of an object for the whole, wherever it is cut', () => {
    const container = text.filter((document) => /^[[{]/.test(document));
    fc.assert(
      fc.property(container, fc.nat(), selection, (document, at, selected) => {
        const bytes = Buffer.from(document);
        const end = at % bytes.length;
        assert.throws(() => new FieldReader(selected).read(bytes.subarray(0, end)), SyntaxError);
        assert.throws(
          () => new FieldReader(selected).read(bytes, 0, end), SyntaxError, 'also where the rest lies behind it',
        );
      }),
    );
  });

  for (const malformed of [
    '', ' ', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a" 1}', '{,}', '{"a":1 "b":2}', '{"a":1{"b":2}}',
    '[1', '[1,', '[1 2]', '[,1]', '{}{}', '{}x', '"a', '"a\\', '"\n"', 'tru', '{"a":}', '{a:1}',
  ]) {
    it(`refuses ${JSON.stringify(malformed)}`, () => assert.throws(
      () => read(malformed, { a: true, b: true }), SyntaxError,
    ));
  }

  it('gives plain objects without what JSON has not named', () => {
    const value = read(
      '{"a":{"__proto__":{"polluted":true}},"__proto__":{"polluted":true}}', { a: true },
    ) as Record<string, unknown>;
    assert.equal(value['polluted'], undefined);
    assert.deepEqual(Object.keys(value), ['a']);
    assert.throws(() => new FieldReader({ ['__proto__']: true }), RangeError);
  });

  it('reads no further than the document where a string of it is cut', () => {
    const reader = new FieldReader({ kind: true, metadata: { name: true } });
    reader.read(Buffer.from(`{"kind":["${'x'.repeat(1 << 20)}"]}`)); // lies in memory behind the next ones
    for (const cut of ['{"kind":"Po', '{"metadata":{"name":"x\\', '{"metadata":{"na', '{"other":"x', '"', '{"\\']) {
      assert.throws(() => reader.read(Buffer.from(cut)), (error: unknown) => {
        const at = Number(/at byte (\d+)/.exec(error instanceof SyntaxError ? error.message : '')?.[1]);
        return error instanceof SyntaxError && !(at > cut.length + 256);
      }, cut);
    }
  });

  it('gives one value to all objects that bring the same one, where that is selected', () => {
    const [one, other] = read(
      '[{"a":{"x":[1]},"b":{"x":[1]}},{"a":{"x":[1]},"b":{"x":[1]}}]', { a: SHARED, b: true },
    ) as { a: object; b: object }[];
    assert(one !== undefined && other !== undefined && one.a === other.a && one.b !== other.b);
    assert.deepEqual(one, other);
    assert(Object.isFrozen(one.a) && !Object.isFrozen(one.b));
  });

  it('reads documents that are too long for the scanner as it reads others', () => {
    const long = '}'.repeat((SCANNER?.bytes.length ?? 0) / 4);
    const items = Array.from({ length: 5 }, (_, i) => ({ skipped: [long, { i }], name: `n-${i}` }));
    assert.deepEqual(read(JSON.stringify(items), { name: true }), items.map(({ name: kept }) => ({ name: kept })));
  });

  it('leaves out what is selected as nothing', () => assert.deepEqual(
    read('{"a":1,"b":2}', { a: undefined, b: true }), { b: 2 },
  ));
});
