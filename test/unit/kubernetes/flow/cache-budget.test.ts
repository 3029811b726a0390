import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { approximateBytes, CacheBudget } from '../../../../kubernetes/flow/cache-budget.ts';
import { checkValues, LimitError } from '../../../../kubernetes/connect/connection-limits.ts';

const MiB = 1 << 20;

describe('what is remembered of a server', () => {
  it('is refused from the object on that is one too many', () => {
    const budget = new CacheBudget({ maxObjects: 2, maxCachedBytes: MiB });
    const first = budget.take('a', 0);
    budget.take('b', 0);
    assert.throws(() => budget.take('c', 0), { name: 'LimitError', message: /more than 2 objects/ });
    budget.free(first);
    assert.ok(budget.take('c', 0) > 0);
  });

  it('is refused when it takes too much memory, and told to who listens', () => {
    const budget = new CacheBudget({ maxObjects: 1_000, maxCachedBytes: MiB });
    const heard: string[] = [];
    budget.onExceeded(({ message }) => void heard.push(message));
    assert.throws(() => budget.take('x'.repeat(MiB), 0), LimitError);
    assert.deepEqual(heard, ['its objects take more than 1 MiB']);
  });

  it('counts a record that takes the place of another once', () => {
    const budget = new CacheBudget({ maxObjects: 1, maxCachedBytes: 3 * MiB });
    let bytes = budget.take('x'.repeat(MiB), 0);
    for (let round = 0; round < 10; round += 1) bytes = budget.take('x'.repeat(MiB), bytes);
    assert.ok(bytes >= 2 * MiB);
  });

  it('is nothing again when all has gone, whatever came in between', () => {
    const step = fc.record({ key: fc.nat(5), value: fc.option(fc.jsonValue()) });
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const budget = new CacheBudget({ maxObjects: 6, maxCachedBytes: MiB });
      const held = new Map<number, number>();
      for (const { key, value } of steps) {
        if (value === null) {
          budget.free(held.get(key) ?? 0);
          held.delete(key);
        } else held.set(key, budget.take(value, held.get(key) ?? 0));
      }
      for (const bytes of held.values()) budget.free(bytes);
      assert.doesNotThrow(() => budget.take('x'.repeat(MiB / 2 - 500), 0), 'all of it is free');
    }), { numRuns: 100 });
  });
});

describe('the size of a value', () => {
  it('is at least that of its texts', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => assert.ok(approximateBytes(texts) >= texts.join('').length * 2)),
      { numRuns: 100 },
    );
  });
  it('is found of what is nested deeper than the stack', () => {
    assert.ok(approximateBytes(JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))) > 200_000);
  });
});

describe('JSON', () => {
  const limits = { minBytesPerValue: 6 };
  const pod = {
    metadata: { name: 'web-0', labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'example/main:1', args: ['-a', '-b'] }] },
  };
  const cases: Record<string, readonly [fine: boolean, json: string]> = {
    'of usual objects is fine': [true, JSON.stringify(Array.from({ length: 2_000 }, () => pod))],
    'of a few small values is fine': [true, `[${'1,'.repeat(1_000)}1]`],
    'of nothing but small values is not': [false, `[${'{},'.repeat(100_000)}{}]`],
    'of nested lists is not': [false, '['.repeat(50_000) + ']'.repeat(50_000)],
  };
  for (const [sentence, [fine, json]] of Object.entries(cases)) {
    it(sentence, () => (
      fine
        ? checkValues(Buffer.from(json), limits)
        : assert.throws(() => checkValues(Buffer.from(json), limits), LimitError)
    ));
  }
});
