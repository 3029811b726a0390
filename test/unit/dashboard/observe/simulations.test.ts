import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Simulations } from '../../../../dashboard/observe/simulations.ts';
import { beginTurn } from '../../../support/processes/begun-turn.ts';

const never = new AbortController().signal;

describe('simulations', () => {
  beforeEach(beginTurn);

  it('run one at a time, in the order in which they were asked for, and give each its own answer', async () => {
    const simulate = new Simulations().of('me');
    const log: string[] = [];
    function* numbers(name: string): Generator<string> {
      log.push(`${name} begins`);
      for (let index = 0; index < 50; index += 1) yield `${name}${index}`;
      log.push(`${name} ends`);
    }
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => simulate(() => numbers(name), never)));
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
    await new Simulations().of('me')(slow, never);
    isTurn = false;
    assert.ok(turns > 1, 'the event loop has turned meanwhile');
  });

  it('end with whoever asked, in the midst of it or before it begins, and then the next one runs', async () => {
    const simulate = new Simulations().of('me');
    const [first, second] = [new AbortController(), new AbortController()];
    let steps = 0;
    function* counting(): Generator<number> {
      for (;;) {
        yield (steps += 1);
        if (steps === 100) first.abort(new Error('gone'));
      }
    }
    let hasBegun = false;
    const endless = assert.rejects(simulate(counting, first.signal), /gone/);
    const waiting = assert.rejects(simulate(() => {
      hasBegun = true;
      return [1];
    }, second.signal), /left/);
    second.abort(new Error('left'));
    const last = simulate(() => ['last'], never);
    await Promise.all([endless, waiting]);
    assert.deepEqual([await last, hasBegun, steps], [['last'], false, 101]);
  });

  it('that fail tell why, and hold up no other', async () => {
    const simulate = new Simulations().of('me');
    const failed = assert.rejects(simulate(() => {
      throw new Error('no such pod');
    }, never), /no such pod/);
    assert.deepEqual(await simulate(() => [1], never), [1]);
    await failed;
  });

  it('of viewers take turns: many of one hold up no other', async () => {
    const [simulations, order] = [new Simulations(), [] as string[]];
    const ask = (viewer: string) => simulations.of(viewer)(() => [order.push(viewer)], never);
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(ask));
    assert.deepEqual(order, ['a', 'a', 'b', 'c', 'a', 'b', 'a']);
  });

  it('of a viewer who leaves and comes back are behind those of others', async () => {
    const [simulations, order, leaving] = [new Simulations(), [] as string[], new AbortController()];
    const ask = (viewer: string, signal = never) => simulations.of(viewer)(() => [order.push(viewer)], signal);
    const first = ask('first');
    const left = assert.rejects(ask('a', leaving.signal), /left/);
    const other = ask('b');
    leaving.abort(new Error('left'));
    await Promise.all([first, left, other, ask('a')]);
    assert.deepEqual(order, ['first', 'b', 'a']);
  });

  it('that wait end at once when nobody asks for them any more', async () => {
    const [simulations, running, leaving] = [new Simulations(), new AbortController(), new AbortController()];
    const endless = assert.rejects(simulations.of('a')(function* () {
      for (;;) yield 1;
    }, running.signal), /stopped/);
    const waiting = assert.rejects(simulations.of('b')(() => [1], leaving.signal), /left/);
    leaving.abort(new Error('left'));
    await waiting;
    running.abort(new Error('stopped'));
    await endless;
  });

  for (const [how, end] of [
    ['ended', () => undefined],
    ['was aborted', (mine: AbortController) => mine.abort(new Error('gone'))],
    ['failed', () => {
      throw new Error('broken');
    }],
  ] as const) {
    it(`begin no sooner after one that ${how} than it took, also when its viewer leaves then`, async () => {
      const [simulations, mine] = [new Simulations(), new AbortController()];
      let [began, ended, next] = [0, 0, 0];
      const first = simulations.of('a')(function* () {
        began = performance.now();
        for (const until = began + 20; performance.now() < until;);
        ended = performance.now();
        end(mine);
        yield 1;
      }, mine.signal).then(() => undefined, () => undefined);
      await first;
      mine.abort(new Error('left'));
      await simulations.of('b')(() => [next = performance.now()], never);
      assert.ok(next - ended >= ended - began, `${next - ended} ms after ${ended - began} ms`);
    });
  }
});
