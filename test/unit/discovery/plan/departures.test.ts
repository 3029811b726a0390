import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { RemovalRules } from '../../../../api/registry/target-discovery.ts';
import { planDepartures, CORDON_DELAY_MS } from '../../../../discovery/plan/departures.ts';
import type { KnownTarget } from '../../../../discovery/plan/known-target.ts';

const NOW = Date.parse('2026-11-25T12:00:00Z');
const target = (name: string, leftSeconds?: number): KnownTarget => ({
  name, uid: `uid-${name}`, terminating: false,
  ...(leftSeconds !== undefined && { leftAt: new Date(NOW - leftSeconds * 1_000).toISOString() }),
});
const settled = (gone: readonly KnownTarget[]) => new Map(gone.map(({ name }) => [name, NOW - CORDON_DELAY_MS]));

function plan(gone: readonly KnownTarget[], total: number, rules: RemovalRules = {}, seenAt = settled(gone)): string {
  return planDepartures({ gone, total, rules, seenAt, now: NOW })
    .map((one) => `${one.target.name} ${one.kind}${'ms' in one ? ` ${one.ms}` : ''}`).join(', ');
}

describe('a cluster that has left its registry', () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['is looked at again first', plan([target('a')], 10, {}, new Map()), `a recheck ${CORDON_DELAY_MS}`],
    ['gets no new pods then', plan([target('a')], 10), 'a cordon'],
    ['waits for ten minutes', plan([target('a', 100)], 10), 'a waiting 500000'],
    ['is removed then', plan([target('a', 600)], 10), 'a remove'],
    ['waits as long as the rules say', plan([target('a', 100)], 10, { afterSeconds: 50 }), 'a remove'],
    [
      'is not removed when since when it has left cannot be read: that is told anew',
      ['', 'yesterday'].map((leftAt) => plan([{ ...target('a'), leftAt }], 10)).join(), 'a cordon,a cordon',
    ],
    ['may leave alone, whatever the share', plan([target('a')], 2), 'a cordon'],
    ['is held when it is the last', plan([target('a')], 1), 'a held'],
    ['is held when no share may leave', plan([target('a')], 10, { maxPercent: 0 }), 'a held'],
    ['is let go when it is confirmed', plan([target('a', 600)], 1, { confirmed: ['a'] }), 'a remove'],
    ['is held with too many others', plan(['a', 'b', 'c'].map((name) => target(name)), 10), 'a held, b held, c held'],
    [
      'is held also when it had no new pods before', plan(['a', 'b', 'c'].map((name) => target(name, 700)), 10),
      'a held, b held, c held',
    ],
    [
      'leaves by itself when the others are confirmed',
      plan(['a', 'b', 'c'].map((name) => target(name, 700)), 10, { confirmed: ['a'] }), 'a remove, b remove, c remove',
    ],
  ];
  for (const [what, actual, expected] of rows) it(what, () => assert.equal(actual, expected));

  it('is never removed with more others than may leave at once, and never before its time', () => {
    fc.assert(fc.property(
      fc.array(fc.option(fc.integer({ min: 0, max: 2_000 }), { nil: undefined }), { maxLength: 30 }),
      fc.nat(30), fc.integer({ min: 0, max: 100 }), fc.nat(1_000),
      (leaving, staying, maxPercent, afterSeconds) => {
        const gone = leaving.map((left, index) => target(`t${index}`, left));
        const total = gone.length + staying;
        const rules = { maxPercent, afterSeconds };
        const decided = planDepartures({ gone, total, rules, seenAt: settled(gone), now: NOW });
        assert.equal(decided.length, gone.length);
        const acted = decided.filter(({ kind }) => kind === 'remove' || kind === 'cordon');
        const most = maxPercent === 0 ? 0 : Math.max(1, Math.floor((total * maxPercent) / 100));
        assert.ok(acted.length <= most, `${acted.length} of ${total}`);
        if (acted.length > 0) assert.ok(gone.length < total, 'the registry is not empty');
        for (const { kind, target: { leftAt } } of decided) {
          if (kind === 'remove') assert.ok(NOW - Date.parse(leftAt ?? '') >= afterSeconds * 1_000);
        }
      },
    ));
  });
});
