import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { assignShards, shardOf } from '../../../../kubernetes/controller/shards.ts';

const members = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 8 });

describe('shardOf', () => {
  it('gives the same shard for a key at all times, within bounds', () => {
    fc.assert(fc.property(fc.string(), fc.integer({ min: 1, max: 64 }), (key, shards) => {
      const shard = shardOf(key, shards);
      assert(shard >= 0 && shard < shards && shard === shardOf(key, shards));
    }));
  });

  it('never changes between releases: two replicas of different versions must agree', () => {
    assert.deepEqual(['team-a/web', 'target-1', ''].map((key) => shardOf(key, 16)), [3, 6, 2]);
  });
});

describe('assignShards', () => {
  it('does not depend on the order in which members are known', () => {
    fc.assert(
      fc.property(members, (all) => assert.deepEqual(assignShards(all, 16), assignShards(all.toReversed(), 16))),
    );
  });

  it('moves only the shards of a member that goes', () => {
    fc.assert(
      fc.property(members, fc.nat(), (all, index) => {
        const gone = all[index % all.length]!;
        const before = assignShards(all, 16);
        const after = assignShards(all.filter((member) => member !== gone), 16);
        for (const [shard, member] of before.entries()) if (member !== gone) assert.equal(after[shard], member);
      }),
    );
  });

  it('gives nobody much more than a share', () => {
    const counts = new Map<string, number>();
    for (const member of assignShards(['a', 'b', 'c', 'd'], 256)) counts.set(member, (counts.get(member) ?? 0) + 1);
    for (const count of counts.values()) assert(count > 32 && count < 128, String(count));
  });

  it('leaves all shards alone where there is nobody', () => assert.deepEqual(assignShards([], 2), ['', '']));
});
