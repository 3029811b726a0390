import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { endOfValue, skipSpace } from '../../../../kubernetes/json/json-scan.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const json = fc.jsonValue({ stringUnit: codePoint })
  .chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)));

describe('endOfValue', () => {
  it('is where the value ends, whatever it holds and whatever follows', () => {
    fc.assert(
      fc.property(fc.string(),
        json, fc.constantFrom('', ',', ']', '}', ' ', '\n{"a":"', ',"\\'), (before, value, after) => {
        const start = Buffer.byteLength(before);
        assert.equal(endOfValue(Buffer.from(before + value + after), start), start + Buffer.byteLength(value));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not found where the value is cut, unless it may end there', () => {
    fc.assert(
      fc.property(json, fc.nat(), (value, at) => {
        const bytes = Buffer.from(value);
        fc.pre(/^["[{]/.test(value));
        assert.throws(() => endOfValue(bytes.subarray(0, at % bytes.length), 0), SyntaxError);
      }),
    );
  });

  for (const length of [0, 1, 2, 3, 4, 5, 8, 9]) {
    it(`finds the end of a text of ${length} bytes, with escapes in each place`, () => {
      for (let at = 0; at < length; at += 1) {
        const text = `"${'x'.repeat(at)}\\"${'y'.repeat(length - at - 1)}"`;
        assert.equal(endOfValue(Buffer.from(`${text}"`), 0), text.length);
        const backslash = text.replace('\\"', '\\\\');
        assert.equal(endOfValue(Buffer.from(`${backslash}"`), 0), backslash.length);
      }
      assert.equal(endOfValue(Buffer.from(`"${'x'.repeat(length)}"}`), 0), length + 2);
    });
  }
});

describe('skipSpace', () => {
  it('ends at the first byte that is none, or behind the last', () => {
    for (const [text, at] of [['x', 0], [' \t\r\nx', 4], ['  ', 2], ['', 0]] as const) {
      assert.equal(skipSpace(Buffer.from(text), 0), at);
    }
  });
});
