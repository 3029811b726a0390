import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { SharedValues } from '../../../../model/objects/shared-values.ts';
import { frozen } from '../../../support/objects/builders.ts';

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

  it('are the texts in a status, whose lists and objects stay its own', (t) => {
    const shared = new SharedValues();
    const { mock } = t.mock.method(shared, 'text');
    const status = frozen({ containers: [{ image: 'registry.example/web:v1', restarts: 1 }], since: null });
    const copy = shared.texts(status);
    assert.deepEqual(copy, status);
    assert.deepEqual(mock.calls.map(({ arguments: [text] }) => text), ['registry.example/web:v1']);
    assert.doesNotThrow(() => copy.containers.push({ image: 'other', restarts: 2 }));
  });

  it('are no addresses, IDs and times of a status, which would stay when its pod has gone', (t) => {
    const shared = new SharedValues();
    const { mock } = t.mock.method(shared, 'text');
    const status = {
      podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], startTime: '2026-01-01T00:00:00Z', hostIP: '10.1.0.1',
      containerStatuses: [{ containerID: 'cri://1', state: { running: { startedAt: '2026-01-01T00:00:01Z' } } }],
    };
    assert.deepEqual(shared.texts(status), status);
    assert.deepEqual(mock.calls.map(({ arguments: [text] }) => text), ['10.1.0.1']);
    const odd = { startTime: null, startedAt: ['x'] };
    assert.deepEqual(shared.texts(odd), odd, 'a status of another shape stays as it is');
  });

  it('are not looked for in what is deeper than any status', () => {
    const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 'text');
    assert.doesNotThrow(() => new SharedValues().texts(deep));
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
