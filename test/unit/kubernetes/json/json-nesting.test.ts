import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { placeForScan, SCANNER } from '../../../../kubernetes/json/json-nesting.ts';
import { endOfValue } from '../../../../kubernetes/json/json-scan.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

assert(SCANNER !== undefined, 'the engine that runs the tests has vector instructions');
const scanner = SCANNER;

/** Where the scanner finds the end of what begins at `from`. */
function fastEnd(text: string, from = 0, end = Buffer.byteLength(text)): number {
  assert.equal(placeForScan(Buffer.from(text)), scanner.bytes);
  return scanner.endOfNesting(from, end);
}

const nesting = fc.oneof(fc.array(fc.jsonValue({ stringUnit: codePoint })), fc.dictionary(
  fc.string({ unit: codePoint }), fc.jsonValue({ stringUnit: codePoint }),
));

describe('the scanner of nestings', () => {
  it('finds the end that the loop over bytes finds, wherever it lies in a block', () => {
    fc.assert(
      fc.property(fc.nat(130), nesting,
        fc.constantFrom(0, 2), fc.constantFrom('', ',', ']}', '"}', '\\"]'), (before, value, indent, after) => {
        const text = ' '.repeat(before) + JSON.stringify(value, null, indent) + after;
        assert.equal(fastEnd(text, before), endOfValue(Buffer.from(text), before));
      }),
      { numRuns: 2_000 },
    );
  });

  it('knows quotes, brackets and backslashes in texts in each place of a block, and rows of backslashes over its border',
    () => {
    for (let at = 0; at < 140; at += 1) {
      for (const inside of ['\\"', '\\\\', '\\\\\\"', '}', ']', '{', '\\\\\\\\', '\\u007d']) {
        const text = `{"${'x'.repeat(at)}${inside}":[{}]}`;
        assert.equal(fastEnd(`${text}}]"`), text.length, text);
      }
    }
  });

  it('goes as deep as the text does', () => {
    const deep = `${'[{"a":'.repeat(20_000)}1${'}]'.repeat(20_000)}`;
    assert.equal(fastEnd(deep), deep.length);
    assert.equal(fastEnd(deep.slice(0, -1)), -1);
  });

  it('finds nothing where the value is cut, whatever lies behind the bytes that must not be looked at', () => {
    fc.assert(
      fc.property(nesting, fc.nat(), (value, at) => {
        const text = Buffer.from(JSON.stringify(value));
        const end = at % text.length;
        const cut = text.subarray(0, end).toString('latin1');
        scanner.bytes.fill(0x7d);
        assert.equal(fastEnd(cut, 0, end), -1);
      }),
      { numRuns: 100 },
    );
  });

  it('has room for a page of two hundred large pods, and says where a document does not fit', () => {
    assert.equal(placeForScan(Buffer.alloc(200 * 20_000)), scanner.bytes);
    assert.equal(placeForScan(Buffer.alloc(scanner.bytes.length)), undefined);
  });
});
