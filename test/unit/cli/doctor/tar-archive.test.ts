import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { gunzipSync } from 'node:zlib';
import { describe, it } from 'node:test';
import { tarArchive, type ArchivedFile } from '../../../../cli/doctor/tar-archive.ts';

const BLOCK = 512;
const textAt = (block: Buffer, from: number, length: number) =>
  block.subarray(from, from + length).toString('utf8').replace(/[\0 ].*$/s, '');
const octalAt = (block: Buffer, from: number, length: number) => Number.parseInt(textAt(block, from, length), 8);

/** The checksum of a header, which counts its own field as spaces. */
function checksum(header: Buffer): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0);
}

/** Reads an archive as POSIX says, independent of the writer. */
function read(archive: Buffer): readonly (ArchivedFile & { readonly mode: number; readonly seconds: number })[] {
  const bytes = gunzipSync(archive);
  assert.equal(bytes.length % BLOCK, 0);
  const files = [];
  let at = 0;
  while (bytes[at] !== 0) {
    const header = bytes.subarray(at, at + BLOCK);
    assert.equal(textAt(header, 257, 5), 'ustar');
    assert.equal(octalAt(header, 148, 8), checksum(header));
    const size = octalAt(header, 124, 12);
    const text = bytes.subarray(at + BLOCK, at + BLOCK + size).toString('utf8');
    const name = header.subarray(0, 100).toString('utf8').replace(/\0.*$/s, '');
    files.push({ name, text, mode: octalAt(header, 100, 8), seconds: octalAt(header, 136, 12) });
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  assert.ok(bytes.subarray(at).every((byte) => byte === 0) && bytes.length - at >= 2 * BLOCK);
  return files;
}

describe('an archive', () => {
  it('holds its files in order, readable by their owner alone', () => {
    const files = [{ name: 'objects/pods.yaml', text: 'kind: Pod\n' }, { name: 'empty.log', text: '' }];
    const expected = files.map((file) => ({ ...file, mode: 0o600, seconds: 1_700_000_000 }));
    assert.deepEqual(read(tarArchive(files, 1_700_000_000_999)), expected);
  });

  it('without files ends at once', () => assert.deepEqual(read(tarArchive([], 0)), []));

  it('takes a name of 100 bytes, and no longer one', () => {
    const name = 'é'.repeat(50);
    assert.equal(read(tarArchive([{ name, text: 'x' }], 0))[0]?.name, name);
    assert.throws(() => tarArchive([{ name: `${name}x`, text: '' }], 0), RangeError);
  });

  it('reads back as it was written', () => {
    const name = fc.string({ minLength: 1, maxLength: 40, unit: fc.constantFrom('a', 'b', 'c', '-', '.', '/', '0') });
    const file = fc.record(
      { name, text: fc.string({ unit: 'grapheme', maxLength: 2_000 }) }, { noNullPrototype: true },
    );
    fc.assert(fc.property(fc.array(file, { maxLength: 8 }), (files) => {
      assert.deepEqual(read(tarArchive(files, 0)).map(({ name: one, text }) => ({ name: one, text })), files);
    }));
  });
});
