import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ageOf, textTable } from '../../../../cli/output/text-table.ts';

const NOW = Date.parse('2026-01-10T00:00:00Z');
const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

describe('ageOf', () => {
  // What kubectl prints (apimachinery `util/duration` HumanDuration).
  const rows: readonly [number, string][] = [
    [0, '0s'], [59, '59s'],
    [119, '119s'], [120, '2m'], [125, '2m5s'], [599, '9m59s'], [600, '10m'], [3_600, '60m'], [10_799, '179m'],
    [10_800, '3h'],
    [10_860, '3h1m'], [28_800, '8h'], [172_799, '47h'], [172_800, '2d'], [176_400, '2d1h'], [691_200, '8d'],
  ];
  for (const [seconds, text] of rows) {
    it(`shows ${seconds} s as ${text}`, () => assert.equal(ageOf(ago(seconds), NOW), text));
  }
  it('shows no negative age where clocks differ', () => assert.equal(ageOf(ago(-5), NOW), '0s'));
  it('says so when there is none', () => assert.equal(ageOf(undefined, NOW), '<unknown>'));
});

describe('textTable', () => {
  it('makes columns as wide as their widest cell and leaves nothing behind the last', () => {
    assert.equal(
      textTable(['A', 'LONG TITLE', 'C'], [['first', 'x', 'y'], ['b', undefined, '']]),
      'A       LONG TITLE   C\nfirst   x            y\nb       <none>       <none>',
    );
  });
});
