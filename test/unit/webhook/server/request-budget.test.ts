// The webhook's budget against a list of what is in flight.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { RequestBudget } from '../../../../webhook/server/request-budget.ts';

describe('a budget of requests', () => {
  it('takes as many as its limit, and another when one is over', () => {
    const budget = new RequestBudget({ requests: 2, bytes: 100 });
    const first = budget.take(1);
    assert.ok(first !== undefined && budget.take(1) !== undefined);
    assert.equal(budget.take(1), undefined);
    first();
    assert.ok(budget.take(1) !== undefined);
  });
  it('takes bodies up to its limit in bytes, to the last byte', () => {
    const budget = new RequestBudget({ requests: 9, bytes: 10 });
    assert.ok(budget.take(4) !== undefined);
    assert.equal(budget.take(7), undefined);
    assert.ok(budget.take(6) !== undefined);
  });
  it('takes one body that is larger than its limit when nothing else is in flight: it would never get in', () => {
    const budget = new RequestBudget({ requests: 9, bytes: 10 });
    const over = budget.take(1_000);
    assert.ok(over !== undefined);
    assert.equal(budget.take(0), undefined, 'and nothing beside it');
    over();
    assert.ok(budget.take(0) !== undefined);
  });
  it('is released once by each request, however often that is called', () => {
    const budget = new RequestBudget({ requests: 2, bytes: 10 });
    const [first] = [budget.take(5), budget.take(5)];
    first?.();
    first?.();
    assert.equal(budget.requests, 1);
    assert.equal(budget.take(6), undefined);
  });
});

describe('whatever comes and goes', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('take' as const), bytes: fc.nat({ max: 12 }) }),
    fc.record({ kind: fc.constant('release' as const), which: fc.nat({ max: 20 }) }),
  );

  it('it admits exactly what fits beside what is in flight', () => {
    fc.assert(fc.property(fc.array(step, { maxLength: 60 }), fc.nat({ max: 4 }), (steps, requests) => {
      const budget = new RequestBudget({ requests, bytes: 20 });
      const taken: { readonly bytes: number; readonly release: () => void; over: boolean }[] = [];
      const inFlight = () => taken.filter(({ over }) => !over);
      for (const each of steps) {
        if (each.kind === 'release') {
          const one = taken[each.which];
          one?.release();
          if (one !== undefined) one.over = true;
        } else {
          const bytes = inFlight().reduce((sum, one) => sum + one.bytes, 0);
          const fits = inFlight().length < requests && (inFlight().length === 0 || bytes + each.bytes <= 20);
          const release = budget.take(each.bytes);
          assert.equal(release !== undefined, fits);
          if (release !== undefined) taken.push({ bytes: each.bytes, release, over: false });
        }
        assert.equal(budget.requests, inFlight().length);
      }
    }), { numRuns: 200 });
  });
});
