import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inflateSync } from 'node:zlib';
import { palettePng } from '../../support/palette-png.ts';

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

  it('has 256 of many, and each other one as the nearest of these', () => {
    const grey = (index: number) => [index >> 1, index >> 1, index & 1, 255];
    const pixels = Array.from({ length: 512 }, (_, index) => grey(index)).concat(
      Array.from({ length: 256 }, (_, index) => grey(2 * index)), // those with blue 0 twice
    );
    const chunks = chunksOf(palettePng({ width: 768, height: 1, data: Uint8Array.from(pixels.flat()) }));
    const palette = chunks.get('PLTE') ?? Buffer.alloc(0);
    assert.equal(palette.length, 3 * 256);
    const [, ...indices] = inflateSync(chunks.get('IDAT') ?? '');
    for (const [pixel, index] of indices.entries()) {
      assert.deepEqual([...palette.subarray(3 * index, 3 * index + 2)], pixels[pixel]?.slice(0, 2));
    }
  });
});
