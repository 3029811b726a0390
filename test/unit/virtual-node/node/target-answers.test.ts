// Values that targets are asked for now and then: a target that answers nothing, or nonsense, keeps the last one.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { TargetSession } from '../../../../targets/target-session.ts';
import { TargetAnswers } from '../../../../virtual-node/node/target-answers.ts';

type Value = { readonly version: string };
const aSession = (): TargetSession => ({}) as TargetSession;

/** Answers in turn; what is asked is noted. */
function questions(t: TestContext, ...answers: readonly (Value | undefined | Error)[]) {
  let [now, index, told] = [1_000, 0, 0];
  t.mock.method(performance, 'now', () => now);
  const befores: (Value | undefined)[] = [];
  const asked = new TargetAnswers<Value>({
    intervalMs: 100,
    ask: async (_session, before) => {
      befores.push(before);
      const answer = answers[index];
      index += 1;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  const session = aSession();
  const look = async (afterMs: number, of = session): Promise<Value | undefined> => {
    now += afterMs;
    await asked.refresh(of, () => (told += 1));
    return asked.of(of);
  };
  return { asked, look, befores, told: () => told };
}

describe('a value of a target', () => {
  it('is unknown before the first answer, and then what was answered', async (t) => {
    const { asked, look, told } = questions(t, { version: '1' });
    assert.equal(asked.of(aSession()), undefined);
    assert.deepEqual(await look(0), { version: '1' });
    assert.equal(told(), 1);
  });
  it('is asked for at most once in the interval, and again when that is over', async (t) => {
    const { look, befores } = questions(t, { version: '1' }, { version: '2' });
    await look(0);
    assert.deepEqual(await look(99), { version: '1' });
    assert.equal(befores.length, 1);
    assert.deepEqual(await look(1), { version: '2' });
    assert.deepEqual(befores, [undefined, { version: '1' }]);
  });
  it('stays what it was when the target fails to answer, and nothing is told', async (t) => {
    const { look, told } = questions(t, { version: '1' }, new Error('away'), undefined);
    await look(0);
    for (const _ of [1, 2]) assert.deepEqual(await look(100), { version: '1' });
    assert.equal(told(), 1);
  });
  it('is not told again when it is equal', async (t) => {
    const { look, told } = questions(t, { version: '1' }, { version: '1' });
    await look(0);
    await look(100);
    assert.equal(told(), 1);
  });
  it('is not asked for more often because an answer fails: a broken target costs no more than a good one',
    async (t) => {
    const { look, befores } = questions(t, new Error('away'), { version: '1' });
    await look(0);
    await look(99);
    assert.equal(befores.length, 1);
    assert.deepEqual(await look(1), { version: '1' });
  });
  it('is known by session: a new one is asked at once', async (t) => {
    const { look, befores } = questions(t, { version: '1' }, { version: '2' });
    await look(0);
    assert.deepEqual(await look(0, aSession()), { version: '2' });
    assert.deepEqual(befores, [undefined, undefined]);
  });
});
