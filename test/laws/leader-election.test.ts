// Random histories of leader election: no two replicas hold a lease, whatever is slow or lost and whatever clocks show.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import * as fc from 'fast-check';
import type { Lease } from '../../api/objects/core.ts';
import { LEASE_TIMINGS, QUICK_LEASE_TIMINGS } from '../../kubernetes/lease/lease-record.ts';
import type { CallFate } from '../support/doubles/lease-store.ts';
import { QUICK, VirtualElections } from '../support/doubles/virtual-elections.ts';

describe('laws of LeaderElection', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  for (
    const [what, timings] of [["a target's", LEASE_TIMINGS], ["a source's", QUICK_LEASE_TIMINGS]] as const
  ) it(`never has two that hold ${what} lease, nor one before others have said, whatever is slow or lost, and ` +
    'whatever their clocks show', async () => {
    const fate = fc.record(
      {
        thereMs: fc.integer({ min: 0, max: 4_000 }), backMs: fc.integer({ min: 0, max: 4_000 }),
        lost: fc.constantFrom('there' as const, 'back' as const),
      },
      { requiredKeys: ['thereMs', 'backMs'] },
    );
    // Right after a slow time a usual lease is asked for again, and that is when its answer is lost.
    const usualIsLost = fc.constant((written?: Lease): CallFate => (
      written?.spec?.leaseDurationSeconds === timings.leaseMs / 1_000 ? { ...QUICK, lost: 'back' } : QUICK
    ));
    const steady = fc.oneof({ weight: 2, arbitrary: fc.constant(QUICK) }, fate).map((one) => (): CallFate => one);
    const phase = fc.record({
      ms: fc.integer({ min: 100, max: 20_000 }),
      fates: fc.array(fc.oneof({ weight: 3, arbitrary: steady }, usualIsLost), { minLength: 3, maxLength: 3 }),
    });
    const offset = fc.integer({ min: -1e7, max: 1e7 });
    await fc.assert(
      fc.asyncProperty(fc.array(phase, { minLength: 1, maxLength: 6 }),
        fc.array(offset, { minLength: 3, maxLength: 3 }), async (phases, offsets) => {
        const world = new VirtualElections();
        world.timings = timings;
        try {
          let fates: readonly ((written?: Lease) => CallFate)[] = [];
          const replicas = offsets.map(
            (clock, i) => world.replica(`r${i}`, (written) => fates[i]?.(written) ?? QUICK, { clockOffset: clock }),
          );
          const reservedUntil = replicas.map(() => 0);
          const look = () => {
            const holders = replicas.flatMap(({ election }, i) => (election.holds() ? [i] : []));
            assert(holders.length <= 1, `two hold it at ${world.now}`);
            const [holder] = holders;
            if (holder === undefined) return;
            assert(
              reservedUntil.every((until, i) => i === holder || until <= world.now),
              `r${holder} holds it at ${world.now}, reserved until ${reservedUntil.join()}`,
            );
            reservedUntil[holder] = Math.max(reservedUntil[holder]!, world.now + replicas[holder]!.election.msLeft());
          };
          for (const { ms, fates: next } of phases) {
            fates = next;
            await world.pass(ms, look);
          }
          fates = [];
          const { leaseMs, slowLeaseMs = leaseMs, renewWithinMs, retryMs } = timings;
          await world.pass(slowLeaseMs + renewWithinMs + 3 * retryMs, look);
          assert.equal(replicas.filter(({ election }) => election.holds()).length, 1, 'and one in the end');
        } finally {
          await world.end();
        }
      }),
      { numRuns: 50 },
    );
  });
});
