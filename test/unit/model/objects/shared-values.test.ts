import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SharedValues } from '../../../../model/objects/shared-values.ts';

/** Another text with the same characters. */
const copyOf = (text: string): string => JSON.parse(JSON.stringify(text)) as string;

describe('values in common', () => {
  it('are kept once', () => {
    const shared = new SharedValues();
    const labels = shared.value({ app: 'web', tier: 'a' });
    assert.equal(shared.value({ app: 'web', tier: 'a' }), labels);
    assert.deepEqual(labels, { app: 'web', tier: 'a' });
    for (const other of [{ app: 'web' }, { tier: 'a', app: 'web' }, ['web', 'a']]) {
      assert.equal(shared.value(other), other, 'another one is itself');
    }
  });

  it('cannot be changed', () => {
    const value = new SharedValues().value({ list: [{ deep: 1 }], none: null });
    assert.throws(() => value.list.push({ deep: 2 }), TypeError);
    assert.throws(() => ((value.list[0] as { deep: number }).deep = 2), TypeError);
  });

  it('that are long are left alone: they are hardly those of others', () => {
    const shared = new SharedValues();
    const long = { text: 'x'.repeat(250) };
    assert.equal(shared.value(long), long);
    assert.notEqual(shared.value({ ...long }), long);
    assert.equal(Object.isFrozen(long), false);
  });

  it('are forgotten when there are too many, which changes no value', () => {
    const shared = new SharedValues();
    const first = shared.value(['0']);
    for (let index = 1; index < 256; index += 1) shared.value([String(index)]);
    assert.equal(shared.value(['0']), first);
    shared.value(['256']);
    const again = shared.value(['0']);
    assert.notEqual(again, first);
    assert.deepEqual(again, first);
  });

  it('equal what they stand for, whatever came before', () => {
    fc.assert(fc.property(fc.array(fc.oneof(fc.string(), fc.dictionary(fc.string(), fc.string()))), (values) => {
      const shared = new SharedValues();
      for (const value of [...values, ...values]) {
        if (typeof value === 'string') assert.equal(shared.text(copyOf(value)), value);
        else assert.deepEqual(shared.value({ ...value }), { ...value });
      }
    }));
  });
});
