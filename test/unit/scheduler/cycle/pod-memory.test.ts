import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PodMemory } from '../../../../scheduler/cycle/pod-memory.ts';

const NO = { reason: 'Unschedulable', message: 'full' };

describe('rejections', () => {
  it('hold until their end and not longer', () => {
    const memory = new PodMemory('uid');
    memory.noteRejection('a', NO, 100);
    assert.deepEqual([...memory.rejections(99).byTarget.keys()], ['a']);
    assert.deepEqual([...memory.rejections(100).byTarget.keys()], []);
  });

  it('say when the first of them ends', () => {
    const memory = new PodMemory('uid');
    assert.equal(memory.rejections(0).nextEnd, undefined);
    memory.noteRejection('a', NO, 300);
    memory.noteRejection('b', NO, 200);
    assert.equal(memory.rejections(0).nextEnd, 200);
    assert.equal(memory.rejections(200).nextEnd, 300);
    assert.equal(memory.rejections(300).nextEnd, undefined);
  });

  it('carry reason and message', () => {
    const memory = new PodMemory('uid');
    memory.noteRejection('a', NO, 100);
    const { reason, message } = memory.rejections(0).byTarget.get('a') ?? {};
    assert.deepEqual({ reason, message }, NO);
  });

  it('of the same target give way to the latest', () => {
    const memory = new PodMemory('uid');
    memory.noteRejection('a', NO, 100);
    memory.noteRejection('a', { reason: 'Forbidden', message: 'quota' }, 50);
    assert.equal(memory.rejections(0).byTarget.get('a')?.reason, 'Forbidden');
    assert.equal(memory.rejections(0).nextEnd, 50);
  });

  it('are those that end later, and the next end is the first of theirs', () => {
    const rejection = fc.record({ target: fc.constantFrom('a', 'b', 'c', 'd'), until: fc.nat(100) });
    fc.assert(
      fc.property(fc.uniqueArray(rejection, { selector: ({ target }) => target }), fc.nat(100), (rejections, now) => {
        const memory = new PodMemory('uid');
        for (const { target, until } of rejections) memory.noteRejection(target, NO, until);
        const holding = rejections.filter(({ until }) => until > now);
        const { byTarget, nextEnd } = memory.rejections(now);
        assert.deepEqual([...byTarget.keys()].toSorted(), holding.map(({ target }) => target).toSorted());
        assert.equal(nextEnd, holding.length === 0 ? undefined : Math.min(...holding.map(({ until }) => until)));
      }),
    );
  });
});

describe('candidates', () => {
  it('are remembered from when they were first seen', () => {
    const memory = new PodMemory('uid');
    assert.equal(memory.firstSeen('a', 10), 10);
    assert.equal(memory.firstSeen('a', 20), 10);
    assert.equal(memory.firstSeen('b', 30), 30);
  });

  it('that left are seen for the first time when they come back', () => {
    const memory = new PodMemory('uid');
    memory.targets.add('a');
    memory.firstSeen('a', 10);
    memory.candidateGone('a');
    assert.equal(memory.targets.has('a'), false);
    assert.equal(memory.firstSeen('a', 20), 20);
  });
});

describe('withdrawals', () => {
  it('are of one chaperon, until it has gone or its delete was not done', () => {
    const memory = new PodMemory('uid');
    const told = () => [
      memory.deletionOf('a', 'one'), memory.deletionOf('a', 'another'), memory.deletionOf('b', 'one'),
      memory.deletionOf('a', undefined),
    ];
    assert.deepEqual(told(), [undefined, undefined, undefined, undefined]);
    memory.noteDeletion('a', 'one', 'sent');
    assert.deepEqual(told(), ['sent', undefined, undefined, undefined]);
    memory.noteDeletion('a', 'one', 'done');
    assert.deepEqual(told(), ['done', undefined, undefined, undefined]);
    memory.candidateGone('a');
    assert.deepEqual(told(), [undefined, undefined, undefined, undefined]);
    memory.noteDeletion('a', 'one', 'sent');
    memory.noteDeletion('a', 'one', undefined);
    assert.deepEqual(told(), [undefined, undefined, undefined, undefined]);
  });
});
