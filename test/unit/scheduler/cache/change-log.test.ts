import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ChangeLog } from '../../../../scheduler/cache/change-log.ts';

function readFrom(changes: ChangeLog, revision: number): number[] | 'too late' {
  const places: number[] = [];
  return changes.since(revision, (place) => places.push(place)) ? places : 'too late';
}

describe('ChangeLog', () => {
  it('tells each reader what it has not read', () => {
    const changes = new ChangeLog();
    changes.note(3);
    const revision = changes.revision;
    changes.note(1);
    changes.note(3);
    assert.deepEqual(readFrom(changes, 0), [3, 1, 3]);
    assert.deepEqual(readFrom(changes, revision), [1, 3]);
    assert.deepEqual(readFrom(changes, changes.revision), []);
  });

  it('law: a reader that keeps up has read every change, whatever the others do', () => {
    const turn = fc.record({ reader: fc.nat(2), notes: fc.array(fc.nat(99), { maxLength: 40 }) });
    fc.assert(fc.property(fc.array(turn, { maxLength: 30 }), (turns) => {
      const changes = new ChangeLog();
      const all: number[] = [];
      const revisions = [0, 0, 0];
      for (const { reader, notes } of turns) {
        for (const place of notes) {
          changes.note(place);
          all.push(place);
        }
        assert.deepEqual(readFrom(changes, revisions[reader] ?? 0), all.slice(revisions[reader]));
        revisions[reader] = changes.revision;
      }
    }));
  });

  it('keeps the last 4,096 changes, and says so to a reader that comes later', () => {
    const changes = new ChangeLog();
    for (let place = 0; place < 5_000; place += 1) changes.note(place);
    assert.equal(readFrom(changes, 903), 'too late');
    const kept = readFrom(changes, 904);
    assert.deepEqual([kept.length, kept[0], kept.at(-1)], [4_096, 904, 4_999]);
  });
});
