import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import type { LeaderElection } from '../../../../kubernetes/lease/leader-election.ts';
import type { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import { LeaseCalls } from '../../../../kubernetes/lease/lease-calls.ts';
import {
  LEASE_TIMINGS, QUICK_LEASE_TIMINGS, type RequestedLease,
} from '../../../../kubernetes/lease/lease-record.ts';
import { LeaseDuration } from '../../../../kubernetes/lease/lease-duration.ts';
import type { CallFate } from '../../../support/doubles/lease-store.ts';
import { QUICK, VirtualElections } from '../../../support/doubles/virtual-elections.ts';

const LOST: CallFate = { thereMs: 5, backMs: 5, lost: 'there' };

describe('LeaderElection in virtual time', () => {
  let world: VirtualElections;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    world = new VirtualElections();
  });
  afterEach(async () => {
    await world.end();
    mock.timers.reset();
  });

  it('takes a lease that nobody has with one call, and keeps it with one call in each interval', async () => {
    const { election } = world.replica('a');
    await world.pass(100);
    assert.equal(election.holds(), true);
    await world.pass(60_000, () => assert.equal(election.holds(), true));
    const { length } = world.store.writers;
    assert(length >= 9 && length <= 12, `${length} writes in a minute`);
  });

  for (
    const [what, timings] of Object.entries({ "a target's": LEASE_TIMINGS, "a source's": QUICK_LEASE_TIMINGS })
  ) it(`stands by while another one renews, and takes over only when the lease has run out, with ${what} durations`,
    async () => {
    world.timings = timings;
    let isCut = false;
    const a = world.replica('a', () => (isCut ? LOST : QUICK));
    await world.pass(100);
    const b = world.replica('b');
    await world.pass(30_000, () => assert.equal(b.election.holds(), false));
    isCut = true;
    const cutAt = world.now;
    let [ended, taken] = [0, 0];
    await world.pass(40_000, () => {
      assert(!(a.election.holds() && b.election.holds()));
      if (!a.election.holds()) ended ||= world.now;
      if (b.election.holds()) taken ||= world.now;
    }, 10);
    assert(ended - cutAt <= timings.renewWithinMs + 100, 'acts no longer than its own limit');
    assert(taken - ended >= timings.leaseMs - timings.renewWithinMs - 100, 'with room between');
    // A renewal right before the cut is seen at the next look: the lease runs from there. Each of the five calls and
    // timers on the way ends at a step, so that with steps of 50 ms this would fail once in a while.
    assert(
      taken - cutAt <= timings.leaseMs + 1.2 * timings.retryMs + 200,
      `and nobody waits for longer than needed: ${taken - cutAt} ms`,
    );
    isCut = false;
    await world.pass(20_000);
    assert.deepEqual(world.told, ['a leads', 'b leads', 'a lost to b']);
  });

  for (
    const [what, timings, ms] of [
      ["a target's", LEASE_TIMINGS, 2_400], ["a source's", QUICK_LEASE_TIMINGS, 2_000],
    ] as const
  ) it(`keeps ${what} lease on a server that takes ${ms} ms for each call`, async () => {
    world.timings = timings;
    const { election } = world.replica('a', () => ({ thereMs: ms / 2, backMs: ms / 2 }));
    await world.pass(ms + 100);
    await world.pass(120_000, () => assert.equal(election.holds(), true));
  });

  it('keeps its lease while a server slows down, by asking for a longer one, and for a usual one when it is quick again',
    async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let ms = 10;
    const { election } = world.replica('a', () => ({ thereMs: ms / 2, backMs: ms / 2 }));
    await world.pass(5_000);
    const durations: (number | undefined)[] = [];
    for (ms of [10, 600, 1_500, 2_500, 3_500, 4_000, 10]) {
      await world.pass(30_000, () => assert.equal(election.holds(), true, `${ms} ms for each call`));
      durations.push(world.store.leases.get('lease')?.spec?.leaseDurationSeconds);
    }
    assert.deepEqual(durations, [5, 15, 15, 15, 15, 15, 5]);
  });

  it('keeps its lease on a server whose answers take ten milliseconds and three seconds in turn', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let calls = 0;
    const { election } = world.replica('a', () => ((calls += 1) % 2 === 0 ? { thereMs: 1_500, backMs: 1_500 } : QUICK));
    await world.pass(15_000); // until it has found out
    await world.pass(120_000, () => assert.equal(election.holds(), true));
  });

  it('acts no longer than a usual lease that it asked for and that was written, though all it heard of is a longer one',
    async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let ms = 800;
    let requestedAt = 0;
    const a = world.replica('a', (written) => {
      if (requestedAt > 0) return LOST;
      if (ms === 800 || written?.spec?.leaseDurationSeconds !== 5) return { thereMs: ms / 2, backMs: ms / 2 };
      requestedAt = world.now;
      return { ...QUICK, lost: 'back' };
    });
    await world.pass(10_000);
    const b = world.replica('b');
    ms = 10;
    let [ended, taken, reservedUntil] = [0, 0, 0];
    await world.pass(30_000, () => {
      assert(!(a.election.holds() && b.election.holds()), 'two hold it');
      if (a.election.holds()) reservedUntil = Math.max(reservedUntil, world.now + a.election.msLeft());
      if (!a.election.holds()) ended ||= world.now;
      if (b.election.holds()) taken ||= world.now;
    });
    assert(
      requestedAt > 10_000 && ended > requestedAt && ended - requestedAt <= QUICK_LEASE_TIMINGS.renewWithinMs + 100,
      `ended ${ended - requestedAt} ms after it was asked for`,
    );
    assert(taken >= reservedUntil, `taken at ${taken}, reserved until ${reservedUntil}`);
    assert(
      taken > ended && taken - requestedAt <= QUICK_LEASE_TIMINGS.leaseMs + 1.2 * QUICK_LEASE_TIMINGS.retryMs + 400,
      `taken after ${taken - requestedAt} ms`,
    );
  });

  it('has its lease back within three calls when a quick server takes three seconds from one moment to the next',
    async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let fate = QUICK;
    const { election } = world.replica('a', () => fate);
    await world.pass(1_400);
    fate = { thereMs: 1_500, backMs: 1_500 };
    const jumpedAt = world.now;
    let heldAt = 0;
    let lost = 0;
    await world.pass(120_000, () => {
      if (!election.holds()) lost = world.now;
      else if (lost > heldAt) heldAt = world.now;
    });
    assert(heldAt - jumpedAt < 13_000, `held for good ${heldAt - jumpedAt} ms later`);
    assert(lost < heldAt);
  });

  for (const ms of [5_000, 6_500]) it(`keeps a longer lease while each call takes ${ms} ms`, async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let fate: CallFate = { thereMs: 1_000, backMs: 1_000 };
    const { election } = world.replica('a', () => fate);
    await world.pass(15_000);
    fate = { thereMs: 1_500, backMs: 1_500 };
    await world.pass(15_000);
    fate = { thereMs: ms / 2, backMs: ms / 2 };
    await world.pass(120_000, () => assert.equal(election.holds(), true));
  });

  it('has no more than a usual right left when it may not renew a longer one any more', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let isForbidden = false;
    const { election } = world.replica('a', () => (
      isForbidden ? { ...QUICK, refusal: new ApiError(403, 'Forbidden', 'not yours') } : { thereMs: 400, backMs: 400 }
    ));
    await world.pass(10_000);
    assert.equal(world.store.leases.get('lease')?.spec?.leaseDurationSeconds, 15);
    isForbidden = true;
    const { renewWithinMs, renewEveryMs } = QUICK_LEASE_TIMINGS;
    await world.pass(renewWithinMs - 100, () => assert.equal(election.holds(), true));
    await world.pass(renewEveryMs + 200);
    assert.equal(election.holds(), false);
  });

  for (
    const [what, change] of [
      ['was deleted', undefined], ['was emptied', { holderIdentity: '', leaseDurationSeconds: 1 }],
    ] as const
  ) it(`does not act on a lease that ${what} by hand from when it hears of it`, async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let fate: CallFate = { thereMs: 400, backMs: 400 };
    const a = world.replica('a', () => fate);
    await world.pass(10_000);
    fate = QUICK;
    if (change === undefined) world.store.leases.delete('lease');
    else world.store.leases.set('lease', { metadata: { name: 'lease', resourceVersion: 'by-hand' }, spec: change });
    const b = world.replica('b');
    let both = 0;
    await world.pass(10_000, () => (both += a.election.holds() && b.election.holds() ? 50 : 0));
    assert(both <= QUICK_LEASE_TIMINGS.renewEveryMs + 100, `both acted for ${both} ms`);
  });

  it('asks a server that refuses it no faster than each second while a longer lease has time', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let calls = 0;
    let isOverloaded = false;
    const { election } = world.replica('a', () => {
      calls += 1;
      return isOverloaded
        ? { ...QUICK, refusal: new ApiError(429, 'TooManyRequests', 'later') }
        : { thereMs: 400, backMs: 400 };
    });
    await world.pass(10_000);
    isOverloaded = true;
    calls = 0;
    await world.pass(7_000, () => assert.equal(election.holds(), true));
    assert(calls <= 8, `${calls} calls in 7 s`);
  });

  it('asks for the same lease for all that it holds, also when one renewal alone was late', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    const pace = new LeaseDuration(QUICK_LEASE_TIMINGS);
    const one = world.replica('a', () => QUICK, { name: 'one', pace });
    let isLate = false;
    world.replica(
      'a', () => (isLate ? { thereMs: 300, backMs: 300 } : QUICK), { name: 'two', after: one.election, pace },
    );
    const durations = () => ['one', 'two'].map((name) => world.store.leases.get(name)?.spec?.leaseDurationSeconds);
    await world.pass(3_000);
    assert.deepEqual(durations(), [5, 5]);
    isLate = true;
    await world.pass(4_000);
    assert.deepEqual(durations(), [15, 15]);
    isLate = false;
    await world.pass(14_000);
    assert.deepEqual(durations(), [5, 5]);
  });

  it('gets its lease back from a server that was too slow, however slow it still is', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let fate = QUICK;
    const { election } = world.replica('a', () => fate);
    await world.pass(100);
    fate = LOST;
    await world.pass(5_000);
    assert.equal(election.holds(), false);
    fate = { thereMs: 100, backMs: 3_200 };
    let held = 0;
    await world.pass(60_000, () => (held += election.holds() ? 1 : 0));
    assert(held > 240, `${held} of 1,200 looks`);
    fate = QUICK;
    await world.pass(5_000);
    await world.pass(5_000, () => assert.equal(election.holds(), true));
  });

  it('takes over several leases of a dead leader together, in their order', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let isCut = false;
    const threeOf = (identity: string, fate: () => CallFate) => {
      const leases: LeaderElection[] = [];
      for (const name of ['one', 'two', 'three']) {
        leases.push(world.replica(identity, fate, { name, after: leases.at(-1)! }).election);
      }
      return leases;
    };
    const first = threeOf('a', () => (isCut ? LOST : QUICK));
    await world.pass(3_000);
    assert.deepEqual(first.map((lease) => lease.holds()), [true, true, true]);
    const standby = threeOf('b', () => QUICK);
    await world.pass(10_000, () => assert(!standby.some((lease) => lease.holds())));
    isCut = true;
    let taken = 0;
    const cutAt = world.now;
    await world.pass(10_000, () => {
      const held = standby.map((lease) => lease.holds());
      assert.deepEqual(
        held, held.toSorted((one, other) => Number(other) - Number(one)), 'never a later one without the one before',
      );
      if (held.every(Boolean)) taken ||= world.now;
    });
    const { leaseMs, retryMs } = QUICK_LEASE_TIMINGS; // a renewal is seen as late as the next look at it
    assert(taken - cutAt > 0 && taken - cutAt <= leaseMs + 2 * retryMs, `${taken - cutAt} ms`);
  });

  it('gives the lease back when it ends, so that the next one need not wait for it to run out', async () => {
    const a = world.replica('a');
    await world.pass(100);
    const b = world.replica('b');
    await world.pass(3_000);
    await a.stop();
    assert.equal(a.election.holds(), false);
    await world.pass(1.2 * LEASE_TIMINGS.retryMs + 100);
    assert.equal(b.election.holds(), true);
  });

  it('gives back what a renewal made that was on its way when it was to end', async () => {
    let isLast = false;
    const a = world.replica(
      'a', (written) => (isLast && written?.spec?.holderIdentity === 'a' ? { ...QUICK, lost: 'back' } : QUICK),
    );
    await world.pass(100);
    isLast = true;
    await world.pass(LEASE_TIMINGS.renewEveryMs - 50); // the renewal was written, its answer is not heard
    assert.equal(world.store.writers.length, 2);
    const ended = a.stop();
    await ended;
    assert.equal(world.store.leases.get('lease')?.spec?.holderIdentity, '');
  });

  it('looks again soon when it stands by and a look was not answered', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    world.replica('a');
    await world.pass(100);
    const looks: number[] = [];
    let isDeaf = false;
    world.replica('b', () => {
      looks.push(world.now);
      return isDeaf ? LOST : QUICK;
    });
    await world.pass(5_000);
    isDeaf = true;
    await world.pass(20_000);
    isDeaf = false;
    const gaps = looks.slice(1).map((at, index) => at - looks[index]!);
    const { callMs, renewWithinMs, retryMs } = QUICK_LEASE_TIMINGS;
    const late = gaps.filter((gap) => gap > callMs + 1.2 * retryMs + 100);
    assert(Math.max(...gaps) <= renewWithinMs + 1.2 * retryMs + 100, `${Math.max(...gaps)} ms between two looks`);
    assert(late.length > 0 && late.length <= 4, `${late.length} of ${gaps.length} looks were waited for`);
  });

  it('takes over when the lease has run out, though the look that is under way is not answered', async () => {
    world.timings = { leaseMs: 6_000, renewWithinMs: 4_000, renewEveryMs: 1_000, retryMs: 250, callMs: 1_500 };
    let [isDead, isDeaf] = [false, false];
    world.replica('a', () => (isDead ? LOST : QUICK));
    await world.pass(100);
    const { election } = world.replica('b', (written) => (isDeaf && written === undefined ? LOST : QUICK));
    await world.pass(2_000);
    isDead = true;
    const diedAt = world.now;
    await world.pass(2_000);
    isDeaf = true;
    let taken = 0;
    await world.pass(8_000, () => (taken ||= election.holds() ? world.now : 0), 10);
    assert(taken > 0 && taken - diedAt <= 6_000 + 1.2 * 250 + 200, `${taken - diedAt} ms after its death`);
  });

  it('leads where nobody does on a server that is slow from the beginning', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    const { election } = world.replica('a', () => ({ thereMs: 1_500, backMs: 1_500 }));
    let held = 0;
    await world.pass(60_000, () => (held += election.holds() ? 1 : 0));
    assert(held > 240, `${held} of 1,200 looks`);
  });

  it('takes the lease of one that died over on a server that has become slow', async () => {
    world.timings = QUICK_LEASE_TIMINGS;
    let fate = QUICK;
    world.replica('a', () => fate);
    await world.pass(100);
    fate = LOST;
    world.replica('b', () => ({ thereMs: 1_500, backMs: 1_500 }));
    await world.pass(60_000);
    assert.deepEqual(world.told, ['a leads', 'b leads']);
  });

  for (
    const [what, timings] of [["a target's", LEASE_TIMINGS], ["a source's", QUICK_LEASE_TIMINGS]] as const
  ) it(`leads on when the answer to a renewal of ${what} lease was lost, for the renewal was done`, async () => {
    world.timings = timings;
    let calls = 0;
    const { election } = world.replica('a', () => ((calls += 1) % 5 === 0 ? { ...QUICK, lost: 'back' } : QUICK));
    await world.pass(100);
    await world.pass(120_000, () => assert.equal(election.holds(), true));
    assert.deepEqual(world.told, ['a leads']);
  });

  it('counts its right from before the request: a slow answer does not make it longer', async () => {
    let fate: CallFate = { thereMs: 0, backMs: 2_000 };
    const { election } = world.replica('a', () => fate);
    await world.pass(2_050);
    assert.equal(election.holds(), true);
    assert(election.msLeft() <= LEASE_TIMINGS.leaseMs - 2_000);
    fate = LOST;
    await world.pass(LEASE_TIMINGS.renewWithinMs - 2_050 - 50);
    assert.equal(election.holds(), true);
    await world.pass(100);
    assert.deepEqual([election.holds(), election.msLeft()], [false, 0]);
  });
});

it('a Lease whose namespace is missing says what to run first', async () => {
  const missing = new ApiError(404, 'NotFound', 'namespaces "ns" not found');
  const client = { withoutRateLimit: () => ({ create: () => Promise.reject(missing) }) } as unknown as ClusterClient;
  const calls = new LeaseCalls(
    { client, namespace: 'ns', name: 'lease', identity: 'a', clocks: { monotonic: () => 0, wall: () => 0 } },
  );
  await assert.rejects(calls.create({ leaseMs: 5_000 } as RequestedLease, 1_000, new AbortController().signal), {
    code: 'NotFound', message: /^This cluster has no namespace ns: run "isthmus install" first, or name/,
  });
});
