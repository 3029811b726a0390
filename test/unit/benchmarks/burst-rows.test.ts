// The rows of P1: which figure of a burst becomes which row, and what is held against what.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { burstRows, type Measured } from '../../../benchmarks/pods/burst-rows.ts';
import { USUAL_PARSE_US } from '../../../benchmarks/readings/processor-speed.ts';

const LIMITS = { name: 'stock', words: 'stock client limits', atLeast: { PodChaperon: 0.6, Pod: 0.75 } } as const;

const burst = (podsPerSecond: number, clearedPerSecond: number, cpu: Record<string, number> = {}): Measured => ({
  podsPerSecond, clearedPerSecond, podMs: [900, 1_000],
  cpu: { 'source/kube-apiserver': 4, 'target-1/kube-apiserver': 6, ...cpu },
});

const BURSTS = {
  elected: [
    burst(40, 20, { 'isthmus/source': 6, 'isthmus/target-1': 1, 'isthmus/target-2': 2 }),
    burst(50, 30, { 'isthmus/source': 4, 'isthmus/target-1': 1, 'isthmus/target-2': 1 }),
    burst(60, 40, { 'isthmus/source': 5, 'isthmus/target-1': 2, 'isthmus/target-2': 2 }),
  ],
  plain: [burst(100, 90)], bare: [burst(80, 70)],
};

describe('the rows of bursts', () => {
  const rows = burstRows({ limits: LIMITS, mode: 'Pod', size: 200 }, BURSTS, USUAL_PARSE_US);
  for (const [variant, ours, reference, goal] of [
    ['', 50, 100, { figure: 'ratio', atLeast: 0.75 }],
    ['-chain', 50, 80, { figure: 'ratio', atLeast: 0.85 }],
    ['-api-servers', 10, 10, { figure: 'ratio', atMost: 2.4 }],
    ['-api-servers-chain', 10, 10, { figure: 'ratio', atMost: 1.18 }],
    ['-source', 5, undefined, { figure: 'ours', atMost: 2.5 }],
    ['-target', 3, undefined, { figure: 'ours', atMost: 1.2 }],
    ['-clean-up', 30, 90, { figure: 'ratio', atLeast: 0.33 }],
  ] as const) {
    it(`has Pod-stock-200${variant}`, () => {
      const row = rows.find((each) => each.variant === `Pod-stock-200${variant}`);
      assert.deepEqual([row?.ours.median, row?.reference?.median, row?.goal], [ours, reference, goal]);
    });
  }

  it('has our CPU as it would be at the usual speed, and that of API servers as it was', () => {
    const slow = burstRows({ limits: LIMITS, mode: 'Pod', size: 200 }, BURSTS, 2 * USUAL_PARSE_US);
    const medianOf = (end: string): number | undefined =>
      slow.find(({ variant }) => variant.endsWith(end))?.ours.median;
    assert.deepEqual(['-source', '-target', '-api-servers'].map(medianOf), [2.5, 1.5, 10]);
  });

  it('names the first burst of a process', () => {
    const first = burstRows({ limits: LIMITS, mode: 'PodChaperon', size: 200, isFirst: true }, BURSTS, USUAL_PARSE_US);
    assert.deepEqual(first.map(({ variant }) => variant).slice(0, 2), [
      'PodChaperon-stock-200-first', 'PodChaperon-stock-200-first-chain',
    ]);
    assert.deepEqual(first[0]?.goal, { figure: 'ratio', atLeast: 0.6 });
  });

  it('has no figure where no process of ours was seen', () => {
    const unseen = burstRows(
      { limits: LIMITS, mode: 'Pod', size: 200 }, { ...BURSTS, elected: BURSTS.plain }, USUAL_PARSE_US,
    );
    for (const end of ['-source', '-target']) {
      assert.ok(Number.isNaN(unseen.find(({ variant }) => variant.endsWith(end))?.ours.median), end);
    }
  });
});
