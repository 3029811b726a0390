import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import { RecordIndex } from '../../../../kubernetes/watch/record-index.ts';

interface Placed {
  readonly node?: string;
}

const byNode = () => new RecordIndex<Placed>(({ node }) => node);
const keys = (index: RecordIndex<Placed>, value: string) => [...index.keys(value)].toSorted();

describe('an index of records', () => {
  it('has no keys for an unknown value', () => assert.deepEqual(keys(byNode(), 'n1'), []));

  it('finds one record, and several, by their value', () => {
    const index = byNode();
    index.update('a', undefined, { node: 'n1' });
    assert.deepEqual(keys(index, 'n1'), ['a']);
    index.update('b', undefined, { node: 'n1' });
    index.update('c', undefined, { node: 'n1' });
    assert.deepEqual(keys(index, 'n1'), ['a', 'b', 'c']);
  });

  it('moves a record whose value changed', () => {
    const index = byNode();
    index.update('a', undefined, {});
    index.update('a', {}, { node: 'n1' });
    index.update('a', { node: 'n1' }, { node: 'n2' });
    assert.deepEqual([keys(index, 'n1'), keys(index, 'n2')], [[], ['a']]);
  });

  it('keeps another record of the value when one is deleted', () => {
    const index = byNode();
    for (const key of ['a', 'b']) index.update(key, undefined, { node: 'n1' });
    index.update('a', { node: 'n1' }, undefined);
    assert.deepEqual(keys(index, 'n1'), ['b']);
    index.update('b', { node: 'n1' }, undefined);
    assert.deepEqual(keys(index, 'n1'), []);
  });

  it('does not remove the only record of a value for another key', () => {
    const index = byNode();
    index.update('a', undefined, { node: 'n1' });
    index.update('b', { node: 'n1' }, undefined);
    assert.deepEqual(keys(index, 'n1'), ['a']);
  });

  it('equals a scan over all records after any changes', () => {
    const node = fc.option(fc.constantFrom('n1', 'n2', 'n3'), { nil: undefined });
    const placed = node.map((name): Placed => (name === undefined ? {} : { node: name }));
    const record = fc.option(placed, { nil: undefined });
    const changes = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), record), { maxLength: 60 });
    fc.assert(fc.property(changes, (all) => {
      const index = byNode();
      const records = new Map<string, Placed>();
      for (const [key, after] of all) {
        index.update(key, records.get(key), after);
        if (after === undefined) records.delete(key);
        else records.set(key, after);
        for (const value of ['n1', 'n2', 'n3']) {
          const scanned = [...records].filter(([, one]) => one.node === value).map(([one]) => one);
          assert.deepEqual(keys(index, value), scanned.toSorted());
        }
      }
    }));
  });
});
