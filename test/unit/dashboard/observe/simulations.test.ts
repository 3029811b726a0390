import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Simulations } from '../../../../dashboard/observe/simulations.ts';

const never = new AbortController().signal;

describe('simulations of one viewer', () => {
  it('run one at a time, in the order in which they were asked for, and give each its own answer', async () => {
    const simulations = new Simulations();
    const log: string[] = [];
    function* numbers(name: string): Generator<string> {
      log.push(`${name} begins`);
      for (let index = 0; index < 50; index += 1) yield `${name}${index}`;
      log.push(`${name} ends`);
    }
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => simulations.run(() => numbers(name), never)));
    assert.deepEqual(log, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    assert.deepEqual(answers.map((all) => [all.length, all[49]]), [[50, 'a49'], [50, 'b49'], [50, 'c49']]);
  });

  it('let other work go on between their pieces', async () => {
    let [isTurn, turns] = [true, 0];
    const turn = (): void => {
      turns += 1;
      if (isTurn) setImmediate(turn);
    };
    setImmediate(turn);
    function* slow(): Generator<number> {
      for (let piece = 0; piece < 40; piece += 1) {
        for (const until = performance.now() + 2; performance.now() < until;);
        yield piece;
      }
    }
    await new Simulations().run(slow, never);
    isTurn = false;
    assert.ok(turns > 1, 'the event loop has turned meanwhile');
  });

  it('end with whoever asked, in the midst of it or before it begins, and then the next one runs', async () => {
    const simulations = new Simulations();
    const [first, second] = [new AbortController(), new AbortController()];
    let steps = 0;
    function* counting(): Generator<number> {
      for (;;) {
        yield (steps += 1);
        if (steps === 100) first.abort(new Error('gone'));
      }
    }
    let hasBegun = false;
    const endless = assert.rejects(simulations.run(counting, first.signal), /gone/);
    const waiting = assert.rejects(simulations.run(() => {
      hasBegun = true;
      return [1];
    }, second.signal), /left/);
    second.abort(new Error('left'));
    const last = simulations.run(() => ['last'], never);
    await Promise.all([endless, waiting]);
    assert.deepEqual([await last, hasBegun, steps], [['last'], false, 101]);
  });

  it('that fail tell why, and hold up no other', async () => {
    const simulations = new Simulations();
    const failed = assert.rejects(simulations.run(() => {
      throw new Error('no such pod');
    }, never), /no such pod/);
    assert.deepEqual(await simulations.run(() => [1], never), [1]);
    await failed;
  });
});
