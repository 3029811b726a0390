import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { growthPercent } from '../../../process/heap-growth.ts';

const MIB = 1 << 20;

describe('growthPercent', () => {
  const rows: readonly (
    readonly [what: string, percent: number, liveMiB: number, targets?: number, limitMiB?: number]
  )[] = [
    ['a heap that has just started', 300, 8],
    ['that of a source at work', 88, 40],
    ['one where V8 allows almost as much garbage', 35, 100],
    ['a large one, which is left to V8', 0, 250],
    ['that of a hundred thousand pods in a hundred targets, which is left to V8 as well', 0, 250, 100],
    ['that of a thousand targets', 53, 250, 1_000],
    ['one that may have 4 GiB', 256, 100, 0, 4_096],
  ];
  for (const [what, percent, liveMiB, targets = 0, limitMiB = 560] of rows) {
    it(`is ${percent} for ${what}`, () => {
      const heap = { liveBytes: liveMiB * MIB, limitBytes: limitMiB * MIB, targets };
      assert.equal(growthPercent(heap), percent);
    });
  }
});

/**
 * Prints how often the whole heap was collected while 300 MiB became garbage that had lived for a while, beside some 30
 * MiB that stay. Of a heap that may have 512 MiB, V8 lets a third be garbage at most, however fast it comes.
 */
const WORK = `
  import { constants, PerformanceObserver } from 'node:perf_hooks';
  const objects = (count) => Array.from({ length: count }, (_, i) => ({ i, text: 'text ' + i }));
  const [kept, young] = [objects(250_000), []];
  let whole = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) whole += 1;
  }).observe({ entryTypes: ['gc'] });
  for (let turn = 0; turn < 300; turn += 1) {
    young.push(objects(10_000));
    if (young.length > 8) young.shift();
    await new Promise(setImmediate);
  }
  process.stdout.write(String(kept.length > 0 ? whole : NaN));
`;

async function collectionsOf(before: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-old-space-size=512', '--max-semi-space-size=1', '--input-type=module', '--eval', before + WORK,
  ]);
  return Number(stdout);
}

describe('spaceCollections', () => {
  it('lets more garbage accumulate in a small heap before all of it is collected', async () => {
    const module = JSON.stringify(new URL('../../../process/heap-growth.js', import.meta.url));
    const spaced = `import { spaceCollections } from ${module}; spaceCollections();`;
    const [own, ours] = await Promise.all([collectionsOf(''), collectionsOf(spaced)]);
    assert(ours > 0 && ours <= own * 0.7, `${ours} collections, ${own} by V8's own choice`);
  });
});
