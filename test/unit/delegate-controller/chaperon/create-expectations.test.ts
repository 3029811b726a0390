import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CreateExpectations } from '../../../../delegate-controller/chaperon/create-expectations.ts';

describe('CreateExpectations', () => {
  for (const [what, act, isUnheard] of [
    ['a create whose answer is out', (makes) => void makes.begin('c'), true],
    ['one that was answered before the watch showed it', (makes) => makes.begin('c').made('p1', false), true],
    ['one that the watch showed before the answer', (makes) => makes.begin('c').made('p1', true), false],
    ['one that the watch shows', (makes) => {
      makes.begin('c').made('p1', false);
      makes.observe('c', 'p1');
    }, false],
    ['one of which the watch shows an earlier delegate', (makes) => {
      makes.begin('c').made('p1', false);
      makes.begin('c').made('p2', false);
      makes.observe('c', 'p1');
    }, true],
    ['one that was rejected', (makes) => makes.begin('c').rejected(), false],
    ['one that was rejected after another one whose answer was lost', (makes) => {
      makes.begin('c');
      makes.begin('c').rejected();
      makes.observe('c', 'p1');
    }, true],
    ['one that was rejected after another one that the watch has not shown', (makes) => {
      makes.begin('c').made('p1', false);
      makes.begin('c').rejected();
    }, true],
    ['that of another chaperon', (makes) => makes.begin('other').made('p1', false), false],
    ['one whose chaperon has gone', (makes) => {
      makes.begin('c').made('p1', false);
      makes.forget('c');
    }, false],
  ] as const satisfies readonly (readonly [string, (makes: CreateExpectations) => void, boolean])[]) {
    it(`${isUnheard ? 'waits for' : 'waits no longer for'} ${what}`, () => {
      const makes = new CreateExpectations();
      act(makes);
      assert.equal(makes.has('c'), isUnheard);
    });
  }
});
