import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Condition } from '../../../../api/objects/core.ts';
import { findCondition, setCondition, type ConditionUpdate } from '../../../../model/objects/conditions.ts';

const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';

const ready: Condition =
  { type: 'Ready', status: 'True', reason: 'Connected', message: 'up', lastTransitionTime: THEN };
const other: Condition = { type: 'Authorized', status: 'True', lastTransitionTime: THEN };
const list: readonly Condition[] = [ready, other];

describe('findCondition', () => {
  it('finds by type', () => assert.equal(findCondition(list, 'Authorized'), other));
  it('finds nothing of an unknown type', () => assert.equal(findCondition(list, 'Reachable'), undefined));
  it('finds nothing where there are no conditions', () => assert.equal(findCondition(undefined, 'Ready'), undefined));
});

describe('setCondition', () => {
  const cases: Record<
    string, readonly [before: readonly Condition[] | undefined, update: ConditionUpdate, after: readonly Condition[]]
  > = {
    'starts a list':
      [undefined, { type: 'Ready', status: 'True' }, [{ type: 'Ready', status: 'True', lastTransitionTime: NOW }]],
    'adds a new type at the end': [
      [other], { type: 'Ready', status: 'False' }, [other, { type: 'Ready', status: 'False', lastTransitionTime: NOW }],
    ],
    'moves the transition time with the status': [
      list,
      { type: 'Ready', status: 'False', reason: 'Down', message: 'no route' },
      [{ type: 'Ready', status: 'False', reason: 'Down', message: 'no route', lastTransitionTime: NOW }, other],
    ],
    'keeps the transition time when only the message changes': [
      list,
      { type: 'Ready', status: 'True', reason: 'Connected', message: 'up again' },
      [{ ...ready, message: 'up again' }, other],
    ],
    'clears a reason and a message that are gone': [
      list,
      { type: 'Ready', status: 'True' },
      [{ type: 'Ready', status: 'True', lastTransitionTime: THEN }, other],
    ],
    'keeps fields that it does not know': [
      [{ ...ready, lastProbeTime: null, extra: 1 } as Condition],
      { type: 'Ready', status: 'Unknown' },
      [{ type: 'Ready', status: 'Unknown', lastProbeTime: null, extra: 1, lastTransitionTime: NOW } as Condition],
    ],
    'stamps a condition that never had a transition time': [
      [{ type: 'Ready', status: 'True' }],
      { type: 'Ready', status: 'True' },
      [{ type: 'Ready', status: 'True', lastTransitionTime: NOW }],
    ],
  };
  for (const [sentence, [before, update, after]] of Object.entries(cases)) {
    it(sentence, () => assert.deepEqual(setCondition(before, update, NOW), after));
  }

  it('gives the same list back when nothing changes', () => {
    assert.equal(setCondition(list, { type: 'Ready', status: 'True', reason: 'Connected', message: 'up' }, NOW), list);
  });

  it('takes a null field for an absent one', () => {
    const stored = [{ ...other, lastProbeTime: null }];
    assert.equal(setCondition(stored, { type: 'Authorized', status: 'True' }, NOW), stored);
  });

  it('does not take over a transition time from its caller', () => {
    assert.equal(setCondition(list, { ...ready, lastTransitionTime: NOW } as ConditionUpdate, NOW), list);
  });

  it('leaves the given list alone', () => {
    const frozen = Object.freeze([Object.freeze({ ...ready })]);
    assert.notEqual(setCondition(frozen, { type: 'Ready', status: 'False' }, NOW), frozen);
    assert.equal(frozen[0]!.status, 'True');
  });

  const update = fc.record(
    {
      type: fc.constantFrom('Ready', 'Authorized', 'Reachable'),
      status: fc.constantFrom<Condition['status']>('True', 'False', 'Unknown'),
      reason: fc.constantFrom('A', 'B'),
      observedGeneration: fc.nat({ max: 2 }),
    },
    { requiredKeys: ['type', 'status'] },
  );

  it('setting twice is setting once, and other types stay as they were', () => {
    fc.assert(
      fc.property(fc.array(update), update, (earlier, last) => {
        const before =
          earlier.reduce<readonly Condition[]>((conditions, one) => setCondition(conditions, one, THEN), []);
        const after = setCondition(before, last, NOW);
        assert.equal(setCondition(after, last, '2026-01-03T00:00:00Z'), after);
        const others = (conditions: readonly Condition[]): readonly Condition[] =>
          conditions.filter(({ type }) => type !== last.type);
        assert.deepEqual(others(after), others(before));
        assert.equal(after.filter(({ type }) => type === last.type).length, 1);
      }),
    );
  });
});
