// Reading what anybody may have written: nothing is ignored in silence.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { FieldReader } from '../../../../cli/translation/field-reader.ts';
import type { Fields } from '../../../../cli/translation/manifest.ts';
import { Report } from '../../../../cli/translation/report.ts';

function reading(fields: Fields, path = 'spec') {
  const report = new Report('Kind/name');
  return { report, reader: new FieldReader(fields, path, report), said: () =>
    report.findings.map(({ field }) => field) };
}

type Read = (reader: FieldReader) => unknown;
const READS: Readonly<Record<string, readonly [read: Read, accepts: (value: unknown) => boolean]>> = {
  text: [(reader) => reader.text('x'), (value) => typeof value === 'string'],
  count: [(reader) => reader.count('x'), (value) => Number.isSafeInteger(value) && Number(value) >= 0],
  flag: [(reader) => reader.flag('x'), (value) => typeof value === 'boolean'],
  texts: [(reader) => reader.texts('x'), (value) => Array.isArray(value)
    && value.every((one) => typeof one === 'string')],
  map: [(reader) => reader.map('x'), (value) => typeof value === 'object' && !Array.isArray(value)],
  maps: [(reader) => reader.maps('x'), (value) =>
    Array.isArray(value) && value.every((one) => typeof one === 'object' && one !== null && !Array.isArray(one))],
};
const json = fc.jsonValue({ maxDepth: 2 });

describe('a field', () => {
  for (const [name, [read, accepts]] of Object.entries(READS)) {
    it(`that is read as ${name} is what it says, or is reported by its path`, () => {
      fc.assert(fc.property(json.filter((value) => value !== null), (x) => {
        const { reader, report, said } = reading({ x });
        const value = read(reader);
        if (accepts(x)) assert.deepEqual([value, said()], [x, []]);
        else assert.deepEqual([said(), report.isUnreadable], [['spec.x'], true]);
      }), { numRuns: 200 });
    });
    it(`that is read as ${name} is missing when it is null, as in Kubernetes, and nothing is said`, () => {
      for (const fields of [{}, { x: null }, { x: undefined }]) {
        const { reader, said } = reading(fields);
        const value = read(reader);
        assert.deepEqual([Array.isArray(value) ? value.length : value, said()],
          [name.endsWith('s') ? 0 : undefined, []]);
      }
    });
  }
  it('that is read as count is an integer from 0, as numbers of replicas are', () => {
    const rows = [[0, true], [7, true], [-1, false], [1.5, false], [2 ** 60, false], ['3', false]] as const;
    for (const [x, isCount] of rows) {
      const { reader, said } = reading({ x });
      assert.deepEqual([reader.count('x'), said().length], isCount ? [x, 0] : [undefined, 1], String(x));
    }
  });
  it('of an inherited name is no field: a manifest cannot mean it', () => {
    const { reader, said } = reading({});
    for (const name of ['constructor', 'toString', '__proto__']) assert.equal(reader.value(name), undefined);
    assert.deepEqual(said(), []);
  });
  it('is named with its path, the place in a list, and nothing before it at the top', () => {
    const { reader } = reading({ list: [{}, {}] }, '');
    assert.deepEqual(reader.records('list').map((one) => one.at('y')), ['list[0].y', 'list[1].y']);
    assert.equal(reader.part('a').part('b').at('c'), 'a.b.c');
  });
});

describe('a selector', () => {
  const selectors: readonly (readonly [selector: unknown, isValid: boolean])[] = [
    [{}, true], [{ matchLabels: { a: 'b' } }, true], [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }, true],
    [[], false], ['x', false], [{ matchLabels: { a: 1 } }, false],
      [{ matchExpressions: [{ key: 'a', operator: 'Is' }] }, false],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: [] }] }, false],
    [{ match: {} }, false], [{ matchLabel: { a: 'b' } }, false],
  ];
  for (const [selector, isValid] of selectors) {
    it(`${JSON.stringify(selector)} ${isValid ? 'is read' : 'is reported'}`, () => {
      const { reader, report } = reading({ x: selector });
      assert.deepEqual([reader.selector('x'), report.isUnreadable], [isValid ? selector : undefined, !isValid]);
    });
  }
});

describe('what nobody has read', () => {
  const fields = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom(0, '', false, null, 'x'), {
    noNullPrototype: true,
  });

  it('is reported at the end: exactly the fields that are set', () => {
    fc.assert(fc.property(fields, fc.subarray(['a', 'b', 'c', 'd']), (given, asked) => {
      const { reader, report, said } = reading(given);
      for (const name of asked) reader.value(name);
      reader.finish();
      const unread = Object.keys(given).filter((name) => given[name] !== null && !asked.includes(name));
      assert.deepEqual(said(), unread.map((name) => `spec.${name}`));
      assert.equal(report.isUnreadable, unread.length > 0);
    }));
  });
  it('is not reported for having been looked for only: has() is no reading', () => {
    const { reader, said } = reading({ a: 1 });
    assert.equal(reader.has('a'), true);
    reader.finish();
    assert.deepEqual(said(), ['spec.a']);
  });
  it('is lost where it is rejected and set, with what to do instead', () => {
    fc.assert(fc.property(fields, (given) => {
      const { reader, report } = reading(given);
      reader.reject({ a: 'use b', b: 'use c' });
      assert.deepEqual(report.findings.map(({ kind, field, message }) => [kind, field, message]), [
        ...(reader.has('a') ? [['lost', 'spec.a', 'use b']] : []),
          ...(reader.has('b') ? [['lost', 'spec.b', 'use c']] : []),
      ]);
      assert.equal(report.isUnreadable, false, 'the rest of the object can be converted');
    }));
  });
});
