// The contract about candidates that were never confirmed: what a target stops, and what a source may conclude. Were
// both wrong in the same direction, a pod could run twice.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { CONFIRM_BEFORE_ANNOTATION } from '../../../../api/objects/keys.ts';
import {
  candidateLeaseName, CONFIRM_MARGIN_MS, CONFIRM_WITHIN_MS, confirmBefore, hasSurelyStopped, isCandidateLease,
  isUnconfirmed, STOP_ALLOWANCE_MS, UNCONFIRMED_GRACE_SECONDS, toBeConfirmed,
} from '../../../../model/delegate/confirmation.ts';
import { aChaperon, annotated, frozen, withMetadata } from '../../../support/objects/builders.ts';

const at = (ms: number): string => new Date(ms).toISOString();
const time = fc.integer({ min: Date.parse('2020-01-01T00:00:00Z'), max: Date.parse('2040-01-01T00:00:00Z') });
const lease = (renewTime?: string) => ({ spec: { ...(renewTime !== undefined
  && { renewTime }) } }) as Parameters<typeof isUnconfirmed>[1];

describe('a deadline', () => {
  it('is read as it was written, to the millisecond, beside the annotations that there were', () => {
    fc.assert(fc.property(time, (before) => {
      const source = frozen(aChaperon(annotated({ 'example.com/own': 'x' })));
      const { metadata } = toBeConfirmed(source, before);
      assert.equal(confirmBefore(metadata), before);
      assert.deepEqual(metadata.annotations, { ...source.metadata.annotations,
        [CONFIRM_BEFORE_ANNOTATION]: at(before) });
    }));
  });
  for (const text of ['', 'soon', '2026-13-01T00:00:00Z']) {
    it(`is none when it says ${JSON.stringify(text)}`, () => {
      const { metadata } = aChaperon(annotated({ [CONFIRM_BEFORE_ANNOTATION]: text }));
      assert.equal(confirmBefore(metadata), undefined);
      assert.equal(isUnconfirmed(metadata, undefined), false, 'a target stops nothing that it was not told to');
    });
  }
});

describe('a candidate', () => {
  const candidate = (before: number, createdAt: number) =>
    toBeConfirmed(aChaperon(withMetadata({ creationTimestamp: at(createdAt) })), before).metadata;

  it('without a deadline needs no confirmation, whatever the Lease says', () => {
    for (const told of [undefined, lease(), lease(at(0))]) assert.equal(isUnconfirmed(aChaperon().metadata, told),
      false);
  });
  it('is confirmed exactly by a Lease that says later than its deadline, and was created before that', () => {
    fc.assert(fc.property(time, time, time, (before, createdAt, told) => {
      const isConfirmed = createdAt < before && told > before;
      assert.equal(isUnconfirmed(candidate(before, createdAt), lease(at(told))), !isConfirmed);
    }), { numRuns: 500 });
  });
  it('is not confirmed by a Lease that says exactly its deadline: that one may be the first that was not', () => {
    const before = Date.parse('2026-01-01T00:00:00Z');
    assert.equal(isUnconfirmed(candidate(before, before - 1), lease(at(before))), true);
    assert.equal(isUnconfirmed(candidate(before, before - 1), lease(at(before + 1))), false);
  });
  it('that was created at or after its deadline never is: its source has given it up', () => {
    const before = Date.parse('2026-01-01T00:00:00Z');
    for (const late of [0, 1, 60_000]) {
      assert.equal(isUnconfirmed(candidate(before, before + late), lease(at(before + 3_600_000))), true);
    }
  });
  it('is not confirmed by a Lease that is missing, or whose time cannot be read', () => {
    const before = Date.parse('2026-01-01T00:00:00Z');
    for (const told of [undefined, lease(), lease(''), lease('now')]) {
      assert.equal(isUnconfirmed(candidate(before, before - 1), told), true);
    }
  });
});

describe('a source may give a candidate up', () => {
  const health = fc.record({ silentMs: fc.option(fc.nat({ max: 100_000 }), { nil: undefined }),
    isReady: fc.boolean() });

  it('only when its deadline has passed and an API server that was not stopped has been silent for long', () => {
    fc.assert(fc.property(health, fc.nat({ max: 1_000 }), fc.nat({ max: 1_000 }), (told, goneAt, now) => {
      const may = hasSurelyStopped({ goneAt, now }, told);
      const { silentMs = -1, isReady } = told;
      assert.equal(may, goneAt <= now && silentMs >= STOP_ALLOWANCE_MS && !isReady);
    }), { numRuns: 500 });
  });
  it('from the very moment on at which the target has had its time', () => {
    const told = (silentMs: number) => hasSurelyStopped({ goneAt: 5, now: 5 }, { silentMs, isReady: false });
    assert.deepEqual([told(STOP_ALLOWANCE_MS - 1), told(STOP_ALLOWANCE_MS)], [false, true]);
  });
  it('never when its API server refuses connections: one that is down has stopped nothing', () =>
    assert.equal(hasSurelyStopped({ goneAt: 0, now: 1e9 }, { silentMs: undefined, isReady: false }), false));
  it('and once it may, it may later as well while the target stays silent', () => {
    fc.assert(fc.property(health, fc.nat(), fc.nat(), fc.nat(), (told, goneAt, now, later) => {
      if (!hasSurelyStopped({ goneAt, now }, told) || told.silentMs === undefined) return;
      assert.ok(hasSurelyStopped({ goneAt, now: now + later }, { ...told, silentMs: told.silentMs + later }));
    }));
  });
});

describe('the times of the contract', () => {
  it('leave a source that binds in time the time to say so', () => assert.ok(CONFIRM_MARGIN_MS < CONFIRM_WITHIN_MS));
  it('let a source wait longer than the longest stop in the target', () =>
    assert.ok(UNCONFIRMED_GRACE_SECONDS * 1_000 < STOP_ALLOWANCE_MS));
});

describe('the Lease of candidates', () => {
  it('is known by its name, and one of a source is another one', () => {
    fc.assert(fc.property(fc.uuid(), (sourceId) => {
      assert.equal(isCandidateLease({ name: candidateLeaseName(sourceId) }), true);
      assert.equal(isCandidateLease({ name: sourceId }), false);
    }));
    assert.equal(isCandidateLease({}), false);
  });
});
