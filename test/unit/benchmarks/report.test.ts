// What a reader of the benchmarks gets: ratios of medians, and whether the goals hold.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Goal, Measurement } from '../../../benchmarks/benchmark.ts';
import { formatReport, formatTable, reaches, toResult } from '../../../benchmarks/results/report.ts';
import { spreadOf } from '../../../benchmarks/results/statistics.ts';

const measurement: Measurement = {
  title: 'burst of 200', variant: 'raised-200', unit: 'pods/s',
  ours: spreadOf([40, 50, 60]),
  reference: spreadOf([90, 100, 120]),
  goal: { figure: 'ratio', atLeast: 0.45 },
};
const machine = {
  cpu: 'A Processor', cores: 2, memoryBytes: 8 * 1024 ** 3, loadAverage: [0.5, 1, 2], platform: 'linux/x64',
  node: '20.20.2',
};

describe('reaches', () => {
  const rows: readonly {
    readonly what: string; readonly goal: Goal; readonly ours?: number; readonly ratio: number | null;
    readonly holds: boolean
  }[] = [
    { what: 'a ratio that is as great as asked', goal: { figure: 'ratio', atLeast: 0.45 }, ratio: 0.45, holds: true },
    { what: 'a ratio that is too small', goal: { figure: 'ratio', atLeast: 0.45 }, ratio: 0.44, holds: false },
    { what: 'a ratio that may not be greater', goal: { figure: 'ratio', atMost: 2.5 }, ratio: 2.5, holds: true },
    { what: 'a ratio that is too great', goal: { figure: 'ratio', atMost: 2.5 }, ratio: 2.6, holds: false },
    {
      what: 'a goal for our own figure, whatever the ratio', goal: { figure: 'ours', atMost: 4.4 }, ours: 4.1,
      ratio: 99, holds: true,
    },
    { what: 'a ratio that does not exist', goal: { figure: 'ratio', atMost: 2.5 }, ratio: null, holds: false },
    { what: 'a ratio that is no number', goal: { figure: 'ratio', atMost: 2.5 }, ratio: Number.NaN, holds: false },
  ];
  for (const { what, goal, ours = 0, ratio, holds } of rows) {
    it(`says ${holds ? 'yes' : 'no'} to ${what}`, () => assert.equal(reaches(goal, { ours, ratio }), holds));
  }
});

describe('toResult', () => {
  it('gives medians, their ratio, the goal and whether it holds', () => {
    assert.deepEqual(toResult({ id: 'P1' }, measurement), {
      id: 'P1', variant: 'raised-200', title: 'burst of 200',
      ours: 50, reference: 100, unit: 'pods/s', ratio: 0.5,
      goal: { figure: 'ratio', atLeast: 0.45 }, holds: true,
      oursSpread: { median: 50, min: 40, max: 60, count: 3 },
      referenceSpread: { median: 100, min: 90, max: 120, count: 3 },
    });
  });

  it('has null for what does not exist, so that every result has the same keys', () => {
    const { reference: _reference, goal: _goal, ...alone } = measurement;
    const { reference, ratio, goal, holds, referenceSpread } = toResult({ id: 'P10' }, alone);
    assert.deepEqual([reference, ratio, goal, holds, referenceSpread], [null, null, null, null, null]);
  });

  it('hands details on', () => {
    assert.deepEqual(toResult({ id: 'P1' }, { ...measurement, details: { podMs: 3 } }).details, { podMs: 3 });
  });

  it('survives JSON unchanged', () => {
    const result = toResult({ id: 'P1' }, measurement);
    assert.deepEqual(JSON.parse(JSON.stringify(result)), result);
  });
});

describe('formatTable', () => {
  it('aligns the columns and says where a goal is missed', () => {
    const missed =
      toResult({ id: 'P13' }, { ...measurement, title: 'alone', unit: 'ms', goal: { figure: 'ratio', atMost: 0.25 } });
    assert.deepEqual(formatTable([toResult({ id: 'P1' }, measurement), missed]).split('\n'), [
      'id   what          ours             reference          unit    ratio  goal          holds',
      '---  ------------  ---------------  -----------------  ------  -----  ------------  -----',
      'P1   burst of 200  50 (40–60, n=3)  100 (90–120, n=3)  pods/s  0.5    ratio ≥ 0.45  yes',
      'P13  alone         50 (40–60, n=3)  100 (90–120, n=3)  ms      0.5    ratio ≤ 0.25  NO',
    ]);
  });

  it('shows a figure that was measured once without a spread, and leaves empty what does not exist', () => {
    const { goal: _goal, reference: _reference, ...alone } = measurement;
    const [, , line] = formatTable([toResult({ id: 'P10' }, { ...alone, ours: spreadOf([0.1234567]) })]).split('\n');
    assert.match(line ?? '', /^P10 +burst of 200 +0\.123 +pods\/s$/);
  });

  it('has a head alone when there are no results', () => {
    assert.equal(formatTable([]).split('\n').length, 2);
  });
});

describe('formatReport', () => {
  it('names machine, load and commit below the table', () => {
    const text = formatReport({ machine, commit: 'abc-dirty', results: [toResult({ id: 'P1' }, measurement)] });
    assert.match(
      text,
      /machine: 2 cores \(A Processor\), 8 GiB, linux\/x64, Node\.js 20\.20\.2, load average at the start 0\.50 1\.00 2\.00\n/,
    );
    assert.match(text, /\ncommit: abc-dirty$/);
  });
});
