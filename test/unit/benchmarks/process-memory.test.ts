import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readResidentMiB, residentMiBOfStatus } from '../../../benchmarks/readings/process-memory.ts';
import type { AppError } from '../../../process/errors.ts';

describe('residentMiBOfStatus', () => {
  it('reads what is resident, not what is mapped', () => {
    assert.equal(
      residentMiBOfStatus(
        'Name:\tnode\nVmSize:\t  9999999 kB\nVmHWM:\t  300000 kB\nVmRSS:\t  153600 kB\nThreads:\t11\n',
      ),
      150,
    );
  });

  it('gives nothing for what is no such text', () => {
    for (const text of ['', 'VmRSS: many kB', 'VmRSS:\t12 MB']) assert.equal(residentMiBOfStatus(text), undefined);
  });
});

describe('readResidentMiB', () => {
  it('says of a process that is not there that it cannot be read', async () => {
    await assert.rejects(readResidentMiB(2 ** 31 - 1), (error: AppError) => error.code === 'NotFound');
  });
});
