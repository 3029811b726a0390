// Expected values were compared with `resource.Quantity` of k8s.io/apimachinery v0.36.3.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  formatAmount,
  formatBytes,
  formatMilliCpu,
  parseQuantity,
  toBytes,
  toMilli,
  toWhole,
  type Amount,
  type Bytes,
  type MilliCpu,
  type Quantity,
} from '../../../../model/resources/quantity.ts';

const LIMIT = Number.MAX_SAFE_INTEGER;

function quantity(value: string | number): Quantity {
  const parsed = parseQuantity(value);
  assert(parsed.kind === 'quantity', `${value} is a quantity`);
  return parsed;
}

describe('C2-29: parseQuantity', () => {
  const inUnits: Record<string, readonly [text: string | number, milli: number, whole: number]> = {
    'reads a plain number': ['2', 2000, 2],
    'reads a JSON number': [2, 2000, 2],
    'reads a JSON number that JavaScript prints with an exponent': [1e-7, 1, 1],
    'reads zero': ['0', 0, 0],
    'reads a plus sign': ['+3', 3000, 3],
    'reads a minus sign': ['-3', -3000, -3],
    'ignores leading zeros': ['007', 7000, 7],
    'allows a dot at the end': ['5.', 5000, 5],
    'allows a dot at the start': ['.5', 500, 1],
    'ignores space around the text': [' 1 ', 1000, 1],
    'reads milli': ['1500m', 1500, 2],
    'reads micro, rounding up': ['1u', 1, 1],
    'reads nano, rounding up': ['1n', 1, 1],
    'rounds up what is finer than nano': ['0.1n', 1, 1],
    'rounds up a fraction of a milli': ['100.1m', 101, 1],
    'does not round what is whole': ['100.0m', 100, 1],
    'rounds negative fractions away from zero': ['-1.5', -1500, -2],
    'reads k': ['1k', 1_000_000, 1000],
    'reads M': ['1M', 1e9, 1e6],
    'reads G': ['1G', 1e12, 1e9],
    'reads T': ['1T', 1e15, 1e12],
    'reads P': ['0.001P', 1e15, 1e12],
    'reads E as a suffix, not as an exponent': ['0.000001E', 1e15, 1e12],
    'reads Ki': ['1Ki', 1_024_000, 1024],
    'reads Mi': ['1Mi', 1_048_576_000, 2 ** 20],
    'reads Gi with a fraction': ['1.5Gi', 1.5 * 2 ** 30 * 1000, 1.5 * 2 ** 30],
    'reads Ti': ['1Ti', 2 ** 40 * 1000, 2 ** 40],
    'reads Pi': ['1Pi', LIMIT, 2 ** 50],
    'reads Ei': ['0.001Ei', LIMIT, 1_152_921_504_606_847],
    'reads a decimal exponent': ['12e6', 12e9, 12e6],
    'reads an upper-case exponent': ['12E3', 12e6, 12e3],
    'reads an exponent with a plus sign': ['1e+3', 1e6, 1e3],
    'reads a negative exponent': ['1500e-3', 1500, 2],
    'saturates above the largest safe integer': ['1E', LIMIT, LIMIT],
    'saturates above 2^63 - 1': ['100Ei', LIMIT, LIMIT],
    'saturates below zero too': ['-100Ei', -LIMIT, -LIMIT],
    'saturates at an absurd exponent': ['1e999999999999', LIMIT, LIMIT],
    'rounds an absurdly small amount up': ['1e-999999999999', 1, 1],
    'keeps zero at an absurd exponent': ['0e999999999999', 0, 0],
  };
  for (const [sentence, [text, milli, whole]] of Object.entries(inUnits)) {
    it(sentence, () => {
      assert.deepEqual(
        [toMilli(quantity(text)), toWhole(quantity(text)), toBytes(quantity(text))], [milli, whole, whole],
      );
    });
  }

  const invalid: Record<string, unknown> = {
    'rejects the empty text': '',
    'rejects a text without digits': '.',
    'rejects a suffix alone': 'Mi',
    'rejects a sign alone': '-',
    'rejects words': 'lots',
    'rejects an unknown suffix': '1Kb',
    'rejects upper-case K alone': '1K',
    'rejects lower-case ki': '1ki',
    'rejects two suffixes': '1mm',
    'rejects an exponent with a suffix': '1e3Ki',
    'rejects an exponent without digits': '1e',
    'rejects a fraction in the exponent': '1e1.5',
    'rejects two dots': '1.2.3',
    'rejects two signs': '--1',
    'rejects space inside': '1 Gi',
    'rejects a line feed inside': '1\nGi',
    'rejects NaN': Number.NaN,
    'rejects infinity': Number.POSITIVE_INFINITY,
    'rejects null': null,
    'rejects an object that cannot become a text': { toString: 1 },
    'rejects texts that take long to read': '9'.repeat(257),
  };
  for (const [sentence, value] of Object.entries(invalid)) {
    it(sentence, () => assert.equal(parseQuantity(value as string).kind, 'invalid'));
  }

  it('says what a quantity looks like', () => {
    assert.deepEqual(parseQuantity('lots'), {
      kind: 'invalid',
      message: '"lots" is not a valid quantity: write a number with an optional suffix, as in 500m, 2, 1.5Gi or 12e6',
    });
  });

  it('keeps 2^63 - 1 exactly', () => {
    assert.equal(quantity('9223372036854775807').nanos, (2n ** 63n - 1n) * 10n ** 9n);
    assert.equal(quantity('9223372036854775808').nanos, (2n ** 63n - 1n) * 10n ** 9n);
  });

  it('reads decimals exactly', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 9 }), (digits, places) => {
        assert.equal(quantity(`${digits}e-${places}`).nanos, BigInt(digits) * 10n ** BigInt(9 - places));
      }),
    );
  });

  it('never rounds a smaller quantity above a larger one', () => {
    const nanos = fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n });
    fc.assert(
      fc.property(nanos, nanos, (a, b) => {
        const [low, high] = a < b ? [a, b] : [b, a];
        assert(toMilli(quantity(`${low}n`)) <= toMilli(quantity(`${high}n`)));
        assert(toWhole(quantity(`${low}n`)) <= toWhole(quantity(`${high}n`)));
      }),
    );
  });

  it('never throws, whatever the text', () => {
    fc.assert(fc.property(fc.string(), (text) => ['quantity', 'invalid'].includes(parseQuantity(text).kind)));
  });
});

describe('formatting', () => {
  const milli: readonly (readonly [number, string])[] = [
    [0, '0'], [1, '1m'],
    [500, '500m'], [1000, '1'], [1500, '1500m'], [2000, '2'], [1_000_000, '1k'], [1_500_000, '1500'], [-250, '-250m'],
  ];
  for (const [amount, text] of milli) {
    it(`prints ${amount} milli-CPU as ${text}`, () => assert.equal(formatMilliCpu(amount as MilliCpu), text));
  }

  const bytes: readonly (readonly [number, string])[] = [
    [0, '0'], [1000, '1k'], [1023, '1023'], [1024, '1Ki'], [1536, '1536'], [1.5 * 2 ** 30, '1536Mi'], [2 ** 30, '1Gi'],
    [2 ** 40, '1Ti'], [5 * 2 ** 50, '5Pi'], [1_000_000, '1000000'], [-2048, '-2Ki'],
  ];
  for (const [amount, text] of bytes) {
    it(`prints ${amount} bytes as ${text}`, () => assert.equal(formatBytes(amount as Bytes), text));
  }

  const amounts: readonly (readonly [number, string])[] =
    [[0, '0'], [8, '8'], [110, '110'], [1000, '1k'], [1500, '1500'], [3e6, '3M'], [-4, '-4']];
  for (const [amount, text] of amounts) {
    it(`prints an amount of ${amount} as ${text}`, () => assert.equal(formatAmount(amount as Amount), text));
  }

  const safe = fc.oneof(
    fc.maxSafeInteger(),
    fc.integer({ min: 0, max: 2 ** 20 }).map((n) => n * 1000),
    fc.integer({ min: 0, max: 2 ** 20 }).map((n) => n * 2 ** 30),
  );
  it('prints texts that read back as the same amount', () => {
    fc.assert(
      fc.property(safe, (n) => {
        assert.equal(toMilli(quantity(formatMilliCpu(n as MilliCpu))), n);
        assert.equal(toBytes(quantity(formatBytes(n as Bytes))), n);
        assert.equal(toWhole(quantity(formatAmount(n as Amount))), n);
      }),
    );
  });
});
