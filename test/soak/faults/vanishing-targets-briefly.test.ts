// The short form of vanishing-targets.ts: each way of going away once, in a stream of pods, judged by the audit logs.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startWorld, type IsthmusWorld } from '../../support/worlds/isthmus-world.ts';
import { VanishingTargets } from '../../support/faults/vanishing-targets.ts';
import { assertInvariants, assertNoDoubles } from '../../support/history/world-invariants.ts';

/** Watches of the test come back later than their server, in ms. */
const OWN_WATCHES_MS = 60_000;

describe('targets that vanish in the middle of a stream of pods', () => {
  let world: IsthmusWorld;
  let vanishing: VanishingTargets;
  before(async () => {
    world = await startWorld({ targets: 3, nodes: 1, audit: true });
    vanishing = await VanishingTargets.begin(world);
  });
  after(async () => {
    await vanishing?.stop();
    await world?.stop();
  });

  it('hold no pod up for good, and no pod runs twice', async () => {
    const ended = new AbortController();
    const stream = vanishing.stream(2, ended.signal);
    await Promise.all([vanishing.vanish('killed', 5_000), vanishing.vanish('black-holed', 5_000)]);
    ended.abort();
    await stream;
    await vanishing.rest();
    assert.deepEqual(vanishing.records().filter(({ runningAfter }) => runningAfter === undefined), []);
    await vanishing.end();
    assertInvariants(
      world, { outages: vanishing.absences.map(({ from, until }) => ({ from, until: until + OWN_WATCHES_MS })) },
    );
    await assertNoDoubles(world);
  });
});
