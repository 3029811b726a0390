import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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

  it('keeps the last 4,096 changes, and says so to a reader that comes later', () => {
    const changes = new ChangedPlaces();
    for (let place = 0; place < 5_000; place += 1) changes.note(place);
    assert.equal(readFrom(changes, 903), 'too late');
    const kept = readFrom(changes, 904);
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [4_096, 904, 4_999]);
  });
});
