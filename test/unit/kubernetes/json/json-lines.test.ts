import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { JsonLines, type ReadDocument } from '../../../../kubernetes/json/json-lines.ts';
import { codePoint } from '../../../support/objects/code-points.ts';

const asJson: ReadDocument = (bytes, start, end) => JSON.parse(bytes.toString('utf8', start, end));

function parse(chunks: readonly Uint8Array[]): readonly unknown[] {
  const lines = new JsonLines(asJson);
  return chunks.flatMap((chunk) => [...lines.push(chunk)]);
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}

const value = fc.jsonValue({ stringUnit: codePoint }).map((any) => JSON.parse(JSON.stringify(any)) as unknown);
const cuts = fc.array(fc.nat(), { maxLength: 20 });
const blank = fc.constantFrom('', ' ', '\t', '\r');

describe('JsonLines', () => {
  it('gives the same values however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(value), cuts, (values, places) => {
        const bytes = Buffer.from(values.map((each) => `${JSON.stringify(each)}\n`).join(''));
        assert.deepEqual(parse(cutAt(bytes, places)), values);
      }),
    );
  });

  it('survives a cut at each byte of a text of one to four bytes a character', () => {
    const bytes = Buffer.from('{"a":"zß水🙂"}\n"ende"\n');
    const single = [...bytes].map((byte) => Uint8Array.of(byte));
    assert.deepEqual(parse(single), [{ a: 'zß水🙂' }, 'ende']);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut)];
      assert.deepEqual(parse(parts), [{ a: 'zß水🙂' }, 'ende'], `cut at ${cut}`);
    }
  });

  it('drops the last line when the stream breaks inside it, wherever that is', () => {
    fc.assert(
      fc.property(value, value, fc.nat(), cuts, (whole, broken, length, places) => {
        const text = Buffer.from(JSON.stringify(broken));
        const bytes =
          Buffer.concat([Buffer.from(`${JSON.stringify(whole)}\n`), text.subarray(0, length % (text.length + 1))]);
        assert.deepEqual(parse(cutAt(bytes, places)), [whole]);
      }),
    );
  });

  it('passes over blank lines', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(blank, value, blank)), cuts, (lines, places) => {
        const bytes =
          Buffer.from(lines.map(([before, each, after]) => `${before}\n${JSON.stringify(each)}${after}\n`).join(''));
        assert.deepEqual(parse(cutAt(bytes, places)), lines.map(([, each]) => each));
      }),
    );
  });

  it('gives a value as soon as its line has ended', () => {
    const lines = new JsonLines(asJson);
    assert.deepEqual([...lines.push(Buffer.from('1\n2'))], [1]);
    assert.deepEqual([...lines.push(Buffer.from('\n3\n'))], [2, 3]);
  });

  it('throws on a finished line that is no JSON', () => {
    assert.throws(() => parse([Buffer.from('1\n{"a":\n')]), SyntaxError);
  });
});
