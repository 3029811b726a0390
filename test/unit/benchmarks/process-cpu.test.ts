// Processor time from the text that Linux gives.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuMsOfStat, cpuMsPer, readCpuMs } from '../../../benchmarks/readings/process-cpu.ts';

const stat = (name: string, user: number, system: number): string =>
  `42 (${name}) S 1 42 42 0 -1 4194304 100 0 0 0 ${user} ${system} 7 8 20 0 11 0 500 1000`;

describe('cpuMsOfStat', () => {
  const rows: readonly (readonly [string, string, number | undefined])[] = [
    ['user and system time in ticks of 10 ms', stat('node', 150, 50), 2_000],
    ['a process whose name holds blanks and brackets', stat('a) R (b c', 1, 2), 30],
    ['an empty text', '', undefined],
    ['a text that is cut off', '42 (node) S 1 42', undefined],
  ];
  for (const [what, text, expected] of rows) {
    it(`reads ${what}`, () => assert.equal(cpuMsOfStat(text), expected));
  }
});

describe('readCpuMs', () => {
  it('leaves out processes that do not exist', async () => {
    assert.deepEqual(await readCpuMs(new Map([['gone', -1]])), new Map());
  });
});

describe('cpuMsPer', () => {
  it('gives what was used between two readings, per piece of work', () => {
    const used = cpuMsPer(200, new Map([['a', 100], ['b', 50]]), new Map([['a', 1_100], ['b', 50]]));
    assert.deepEqual(used, { a: 5, b: 0 });
  });

  it('counts a process that began in between from its beginning, and leaves out one that ended', () => {
    assert.deepEqual(cpuMsPer(10, new Map([['old', 70]]), new Map([['new', 30]])), { new: 3 });
  });
});
