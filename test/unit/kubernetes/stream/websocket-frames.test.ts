import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { encodeFrame, FrameReader, OPCODES } from '../../../../kubernetes/stream/websocket-frames.ts';

const NO_MASK = Buffer.alloc(4);
/** A frame as a server sends it: not masked. */
function served(opcode: number, payload: Buffer, final = true): Buffer {
  const masked = encodeFrame(opcode, payload, NO_MASK);
  const begin = masked.length - payload.length - 4;
  const head = Buffer.from(masked.subarray(0, begin));
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = head[1]! & 0x7f;
  return Buffer.concat([head, payload]);
}

describe('frames', () => {
  it('are masked as RFC 6455 §5.7 shows', () => {
    const frame = encodeFrame(OPCODES.text, Buffer.from('Hello'), Buffer.from([0x37, 0xfa, 0x21, 0x3d]));
    assert.equal(frame.toString('hex'), '818537fa213d7f9f4d5158');
  });

  for (const [size, head] of [[125, 2], [126, 4], [65_535, 4], [65_536, 10]] as const) {
    it(`say a length of ${size} in ${head} bytes`, () => assert.equal(
      encodeFrame(OPCODES.binary, Buffer.alloc(size), NO_MASK).length, head + 4 + size,
    ));
  }

  it('survive any cut', () => {
    const sizes = fc.array(fc.constantFrom(0, 1, 125, 126, 300, 70_000), { maxLength: 4 });
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 5_000 }), (lengths, step) => {
        const sent = lengths.map((length, index) => Buffer.alloc(length, index + 1));
        const bytes = Buffer.concat(sent.map((payload) => served(OPCODES.binary, payload)));
        const reader = new FrameReader();
        const read: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += step) {
          read.push(...reader.push(bytes.subarray(at, at + step)).map(({ payload }) => payload));
        }
        assert.deepEqual(read, sent);
      }),
      { numRuns: 25 },
    );
  });

  it('in pieces become one message, with control frames between them', () => {
    const bytes = Buffer.concat([
      served(OPCODES.binary, Buffer.from('a'), false), served(OPCODES.ping, Buffer.from('p')),
      served(OPCODES.continuation, Buffer.from('b')),
    ]);
    assert.deepEqual(new FrameReader().push(bytes), [
      { opcode: OPCODES.ping, payload: Buffer.from('p') }, { opcode: OPCODES.binary, payload: Buffer.from('ab') },
    ]);
  });

  it('that a server may not send end the stream', () => {
    assert.throws(() => new FrameReader().push(encodeFrame(OPCODES.text, Buffer.from('x'), NO_MASK)), /masks/);
    assert.throws(() => new FrameReader().push(Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0])), /too long/);
  });
});
