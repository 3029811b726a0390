// What is kept of a benchmark, and the page that shows it: no figure on it is typed.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { toResult, type Report } from '../../../benchmarks/results/report.ts';
import { pageOf, readSaved, saveResults } from '../../../benchmarks/results/saved-results.ts';
import { spreadOf } from '../../../benchmarks/results/statistics.ts';
import { ROOT, textOf } from '../../support/docs/documented-blocks.ts';

const PAGE = [
  '# Results', '',
  '| what | ours | reference | ratio | goal | holds |', '|---|---|---|---|---|---|',
  '| P1 an old row | 1 ms | | | | |', '',
  '| # | measured on | commit | machine |', '|---|---|---|---|', '', 'The end.', '',
].join('\n');

function report(id: string, median: number): Report {
  const measurement = {
    variant: 'burst', title: 'a burst', unit: 'pods/s', ours: spreadOf([median - 1, median, median + 1]),
    reference: spreadOf([100]), goal: { figure: 'ratio', atLeast: 0.5 },
  } as const;
  const alone = {
    variant: 'memory', title: 'memory', unit: 'MiB', ours: spreadOf([median]),
    goal: { figure: 'ours', atMost: 20 },
  } as const;
  return {
    machine: {
      cpu: 'A Processor', cores: 2, memoryBytes: 8 * 1_024 ** 3, loadAverage: [0.52, 1, 2], platform: 'linux/x64',
      node: '20.20.2',
    },
    commit: '0123456789abcdef-dirty', measuredOn: '2026-11-29',
    results: [measurement, alone].map((one) => toResult({ id }, one)),
  };
}

describe('the page of results', () => {
  it('has a row for each figure, with its goal, and one for each run, in place of the former ones', () => {
    assert.equal(pageOf(PAGE, [report('P1', 40), report('PM', 10)]), [
      '# Results', '',
      '| what | ours | reference | ratio | goal | holds |', '|---|---|---|---|---|---|',
      '| P1 a burst | 40 pods/s (39–41, n=3) | 100 pods/s | 0.4 | ≥ 0.5 | **no** |',
      '| P1 memory | 40 MiB | | | ≤ 20 MiB | **no** |',
      '| PM a burst | 10 pods/s (9–11, n=3) | 100 pods/s | 0.1 | ≥ 0.5 | **no** |',
      '| PM memory | 10 MiB | | | ≤ 20 MiB | yes |', '',
      '| # | measured on | commit | machine |', '|---|---|---|---|',
      '| P1 | 2026-11-29 | 01234567-dirty | 2 shared cores (A Processor), 8 GiB, Node.js 20.20.2, load 0.5 at the start |',
      '| PM | 2026-11-29 | 01234567-dirty | 2 shared cores (A Processor), 8 GiB, Node.js 20.20.2, load 0.5 at the start |',
      '', 'The end.', '',
    ].join('\n'));
  });

  it('is made anew to the same text', () => {
    const page = pageOf(PAGE, [report('P1', 40)]);
    assert.equal(pageOf(page, [report('P1', 40)]), page);
  });

  it('refuses a page without the tables', () => {
    assert.throws(() => pageOf('# Results\n', []), /has no table with the columns \| what \|/);
  });

  it('shows what is kept in this checkout', async () => {
    const text = textOf('docs/results/benchmarks.md');
    assert.equal(text, pageOf(text, await readSaved(ROOT)));
  });
});

describe('saved results', () => {
  let checkout = '';
  before(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'isthmus-saved-results-'));
    await mkdir(join(checkout, 'docs/results'), { recursive: true }); // a clone has no folder for the first of them
    await writeFile(join(checkout, 'docs/results/benchmarks.md'), PAGE);
  });
  after(() => rm(checkout, { recursive: true }));

  it('are kept for each benchmark, the last ones alone, P2 before P10', async () => {
    for (const saved of [report('P10', 7), report('P2', 3), report('P2', 4)]) await saveResults(saved, checkout);
    assert.deepEqual(await readSaved(checkout), [report('P2', 4), report('P10', 7)]);
    const page = await readFile(join(checkout, 'docs/results/benchmarks.md'), 'utf8');
    assert.equal(page, pageOf(PAGE, [report('P2', 4), report('P10', 7)]));
  });

  it('stay where nothing could be measured', async () => {
    const before = await readdir(join(checkout, 'docs/results/benchmarks'));
    await saveResults({ ...report('P2', 4), results: [] }, checkout);
    assert.deepEqual(await readdir(join(checkout, 'docs/results/benchmarks')), before);
    assert.deepEqual((await readSaved(checkout))[0], report('P2', 4));
  });
});
