// Writes PNGs (RFC 2083) of at most 256 colours: a page has few, and its pictures get a third as large.
import { crc32, deflateSync } from 'node:zlib';

/** Pixels as a canvas has them: red, green, blue and alpha of each, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

const MOST_COLOURS = 256;
/** Square of a distance that nobody sees. */
const NEARLY_SAME = 48;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** 8 bits for each pixel, an index into the palette. */
const INDEXED = [8, 3, 0, 0, 0] as const;

/** The pixels without alpha, each in the nearest of 256 colours: the most frequent ones that differ. */
export function palettePng({ width, height, data }: Pixels): Buffer {
  const colours = new Uint32Array(width * height);
  const counts = new Map<number, number>();
  for (let pixel = 0; pixel < colours.length; pixel += 1) {
    const [red = 0, green = 0, blue = 0] = data.subarray(4 * pixel, 4 * pixel + 3);
    const colour = red * 65_536 + green * 256 + blue;
    colours[pixel] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = paletteOf([...counts].toSorted(([one, n], [other, m]) => m - n || one - other));
  const indices = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  const rows = Buffer.alloc(height * (width + 1)); // each begins with its filter: none
  for (const [pixel, colour] of colours.entries()) {
    rows[Math.floor(pixel / width) * (width + 1) + 1 + (pixel % width)] = indices.get(colour) ?? 0;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(INDEXED, 8);
  return Buffer.concat([
    SIGNATURE, chunk('IHDR', header), chunk('PLTE', Buffer.from(palette.flatMap(channels))),
    chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Of a rare colour something near remains, since the edges of letters do not take all places. */
function paletteOf(mostFrequentFirst: readonly (readonly [colour: number, count: number])[]): readonly number[] {
  const palette: number[] = [];
  for (const [colour] of mostFrequentFirst) {
    if (palette.length === MOST_COLOURS) break;
    if (palette.every((other) => distance(colour, other) > NEARLY_SAME)) palette.push(colour);
  }
  return palette;
}

function nearest(palette: readonly number[], colour: number): number {
  let best = { index: 0, far: Number.POSITIVE_INFINITY };
  for (const [index, other] of palette.entries()) {
    const far = distance(colour, other);
    if (far < best.far) best = { index, far };
  }
  return best.index;
}

function distance(one: number, other: number): number {
  const parts = channels(other);
  return channels(one).reduce((sum, part, at) => sum + (part - (parts[at] ?? 0)) ** 2, 0);
}

function channels(colour: number): readonly number[] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, checksum]);
}
