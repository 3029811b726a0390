import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { palettePng } from '../../support/page/palette-png.ts';

/** The chunks by their types. */
function chunksOf(png: Buffer): ReadonlyMap<string, Buffer> {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return chunks;
}

describe('a PNG of few colours', () => {
  it('has each pixel in its own colour, the most frequent ones first', () => {
    const [red, blue] = [[200, 10, 20, 255], [1, 2, 3, 255]];
    const png = palettePng({ width: 2, height: 2, data: Uint8Array.from([red, blue, blue, blue].flat()) });
    const chunks = chunksOf(png);
    assert.deepEqual([...chunks.keys()], ['IHDR', 'PLTE', 'IDAT', 'IEND']);
    assert.deepEqual([chunks.get('IHDR')?.readUInt32BE(0), chunks.get('IHDR')?.readUInt32BE(4)], [2, 2]);
    assert.deepEqual([...(chunks.get('PLTE') ?? [])], [1, 2, 3, 200, 10, 20]);
    assert.deepEqual([...inflateSync(chunks.get('IDAT') ?? '')], [0, 1, 0, 0, 0, 0]);
  });

  it('keeps a rare colour among very many that are nearly the same', () => {
    const greys = Array.from({ length: 2_000 }, (_, index) => [200 + (index % 8), 200 + ((index >> 3) % 8), 200, 255]);
    const data = Uint8Array.from([...greys, [0, 200, 0, 255]].flat());
    const chunks = chunksOf(palettePng({ width: 2_001, height: 1, data }));
    const palette = chunks.get('PLTE') ?? Buffer.alloc(0);
    const last = inflateSync(chunks.get('IDAT') ?? '').at(-1) ?? 0;
    assert.deepEqual([...palette.subarray(3 * last, 3 * last + 3)], [0, 200, 0]);
  });
});
