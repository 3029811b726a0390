import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { PodState } from '../../../../scheduler/cycle/pod-state.ts';

const NO = { reason: 'Unschedulable', message: 'full' };

describe('rejections', () => {
  it('hold until their end and not longer', () => {
    const podState = new PodState('uid');
    podState.noteRejection('a', NO, 100);
    assert.deepEqual([...podState.rejections(99).byTarget.keys()], ['a']);
    assert.deepEqual([...podState.rejections(100).byTarget.keys()], []);
  });

  it('say when the first of them ends', () => {
    const podState = new PodState('uid');
    assert.equal(podState.rejections(0).nextEnd, undefined);
    podState.noteRejection('a', NO, 300);
    podState.noteRejection('b', NO, 200);
    assert.equal(podState.rejections(0).nextEnd, 200);
    assert.equal(podState.rejections(200).nextEnd, 300);
    assert.equal(podState.rejections(300).nextEnd, undefined);
  });

  it('carry reason and message', () => {
    const podState = new PodState('uid');
    podState.noteRejection('a', NO, 100);
    const { reason, message } = podState.rejections(0).byTarget.get('a') ?? {};
    assert.deepEqual({ reason, message }, NO);
  });

  it('of the same target give way to the latest', () => {
    const podState = new PodState('uid');
    podState.noteRejection('a', NO, 100);
    podState.noteRejection('a', { reason: 'Forbidden', message: 'quota' }, 50);
    assert.equal(podState.rejections(0).byTarget.get('a')?.reason, 'Forbidden');
    assert.equal(podState.rejections(0).nextEnd, 50);
  });

  it('are those that end later, and the next end is the first of theirs', () => {
    const rejection = fc.record({ target: fc.constantFrom('a', 'b', 'c', 'd'), until: fc.nat(100) });
    fc.assert(
      fc.property(fc.uniqueArray(rejection, { selector: ({ target }) => target }), fc.nat(100), (rejections, now) => {
        const podState = new PodState('uid');
        for (const { target, until } of rejections) podState.noteRejection(target, NO, until);
        const holding = rejections.filter(({ until }) => until > now);
        const { byTarget, nextEnd } = podState.rejections(now);
        assert.deepEqual([...byTarget.keys()].toSorted(), holding.map(({ target }) => target).toSorted());
        assert.equal(nextEnd, holding.length === 0 ? undefined : Math.min(...holding.map(({ until }) => until)));
      }),
    );
  });
});

describe('candidates', () => {
  it('are remembered from when they were first seen', () => {
    const podState = new PodState('uid');
    assert.equal(podState.firstSeen('a', 10), 10);
    assert.equal(podState.firstSeen('a', 20), 10);
    assert.equal(podState.firstSeen('b', 30), 30);
  });

  it('that left are seen for the first time when they come back', () => {
    const podState = new PodState('uid');
    podState.targets.add('a');
    podState.firstSeen('a', 10);
    podState.candidateGone('a');
    assert.equal(podState.targets.has('a'), false);
    assert.equal(podState.firstSeen('a', 20), 20);
  });
});

describe('withdrawals', () => {
  it('are of one chaperon, until it has gone or its delete was not done', () => {
    const podState = new PodState('uid');
    const told = () => [
      podState.deletionOf('a', 'one'), podState.deletionOf('a', 'another'), podState.deletionOf('b', 'one'),
      podState.deletionOf('a', undefined),
    ];
    assert.deepEqual(told(), [undefined, undefined, undefined, undefined]);
    podState.noteDeletion('a', 'one', 'sent');
    assert.deepEqual(told(), ['sent', undefined, undefined, undefined]);
    podState.noteDeletion('a', 'one', 'done');
    assert.deepEqual(told(), ['done', undefined, undefined, undefined]);
    podState.candidateGone('a');
    assert.deepEqual(told(), [undefined, undefined, undefined, undefined]);
    podState.noteDeletion('a', 'one', 'sent');
    podState.noteDeletion('a', 'one', undefined);
    assert.deepEqual(told(), [undefined, undefined, undefined, undefined]);
  });
});
