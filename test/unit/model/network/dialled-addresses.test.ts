import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { isSpecialAddress, mayDial, type DialRules } from '../../../../model/network/dialled-addresses.ts';
import { formatV4, parseRange, type IpRange } from '../../../../model/network/ip-range.ts';

const ranges = (...texts: string[]): readonly IpRange[] => texts.map((text) => parseRange(text) ?? assert.fail(text));
const rules =
  (allowed: readonly string[] = [], denied: readonly string[] = [], own: readonly string[] = []): DialRules =>
  ({ allowed: ranges(...allowed), denied: ranges(...denied), own: ranges(...own) });

describe("a tenant's target may be dialled", () => {
  for (const address of [
    '8.8.8.8', '10.0.0.5', '172.18.0.3', '192.168.1.1', '2600::1', 'fd12::1', '64:ff9b::808:808', '::ffff:8.8.8.8',
    '100.63.255.255', '100.128.0.0', '168.63.129.17',
  ]) {
    it(`at ${address}`, () => assert.equal(mayDial(address, rules()), true));
  }
});

describe("a tenant's target may not be dialled", () => {
  const places: Record<string, readonly string[]> = {
    'on this host': [
      '127.0.0.1', '127.255.255.254', '0.0.0.0', '0.1.2.3', '::1', '::', '::ffff:127.0.0.1', '::ffff:7f00:1',
      '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b::127.0.0.1',
    ],
    'on a link, or at the metadata of a cloud': [
      '169.254.169.254', 'fe80::1', 'febf::1', '::ffff:169.254.169.254', '64:ff9b::a9fe:a9fe', 'fd00:ec2::254',
      'fd20:ce::254', '100.100.100.200', '192.0.0.192', '168.63.129.16',
    ],
    "in a carrier's range": ['100.64.0.1', '100.127.255.255'],
    'at many': ['224.0.0.1', '255.255.255.255', 'ff02::1'],
    'through a tunnel that ends anywhere': ['2002:7f00:1::', '2001:0:7f00:1::', '64:ff9b:1::7f00:1'],
    'where there is no address':
      ['', 'example.com', '1.2.3', '127.1', 'fe80::1%eth0', '1.2.3.4.5', '::ffff:1.2.3', '0x7f.0.0.1'],
  };
  for (const [place, addresses] of Object.entries(places)) {
    for (const address of addresses) it(`${place}: "${address}"`, () => assert.equal(mayDial(address, rules()), false));
  }
});

describe('what administrators and the cluster say of addresses', () => {
  const cases: Record<string, readonly [may: boolean, address: string, rules: DialRules]> = {
    'own ranges are rejected': [false, '10.96.0.1', rules([], [], ['10.96.0.0/12'])],
    'beside them all is as before': [true, '10.112.0.1', rules([], [], ['10.96.0.0/12'])],
    'an IPv4 address within IPv6 is found in them': [false, '::ffff:10.96.0.1', rules([], [], ['10.96.0.0/12'])],
    'an allowed range opens a special one': [true, '100.64.0.1', rules(['100.64.0.0/10'])],
    'an allowed range opens an own one': [true, '10.96.0.1', rules(['10.96.0.1/32'], [], ['10.96.0.0/12'])],
    'a denied range closes': [false, '10.0.0.1', rules([], ['10.0.0.0/8'])],
    'within a denied range a longer allowed one opens': [true, '10.1.0.1', rules(['10.1.0.0/16'], ['10.0.0.0/8'])],
    'within an allowed range a longer denied one closes': [false, '10.1.0.1', rules(['10.0.0.0/8'], ['10.1.0.0/16'])],
    'of two alike the one that denies counts': [false, '10.0.0.1', rules(['10.0.0.0/8'], ['10.0.0.0/8'])],
    'all but one range can be denied': [true, '203.0.113.9', rules(['203.0.113.0/24'], ['0.0.0.0/0', '::/0'])],
    'and then nothing else is open': [false, '8.8.8.8', rules(['203.0.113.0/24'], ['0.0.0.0/0', '::/0'])],
    'ranges of one family say nothing of the other': [true, '2600::1', rules([], ['0.0.0.0/0'])],
  };
  for (const [sentence, [may, address, given]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(mayDial(address, given), may));
  }
});

describe('laws of dialled addresses', () => {
  const v4 = fc.nat(0xff_ff_ff_ff).map((bits) => formatV4(BigInt(bits)));
  const range = fc.tuple(v4, fc.integer({ min: 0, max: 32 })).map(([address, length]) => `${address}/${length}`);
  const anyRules = fc
    .tuple(fc.array(range, { maxLength: 4 }), fc.array(range, { maxLength: 4 }), fc.array(range, { maxLength: 4 }))
    .map((lists) => rules(...lists));
  it('an address is judged alike in each of its spellings', () => {
    fc.assert(fc.property(v4, anyRules, (address, given) => {
      const spellings = [address, `::ffff:${address}`, `0:0:0:0:0:FFFF:${address}`, `64:ff9b::${address}`];
      assert.equal(new Set(spellings.map((spelling) => mayDial(spelling, given))).size, 1);
    }), { numRuns: 300 });
  });
  it('to deny more never opens anything, to allow more never closes anything', () => {
    fc.assert(fc.property(v4, anyRules, range, (address, given, more) => {
      const may = mayDial(address, given);
      if (!may) assert.equal(mayDial(address, { ...given, denied: [...given.denied, ...ranges(more)] }), false);
      if (may) assert.equal(mayDial(address, { ...given, allowed: [...given.allowed, ...ranges(more)] }), true);
    }), { numRuns: 300 });
  });
  it('any text has an answer', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.ipV4Extended()), anyRules, (text, given) => {
      mayDial(text, given);
      isSpecialAddress(text);
    }), { numRuns: 500 });
  });
});
