import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { readJsonLines, type ReadDocument } from '../../../../kubernetes/json/json-lines.ts';

const asJson: ReadDocument = (bytes, start, end) => JSON.parse(bytes.toString('utf8', start, end));

async function parse(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  const values: unknown[] = [];
  for await (const value of readJsonLines(stream(), asJson)) values.push(value);
  return values;
}

async function* brokenStream(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('1\n');
  throw new Error('reset');
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
}

const value = fc.jsonValue({ stringUnit: 'binary' }).map((any) => JSON.parse(JSON.stringify(any)) as unknown);
const cuts = fc.array(fc.nat(), { maxLength: 20 });
const blank = fc.constantFrom('', ' ', '\t', '\r');

describe('readJsonLines', () => {
  it('gives the same values however the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(value), cuts, async (values, places) => {
        const bytes = Buffer.from(values.map((each) => `${JSON.stringify(each)}\n`).join(''));
        assert.deepEqual(await parse(cutAt(bytes, places)), values);
      }),
    );
  });

  it('survives a cut at each byte of a text of one to four bytes a character', async () => {
    const bytes = Buffer.from('{"a":"zß水🙂"}\n"ende"\n');
    const single = [...bytes].map((byte) => Uint8Array.of(byte));
    assert.deepEqual(await parse(single), [{ a: 'zß水🙂' }, 'ende']);
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      assert.deepEqual(
        await parse([bytes.subarray(0, cut), bytes.subarray(cut)]), [{ a: 'zß水🙂' }, 'ende'], `cut at ${cut}`,
      );
    }
  });

  it('drops the last line when the stream breaks inside it, wherever that is', async () => {
    await fc.assert(
      fc.asyncProperty(value, value, fc.nat(), cuts, async (whole, broken, length, places) => {
        const text = Buffer.from(JSON.stringify(broken));
        const bytes =
          Buffer.concat([Buffer.from(`${JSON.stringify(whole)}\n`), text.subarray(0, length % (text.length + 1))]);
        assert.deepEqual(await parse(cutAt(bytes, places)), [whole]);
      }),
    );
  });

  it('passes over blank lines', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(blank, value, blank)), cuts, async (lines, places) => {
        const bytes =
          Buffer.from(lines.map(([before, each, after]) => `${before}\n${JSON.stringify(each)}${after}\n`).join(''));
        assert.deepEqual(await parse(cutAt(bytes, places)), lines.map(([, each]) => each));
      }),
    );
  });

  it('gives a value as soon as its line has ended', async () => {
    let asked = 0;
    async function* stream(): AsyncGenerator<Uint8Array> {
      for (const line of ['1\n2', '\n3\n']) {
        asked += 1;
        yield Buffer.from(line);
      }
    }
    const values = readJsonLines(stream(), asJson);
    assert.equal((await values.next()).value, 1);
    assert.equal(asked, 1);
  });

  it('throws on a finished line that is no JSON', async () => {
    await assert.rejects(parse([Buffer.from('1\n{"a":\n')]), SyntaxError);
  });

  it('throws what the stream throws', async () => {
    const values = readJsonLines(brokenStream(), asJson);
    assert.equal((await values.next()).value, 1);
    await assert.rejects(values.next(), /reset/);
  });
});
