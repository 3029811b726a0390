import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { DeadlineError, UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { UnsentError } from '../../../../kubernetes/http/pending-call.ts';
import { isSilence, ServerActivity, SilenceError } from '../../../../kubernetes/connect/silence.ts';

const coded = (code: string) => Object.assign(new Error(code), { code });

describe('silence', () => {
  const SILENT: Readonly<Record<string, Error>> = {
    'no answer within the deadline': new DeadlineError(1_000),
    'no connection in time': coded('UND_ERR_CONNECT_TIMEOUT'),
    'a connection that its kernel has given up': coded('ETIMEDOUT'),
    'a name that nobody knows': coded('ENOTFOUND'),
    'no place on any connection in time': new UnsentError(new SilenceError('it has not answered')),
    'a call that failed for it': new UnreachableError('GET it', { cause: coded('ENETUNREACH') }),
    'an HTTP/2 stream that was ended because of it': Object.assign(
      new Error('canceled'), { code: 'ERR_HTTP2_STREAM_CANCEL', cause: new SilenceError('a ping was not answered') },
    ),
    'several addresses that are silent': new AggregateError([coded('ETIMEDOUT'), coded('ENETUNREACH')]),
  };
  const SIGNS: Readonly<Record<string, unknown>> = {
    'a connection that is refused': coded('ECONNREFUSED'),
    'a connection that is reset': coded('ECONNRESET'),
    'a host that nobody finds on its network': coded('EHOSTUNREACH'),
    'a connection that the other side has closed': coded('UND_ERR_SOCKET'),
    'an address that is silent beside one that refuses':
      Object.assign(new AggregateError([coded('ETIMEDOUT'), coded('ECONNREFUSED')]), { code: 'ETIMEDOUT' }),
    'what nobody has thought of': new Error('whatever'),
    'what is no error': undefined,
  };
  for (const [what, thrown] of Object.entries(SILENT)) it(`is ${what}`, () => assert.equal(isSilence(thrown), true));
  for (const [what, thrown] of Object.entries(SIGNS)) {
    it(`is not ${what}`, () => assert.equal(isSilence(thrown), false));
  }
});

describe('how long a server has been silent', () => {
  const at = (activity: ServerActivity, ms: number, act: (activity: ServerActivity) => void) => {
    const clock = mock.method(performance, 'now', () => ms);
    act(activity);
    clock.mock.restore();
  };
  type Act = readonly [ms: number, act: (activity: ServerActivity) => void];
  const silentMs = (now: number, ...acts: readonly Act[]): number | undefined => {
    const activity = new ServerActivity();
    for (const [ms, act] of acts) at(activity, ms, act);
    let silent: number | undefined;
    at(activity, now, () => (silent = activity.silentMs));
    return silent;
  };
  const noteAnswer = (activity: ServerActivity) => activity.noteAnswer();

  it('is not known of one that has never answered', () => assert.equal(silentMs(9), undefined));
  it('is since its last answer', () => assert.equal(silentMs(9_000, [1_000, noteAnswer]), 8_000));
  it('goes on while calls are not answered', () => assert.equal(
    silentMs(9_000, [1_000, noteAnswer], [2_000, (activity) => activity.fail(new DeadlineError(1))]), 8_000,
  ));
  it('is not known once it has refused a call', () => assert.equal(
    silentMs(9_000, [1_000, noteAnswer], [2_000, (activity) => activity.fail(coded('ECONNREFUSED'))]), undefined,
  ));
  it('is not known any more however long it says nothing after that', () => {
    assert.equal(
      silentMs(
        9e9, [1_000, noteAnswer], [2_000, (activity) => activity.noteRefused()],
        [3_000, (activity) => activity.fail(new DeadlineError(1))],
      ),
      undefined,
    );
  });
  it('is since the answer that came after a refusal', () => assert.equal(
    silentMs(9_000, [1_000, (activity) => activity.noteRefused()], [4_000, noteAnswer]), 5_000,
  ));
});

describe('whether a server has turned something away', () => {
  const noteAnswer = (activity: ServerActivity) => activity.noteAnswer();
  const refuse = (activity: ServerActivity) => activity.noteRefused();
  const timeOut = (activity: ServerActivity) => activity.fail(new DeadlineError(1));
  const cases: Record<string, readonly [acts: readonly ((activity: ServerActivity) => void)[], holds: boolean]> = {
    'is false of one that was not asked yet': [[], false],
    'is false of one that is silent': [[noteAnswer, timeOut], false],
    'is true of one that has done so, whatever came before': [[noteAnswer, refuse], true],
    'is true of one that has never answered': [[refuse], true],
    'stays true while it is silent after that': [[refuse, timeOut], true],
    'is false again with its next answer': [[refuse, noteAnswer], false],
  };
  for (const [what, [acts, holds]] of Object.entries(cases)) {
    it(what, (t) => {
      const activity = new ServerActivity();
      for (const [ms, act] of acts.entries()) {
        const clock = t.mock.method(performance, 'now', () => ms);
        act(activity);
        clock.mock.restore();
      }
      assert.equal(activity.isRefusing, holds);
    });
  }
});

describe('who waits for a server to answer', () => {
  it('is told once, half a second after the wait began at the soonest', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const activity = new ServerActivity();
    const told: string[] = [];
    activity.onceReachable(() => told.push('early'));
    now = 100;
    for (let answer = 0; answer < 3; answer += 1) activity.noteAnswer();
    t.mock.timers.tick(399);
    assert.deepEqual(told, []);
    t.mock.timers.tick(1);
    activity.noteAnswer();
    t.mock.timers.tick(1_000);
    assert.deepEqual(told, ['early']);
  });

  it('is told at once when the server was away for longer, and never when it does not wait any more', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const activity = new ServerActivity();
    const told: string[] = [];
    activity.onceReachable(() => told.push('waits'));
    activity.onceReachable(() => told.push('forgotten'))();
    now = 60_000;
    activity.noteAnswer();
    t.mock.timers.tick(0);
    assert.deepEqual(told, ['waits']);
  });
});
