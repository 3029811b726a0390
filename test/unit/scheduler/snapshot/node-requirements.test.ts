// What is remembered for a class of pods: by the object that stands for it, and never without end.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClassCache, type NodeRequirements } from '../../../../scheduler/snapshot/node-requirements.ts';

const aClass = (): NodeRequirements => ({ requests: new Map([['cpu', 1]]) });

describe('what was concluded for a class', () => {
  it('is found again by the same object, and not by an equal one', () => {
    const cache = new ClassCache<string>();
    const one = aClass();
    cache.of(one).set(7, 'fits');
    assert.equal(cache.of(one).get(7), 'fits');
    assert.equal(cache.of(aClass()).get(7), undefined);
  });
  it('is kept apart from what another cache concluded for it', () => {
    const [one, other] = [new ClassCache<string>(), new ClassCache<string>()];
    const pods = aClass();
    one.of(pods).set(1, 'fits');
    assert.equal(other.of(pods).size, 0);
  });
  it('is forgotten once there is very much of it, and that of other classes is not', () => {
    const cache = new ClassCache<number>();
    const [many, few] = [aClass(), aClass()];
    cache.of(few).set(1, 1);
    for (let number = 0; number < 2_000; number += 1) cache.of(many).set(number, number);
    assert.equal(cache.of(many).size, 0);
    cache.of(many).set(1, 1);
    assert.deepEqual([cache.of(many).size, cache.of(few).size], [1, 1], 'and what comes after it is kept');
  });
});
