import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { doOverlap, formatV4, isWithin, parseAddressBits, parseRange } from '../../../../model/network/ip-range.ts';

describe('a range', () => {
  it('is read with its first and last address', () => assert.deepEqual(
    parseRange('10.1.2.3/16'), { text: '10.1.2.3/16', version: 4, length: 16, first: 0x0a01_0000n, last: 0x0a01_ffffn },
  ));
  for (const text of [
    '', '10.0.0.0', '10.0.0.0/33', '256.0.0.0/8', '10.0.0/8', 'fd00::/129', '1::2::3/64', 'x/8', '10.0.0.0/-1',
  ]) it(`is not "${text}"`, () => assert.equal(parseRange(text), undefined));
  const within: [string, string, boolean][] = [
    ['10.0.0.0/8', '10.255.0.1', true], ['10.0.0.0/8', '11.0.0.0', false], ['10.0.0.0/8', '::10.0.0.1', false],
    ['::/0', '10.0.0.1', false], ['fd00::/8', 'fd12::1', true], ['10.0.0.0/8', 'x', false],
  ];
  for (const [range, address, expected] of within) {
    it(`${range} ${expected ? 'holds' : 'does not hold'} ${address}`, () => assert.equal(
      isWithin(parseRange(range) ?? assert.fail(), address), expected,
    ));
  }
});

const address = fc.nat(0xff_ff_ff_ff).map(BigInt);
describe('laws of ranges', () => {
  it('an address is written as it is read', () => fc.assert(
    fc.property(address, (bits) => assert.equal(parseAddressBits(formatV4(bits)), bits)), { numRuns: 100 },
  ));
  it('two ranges overlap where and only where one holds the first address of the other', () => {
    const range = fc.tuple(address, fc.integer({ min: 0, max: 32 }))
      .map(([bits, length]) => parseRange(`${formatV4(bits)}/${length}`) ?? assert.fail());
    fc.assert(
      fc.property(range, range, (one, other) => assert.equal(
        doOverlap(one, other), isWithin(one, formatV4(other.first)) || isWithin(other, formatV4(one.first)),
      )),
      { numRuns: 200 },
    );
  });
});
