import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { ReportedOutages } from '../../../../delegate-controller/feedback/reported-outages.ts';
import type { Availability } from '../../../../targets/availability.ts';

const READY: Availability = { kind: 'ready' };
const lostFor = (reason: string): Availability => ({ kind: 'unavailable', reason, message: `because of ${reason}` });

describe('lost targets', () => {
  const begin = (t: TestContext) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.parse('2026-11-22T10:00:00.123Z') });
    const told: string[] = [];
    const lost = new ReportedOutages();
    return {
      told, lost, note: (key: string, availability: Availability) => lost.note(key, availability, () => told.push(key)),
    };
  };

  it('are told of after a while, once, with the reason of then and since when', (t) => {
    const { told, lost, note } = begin(t);
    note('a', lostFor('Connecting'));
    t.mock.timers.tick(14_999);
    note('a', lostFor('Unreachable'));
    assert.deepEqual([told, lost.get('a')], [[], undefined]);
    t.mock.timers.tick(1);
    assert.deepEqual([told, lost.get('a')], [
      ['a'], { reason: 'Unreachable', message: 'because of Unreachable', since: '2026-11-22T10:00:00Z' },
    ]);
    note('a', lostFor('Forbidden'));
    t.mock.timers.tick(60_000);
    assert.deepEqual([told, lost.get('a')?.reason, lost.get('b')], [['a'], 'Forbidden', undefined]);
  });

  it('are not told of when they come back before, however often', (t) => {
    const { told, lost, note } = begin(t);
    for (let flap = 0; flap < 20; flap += 1) {
      note('a', lostFor('Unreachable'));
      t.mock.timers.tick(14_000);
      note('a', READY);
      t.mock.timers.tick(14_000);
    }
    assert.deepEqual([told, lost.get('a')], [[], undefined]);
  });

  it('are forgotten when they are back, removed, or nobody wants to know any more', (t) => {
    const { told, lost, note } = begin(t);
    for (const key of ['back', 'removed', 'stopped']) note(key, lostFor('Unreachable'));
    t.mock.timers.tick(15_000);
    note('back', READY);
    lost.forget('removed');
    lost.stop();
    assert.deepEqual(['back', 'removed', 'stopped'].map((key) => lost.get(key)), [undefined, undefined, undefined]);
    note('later', lostFor('Unreachable'));
    lost.stop();
    t.mock.timers.tick(15_000);
    assert.deepEqual(told, ['back', 'removed', 'stopped']);
  });
});
