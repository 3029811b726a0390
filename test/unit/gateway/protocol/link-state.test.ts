// One link as a table of steps, and laws that hold for every sequence of events.
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import {
  startLink, stepLink, type LinkEvent, type LinkPlan, type LinkState,
} from '../../../../gateway/protocol/link-state.ts';

const PLAN: LinkPlan = { addresses: 2, redialFirstMs: 100, redialMaxMs: 10_000 };
const FAILURE = { cause: 'refused', message: 'no' } as const;
const failed = (nowMs = 0, random = 0.5): LinkEvent => ({ kind: 'failed', failure: FAILURE, nowMs, random });
const DUE: LinkEvent = { kind: 'due', isCovered: false };

function run(events: readonly LinkEvent[], plan = PLAN) {
  return events.reduce((step, event) => stepLink(step.state, event, plan), startLink(0));
}

describe('a link', () => {
  it('begins by waiting as long as it is told', () => assert.deepEqual(
    startLink(3_000), { state: { kind: 'waiting', failures: 0 }, effect: { kind: 'wait', ms: 3_000 } },
  ));
  it('dials the first address when it is due', () => assert.deepEqual(run([DUE]).effect, { kind: 'dial', address: 0 }));
  it('dials the next address at once when one fails', () => assert.deepEqual(
    run([DUE, failed()]).effect, { kind: 'dial', address: 1 },
  ));
  it('waits when all addresses have failed, half of the time for certain', () => {
    assert.deepEqual(run([DUE, failed(), failed(0, 0)]).effect, { kind: 'wait', ms: 50 });
    assert.deepEqual(run([DUE, failed(), failed(0, 1)]).effect, { kind: 'wait', ms: 100 });
  });
  it('waits twice as long after each round, up to the cap', () => {
    const round = [DUE, failed(), failed(0, 1)];
    assert.deepEqual(run([...round, ...round, ...round]).effect, { kind: 'wait', ms: 400 });
    assert.deepEqual(run(Array.from({ length: 40 }, () => round).flat()).effect, { kind: 'wait', ms: 10_000 });
  });
  it('does not dial what the peer has dialled, and looks again', () => assert.deepEqual(
    run([{ kind: 'due', isCovered: true }]).effect, { kind: 'wait', ms: 3_000 },
  ));
  it('waits for a peer without an address', () => assert.deepEqual(
    run([DUE], { ...PLAN, addresses: 0 }).effect, { kind: 'wait', ms: 3_000 },
  ));
  it('dials again soon after a session that lasted', () => {
    assert.deepEqual(run([DUE, { kind: 'opened', nowMs: 0 }, failed(10_000, 1)]).effect, { kind: 'wait', ms: 100 });
  });
  it('dials again soon after each of many sessions that were cut after seconds, as by flipped bits', () => {
    const cut: LinkEvent[] = [DUE, { kind: 'opened', nowMs: 0 }, failed(4_000, 1)];
    assert.deepEqual(run(Array.from({ length: 12 }, () => cut).flat()).effect, { kind: 'wait', ms: 100 });
  });
  it('tries often for 15 s after it lost a good session, for another gateway of the peer takes over; then ever more ' +
    'seldom', () => {
    const lost: LinkEvent[] = [DUE, { kind: 'opened', nowMs: 0 }, failed(20_000, 1)];
    const inVain = (nowMs: number): LinkEvent[] => [DUE, failed(nowMs, 1), failed(nowMs, 1)];
    const soon = Array.from({ length: 10 }, (_value, index) => inVain(20_000 + index * 500)).flat();
    assert.deepEqual(run([...lost, ...soon]).effect, { kind: 'wait', ms: 400 });
    assert.deepEqual(run([...lost, ...soon, ...inVain(36_000)]).effect, { kind: 'wait', ms: 10_000 });
  });
  for (
    const [when, events] of [['is connected', []], ['has just lost its session', [failed(20_000, 1)]], [
      'dials in vain since then', [failed(20_000, 1), DUE, failed(21_000, 1)],
    ]] as const
  ) {
    it(`that follows one which ${when}, as with a renewed certificate, tries as often`, () => {
      const before = run([DUE, { kind: 'opened', nowMs: 0 }, ...events]).state;
      const inVain = Array.from(
        { length: 10 }, (_value, index) => [DUE, failed(21_000 + index * 500, 1), failed(21_000 + index * 500, 1)],
      ).flat();
      const after = inVain.reduce((step, event) => stepLink(step.state, event, PLAN), startLink(0, before, 21_000));
      assert.deepEqual(after.effect, { kind: 'wait', ms: 400 });
    });
  }
  it('waits longer and longer when sessions end as soon as they are open', () => {
    const brief: LinkEvent[] = [DUE, { kind: 'opened', nowMs: 0 }, failed(10, 1)];
    assert.deepEqual(run([...brief, ...brief, ...brief]).effect, { kind: 'wait', ms: 400 });
  });
});

const anEvent: fc.Arbitrary<LinkEvent> = fc.oneof(
  fc.boolean().map((isCovered) => ({ kind: 'due' as const, isCovered })),
  fc.nat(100_000).map((nowMs) => ({ kind: 'opened' as const, nowMs })),
  fc.record({ nowMs: fc.nat(100_000), random: fc.double({ min: 0, max: 0.999, noNaN: true }) })
    .map(({ nowMs, random }) => failed(nowMs, random)),
);

describe('for every sequence of events, a link', () => {
  it('never waits longer than the cap or a look, nor a negative time', () => {
    fc.assert(fc.property(fc.array(anEvent, { maxLength: 60 }), (events) => {
      let state: LinkState = startLink(0).state;
      for (const event of events) {
        const step = stepLink(state, event, PLAN);
        state = step.state;
        if (step.effect.kind === 'wait') assert.ok(step.effect.ms >= 0 && step.effect.ms <= PLAN.redialMaxMs);
      }
    }));
  });

  it('has at most one dial under way, and only to an address that there is', () => {
    fc.assert(fc.property(fc.array(anEvent, { maxLength: 60 }), (events) => {
      let state: LinkState = startLink(0).state;
      for (const event of events) {
        const before = state;
        const step = stepLink(state, event, PLAN);
        state = step.state;
        if (step.effect.kind !== 'dial') continue;
        assert.ok(step.effect.address < PLAN.addresses);
        assert.ok(before.kind !== 'connected' && (before.kind === 'waiting' || event.kind === 'failed'));
      }
    }));
  });

  it('either waits, dials, is connected or is stopped: nothing is forgotten', () => {
    fc.assert(fc.property(fc.array(anEvent, { maxLength: 60 }), (events) => {
      let step = startLink(0);
      for (const event of events) {
        const next = stepLink(step.state, event, PLAN);
        // A change of state to waiting or dialling always brings its timer or dial along.
        if (next.state !== step.state && next.state.kind !== 'connected') assert.notEqual(next.effect.kind, 'none');
        step = next;
      }
    }));
  });

  it('does nothing any more once it was stopped', () => {
    fc.assert(fc.property(fc.array(anEvent), (events) => {
      const stopped = stepLink(startLink(0).state, { kind: 'stop' }, PLAN).state;
      assert.ok(
        events.every((event) => {
          const step = stepLink(stopped, event, PLAN);
          return step.state.kind === 'stopped' && step.effect.kind === 'none';
        }),
      );
    }));
  });
});
