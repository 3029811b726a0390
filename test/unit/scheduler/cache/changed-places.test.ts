import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ChangedPlaces } from '../../../../scheduler/cache/changed-places.ts';

function readFrom(changes: ChangedPlaces, mark: number): number[] | 'too late' {
  const places: number[] = [];
  return changes.since(mark, (place) => places.push(place)) ? places : 'too late';
}

describe('ChangedPlaces', () => {
  it('tells each reader what it has not read', () => {
    const changes = new ChangedPlaces();
    changes.note(3);
    const mark = changes.mark;
    changes.note(1);
    changes.note(3);
    assert.deepEqual(readFrom(changes, 0), [3, 1, 3]);
    assert.deepEqual(readFrom(changes, mark), [1, 3]);
    assert.deepEqual(readFrom(changes, changes.mark), []);
  });

  it('law: a reader that keeps up has read every change, whatever the others do', () => {
    const turn = fc.record({ reader: fc.nat(2), notes: fc.array(fc.nat(99), { maxLength: 40 }) });
    fc.assert(fc.property(fc.array(turn, { maxLength: 30 }), (turns) => {
      const changes = new ChangedPlaces();
      const all: number[] = [];
      const marks = [0, 0, 0];
      for (const { reader, notes } of turns) {
        for (const place of notes) {
          changes.note(place);
          all.push(place);
        }
        assert.deepEqual(readFrom(changes, marks[reader] ?? 0), all.slice(marks[reader]));
        marks[reader] = changes.mark;
      }
    }));
  });

  it('keeps the last 4,096 changes, and says so to a reader that comes later', () => {
    const changes = new ChangedPlaces();
    for (let place = 0; place < 5_000; place += 1) changes.note(place);
    assert.equal(readFrom(changes, 903), 'too late');
    const kept = readFrom(changes, 904);
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [4_096, 904, 4_999]);
  });
});
