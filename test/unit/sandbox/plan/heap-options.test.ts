// A process that is started with them has the heap that they promise, and the manifests' containers the limit.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { heapOptions, type MemoryLimit } from '../../../../sandbox/plan/heap-options.ts';
import { textOf } from '../../../support/docs/documented-blocks.ts';

const LIMIT_MIB = "require('node:v8').getHeapStatistics().heap_size_limit / 1048576";

interface Values {
  readonly defaults: { readonly resources: { readonly limits: { readonly memory: string } } };
}

describe('the heap of a container', () => {
  const cases: readonly { readonly limit: MemoryLimit; readonly mib: readonly [number, number] }[] = [
    { limit: '1Gi', mib: [512, 600] },
    { limit: '2Gi', mib: [1_024, 1_200] },
  ];
  for (const { limit, mib: [least, most] } of cases) {
    it(`with ${limit} ends between ${least} and ${most} MiB`, () => {
      const mib = Number(execFileSync(process.execPath, [...heapOptions(limit), '--print', LIMIT_MIB]));
      assert.ok(mib >= least && mib <= most, String(mib));
    });
  }

  it('is that of the limit in the manifests unless said otherwise', () => {
    const { memory } = (parse(textOf('manifests/helm/isthmus/values.yaml')) as Values).defaults.resources.limits;
    assert.equal(memory, '1Gi');
  });
});
