import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { CandidateDeadlines, type TargetClock } from '../../../../scheduler/cycle/candidate-deadlines.ts';
import {
  CONFIRM_MARGIN_MS, CONFIRM_WITHIN_MS, hasSurelyStopped, isUnconfirmed, STOP_ALLOWANCE_MS, toBeConfirmed,
} from '../../../../model/delegate/confirmation.ts';

/** A target whose clock is known to within a second. */
const CLOCK: TargetClock = { earliest: (now) => now + 50_000, latest: (now) => now + 51_000 };
const pod = (uid: string) => ({ uid, key: `n/${uid}` });

describe('deadlines of candidates', () => {
  let deadlines: CandidateDeadlines;
  beforeEach(() => {
    deadlines = new CandidateDeadlines();
    deadlines.recordAnnounced('p', 0);
  });
  const sent = (uid: string, now = 0): number => deadlines.begin('p', pod(uid), CLOCK, now) ?? assert
    .fail('it got no deadline');

  it('are by the clock of the target, from the latest that it can be there', () => assert.equal(
    sent('a'), 51_000 + CONFIRM_WITHIN_MS,
  ));
  it('stay when a candidate is sent again', () => assert.equal(sent('a', 0), sent('a', 9_000)));
  it('have passed for sure once the earliest that it can be there is past them', () => {
    assert.equal(deadlines.goneAt('p', 'a'), undefined);
    const before = sent('a');
    assert.equal(CLOCK.earliest(deadlines.goneAt('p', 'a') ?? NaN), before + STOP_ALLOWANCE_MS);
  });
  it('are looked at when it is too late to bind, when they have passed for sure, and every other second from then on',
    () => {
    assert.equal(deadlines.requeueAt('p', 'a', 0), undefined);
    sent('a');
    const goneAt = deadlines.goneAt('p', 'a') ?? NaN;
    const tooLateAt = goneAt - STOP_ALLOWANCE_MS - CONFIRM_MARGIN_MS;
    assert.deepEqual([0, tooLateAt, goneAt, goneAt + 500].map((now) => deadlines.requeueAt('p', 'a', now)), [
      tooLateAt, goneAt, goneAt + 2_000, goneAt + 2_500,
    ]);
  });
  it('are not given before it is known what the target was told', () => {
    deadlines.recordAnnounced('p', undefined);
    assert.deepEqual([deadlines.isKnown('p'), deadlines.begin('p', pod('a'), CLOCK, 0)], [false, undefined]);
  });
  it('are waited for where a candidate of an earlier process is bound, and by no unbound one', () => {
    deadlines.recordAnnounced('p', undefined);
    deadlines.begin('p', pod('a'), CLOCK, 0);
    assert.equal(deadlines.isAwaited('p'), false);
    deadlines.bound('p', 'b', 60_000);
    assert.deepEqual([deadlines.isAwaited('p'), deadlines.isAwaited('another')], [true, false]);
  });
  it('are not given while its clock is unknown', () => {
    assert.equal(deadlines.begin('p', pod('a'), { earliest: () => undefined, latest: () => undefined }, 0), undefined);
  });
  it('are not given to more than 64 at once', () => {
    for (let number = 0; number < 64; number += 1) sent(`pod${number}`);
    assert.equal(deadlines.begin('p', pod('one more'), CLOCK, 0), undefined);
  });
  it('are not given where a candidate was abandoned, until it is known to be gone', () => {
    sent('a');
    deadlines.abandon('p', 'a');
    assert.deepEqual([deadlines.abandoned('p'), deadlines.goneAt('p', 'a'), deadlines.begin('p', pod('b'), CLOCK, 0)], [
      [['a', 'n/a']], undefined, undefined,
    ]);
    deadlines.remove('p', 'a');
    sent('b');
  });

  it('nothing is due before something is bound', () => {
    sent('a');
    assert.equal(deadlines.due('p'), undefined);
  });
  it('what is bound is due, and once only', () => {
    const before = sent('a');
    deadlines.bound('p', 'a', before);
    const due = deadlines.due('p') ?? NaN;
    assert.ok(due > before);
    deadlines.recordAnnounced('p', due);
    assert.equal(deadlines.due('p'), undefined);
  });
  it('nothing later is due than a candidate of which nobody knows', () => {
    const [first, second] = [sent('a'), sent('b', 500)];
    deadlines.bound('p', 'b', second);
    assert.ok((deadlines.due('p') ?? 0) <= first);
    deadlines.remove('p', 'a');
    assert.ok((deadlines.due('p') ?? 0) > second);
  });
  it('what is sent while a confirmation is on its way is later than it, whether it is done or not', () => {
    const before = sent('a');
    deadlines.bound('p', 'a', before);
    const due = deadlines.due('p') ?? NaN;
    deadlines.recordAnnounced('p', due);
    assert.ok(sent('b', 1) >= due);
    deadlines.recordAnnounced('p', 0); // it was not done, as a read has shown
    assert.ok(sent('c', 2) >= due);
    assert.equal(deadlines.due('p'), due);
  });
  it('what an earlier process has bound and not told is due', () => {
    deadlines.recordAnnounced('p', 100);
    deadlines.bound('p', 'a', 99);
    assert.equal(deadlines.due('p'), undefined);
    deadlines.bound('p', 'b', 150);
    assert.equal(deadlines.due('p'), 151);
  });

  it('law: whatever happens, nobody is confirmed but those that are bound or settled, and all of those come to be',
    () => {
    const acts =
      fc.array(fc.tuple(fc.constantFrom('send', 'bind', 'remove', 'abandon', 'tell'), fc.nat(5)), { maxLength: 60 });
    fc.assert(fc.property(acts, (all) => {
      const ledger = new CandidateDeadlines();
      ledger.recordAnnounced('p', 0);
      const open = new Map<string, number>();
      const bound = new Map<string, number>();
      let told = 0;
      const tell = () => ledger.recordAnnounced('p', (told = ledger.due('p') ?? told));
      all.forEach(([act, number], now) => {
        const uid = `pod${number}`;
        const before = act === 'send'
          && !bound.has(uid) ? ledger.begin('p', pod(uid), CLOCK, now * 100) : open.get(uid);
        if (act === 'tell') return tell();
        if (before === undefined) return;
        if (act === 'send') open.set(uid, before);
        else if (act === 'abandon') ledger.abandon('p', uid);
        else open.delete(uid);
        if (act === 'remove') ledger.remove('p', uid);
        if (act === 'bind') {
          ledger.bound('p', uid, before);
          bound.set(uid, before);
        }
        for (const waiting of open.values()) assert.ok(told <= waiting);
      });
      tell();
      for (const waiting of open.values()) assert.ok(told <= waiting);
      if (open.size === 0) for (const before of bound.values()) assert.ok(told > before);
    }));
  });
});

describe('whether a candidate is unconfirmed', () => {
  const lease = (time: number) =>
    ({ spec: { holder: 'h', durationSeconds: 1, renewTime: new Date(time).toISOString() } });
  const candidate = (before: number, created: number) => ({
    ...toBeConfirmed({ metadata: {}, spec: { containers: [] } }, before).metadata,
    creationTimestamp: new Date(created).toISOString(),
  });
  const ROWS = {
    'one that need not be confirmed is not': [{}, undefined, false],
    'one of which no source has said anything is': [candidate(50_000, 10_000), undefined, true],
    'one that its source has not come to is': [candidate(50_000, 10_000), lease(50_000), true],
    'one before the time that its source has told is not': [candidate(50_000, 10_000), lease(50_001), false],
    'one that was made too late is, whatever was told since': [candidate(50_000, 51_000), lease(90_000), true],
  } as const;
  for (const [sentence, [metadata, told, expected]] of Object.entries(ROWS)) {
    it(sentence, () => assert.equal(isUnconfirmed(metadata, told), expected));
  }
});

describe('whether a target has surely stopped a candidate', () => {
  const times = { goneAt: 100, now: 100 };
  const ROWS = {
    'one of which nothing is heard has, once the time is over':
      [times, { isReady: false, silentMs: STOP_ALLOWANCE_MS }, true],
    'one of which nothing is heard has not before':
      [{ goneAt: 101, now: 100 }, { isReady: false, silentMs: STOP_ALLOWANCE_MS }, false],
    'one that was seen to be gone has not, however long ago':
      [{ goneAt: 100, now: 1e9 }, { isReady: false, silentMs: undefined }, false],
    'one that answered a moment ago has not: it may have been gone before that':
      [times, { isReady: false, silentMs: STOP_ALLOWANCE_MS - 1 }, false],
    'one that can be asked is asked': [times, { isReady: true, silentMs: STOP_ALLOWANCE_MS }, false],
  } as const;
  for (const [sentence, [when, health, expected]] of Object.entries(ROWS)) {
    it(sentence, () => assert.equal(hasSurelyStopped(when, health), expected));
  }
});
