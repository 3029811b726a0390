// Medians and spreads, on which every figure of a benchmark rests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { array, assert as assertProperty, double, property } from 'fast-check';
import { median, percentile, significant, slopeOf, spreadOf } from '../../../benchmarks/results/statistics.ts';

const figures = array(double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), { minLength: 1 });

describe('median', () => {
  const rows: readonly (readonly [string, readonly number[], number])[] = [
    ['one value', [7], 7],
    ['the middle of three', [9, 1, 5], 5],
    ['the mean of the two in the middle', [4, 1, 3, 2], 2.5],
    ['numbers by size, not by their digits', [10, 9, 100], 10],
  ];
  for (const [what, values, expected] of rows) {
    it(`gives ${what}`, () => assert.equal(median(values), expected));
  }

  it('refuses an empty series', () => assert.throws(() => median([]), RangeError));

  it('leaves its input as it is', () => {
    const values = [3, 1, 2];
    median(values);
    assert.deepEqual(values, [3, 1, 2]);
  });

  it('has as many values at or below it as at or above it', () => {
    assertProperty(
      property(figures, (values) => {
        const middle = median(values);
        assert.ok(values.filter((value) => value <= middle).length * 2 >= values.length);
        assert.ok(values.filter((value) => value >= middle).length * 2 >= values.length);
      }),
    );
  });
});

describe('spreadOf', () => {
  it('gives median, extremes and count', () => {
    assert.deepEqual(spreadOf([4, 8, 6, 1]), { median: 5, min: 1, max: 8, count: 4 });
  });

  it('refuses an empty series', () => assert.throws(() => spreadOf([]), RangeError));

  it('does not depend on the order of measurement', () => {
    assertProperty(property(figures, (values) => assert.deepEqual(spreadOf(values), spreadOf(values.toReversed()))));
  });
});

describe('percentile', () => {
  const values = Array.from({ length: 20 }, (_, index) => 20 - index);
  const rows: readonly (readonly [number, number])[] = [[0, 1], [0.5, 10], [0.9, 18], [0.99, 20], [1, 20]];
  for (const [share, expected] of rows) {
    it(`gives the value at rank ${share} of 1 to 20`, () => assert.equal(percentile(values, share), expected));
  }

  it('refuses an empty series', () => assert.throws(() => percentile([], 0.5), RangeError));
});

describe('significant', () => {
  const rows: readonly (readonly [number, number])[] = [[1234.5, 1230], [0.12345, 0.123], [2, 2], [0, 0]];
  for (const [value, expected] of rows) {
    it(`shows ${value} as ${expected}`, () => assert.equal(significant(value, 3), expected));
  }
});

describe('slopeOf', () => {
  const finite = double({ noNaN: true, noDefaultInfinity: true, min: -1e3, max: 1e3 });

  it('finds the slope of any straight line', () => assertProperty(property(finite, finite, (slope, start) => {
    const points = [0, 1, 2.5, 7].map((x) => [x, start + slope * x] as const);
    assert.ok(Math.abs(slopeOf(points) - slope) < 1e-6);
  })));
  it('is not moved by what lies evenly on both sides', () =>
    assert.equal(slopeOf([[0, 1], [0, -1], [1, 1], [1, -1]]), 0));
  it('refuses points of one x', () => {
    assert.throws(() => slopeOf([[1, 2], [1, 3]]), RangeError);
    assert.throws(() => slopeOf([]), RangeError);
  });
});
