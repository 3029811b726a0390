import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  ViewerPermissions, type Check, type RulesReview, type Registration,
} from '../../../../dashboard/permissions/viewer-permissions.ts';
import { whileAllowed } from '../../../../dashboard/permissions/while-allowed.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { aborted } from '../../../../process/lifecycle.ts';
import { ScriptedApiServer, status, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const [PODS, NODES] = [{ verbs: ['list', 'watch'], resources: ['pods'] }, { verbs: ['list'], resources: ['nodes'] }];

describe('the permissions of a viewer', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  /** Reviews as often as the server answers, and notes each check and why it was done. */
  function reviewing(answers: readonly boolean[] = []): {
    readonly permissions: ViewerPermissions; readonly registration: Registration; readonly checks: RulesReview[];
    readonly stop: () => Promise<void>
  } {
    const permissions = new ViewerPermissions(server.client, 'shop', { everyMs: 1 });
    const stopped = new AbortController();
    const checks: RulesReview[] = [];
    const registration = permissions.onReview(async (review) => {
      checks.push(review);
      return answers[checks.length - 1] ?? true;
    });
    const running = permissions.run(stopped.signal);
    return { permissions, registration, checks, stop: async () => {
      stopped.abort();
      await running;
    } };
  }

  /** Answers so many reviews, and returns when the next one has come: by then those are done with. */
  async function rounds(...rules: readonly (readonly object[] | 'incomplete' | number)[]): Promise<Exchange> {
    let review = await server.next();
    for (const each of rules) {
      if (typeof each === 'number') review.answer(each, status(each, 'Refused', 'no'));
      else review.answer(201, { metadata: {}, status: each === 'incomplete'
        ? { incomplete: true, resourceRules: [] } : { incomplete: false, resourceRules: each } });
      review = await server.next();
    }
    return review;
  }

  it('are checked once, and then cost one review each time while the rules stay the same', async () => {
    const { checks, stop } = reviewing();
    const last = await rounds([PODS, NODES], [NODES, PODS], [PODS, NODES]);
    assert.deepEqual(JSON.parse(last.body), {
      apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', metadata: {}, spec: { namespace: 'shop' },
    });
    assert.deepEqual(checks, ['unchanged'], 'rules come in no order');
    await stop();
  });

  it('are checked when the rules have changed, and every tenth time', async () => {
    const { checks, stop } = reviewing();
    await rounds([PODS, NODES], [NODES], [NODES], [PODS, NODES]);
    assert.deepEqual(checks, ['unchanged', 'changed', 'changed']);
    await stop();
    const other = reviewing();
    await rounds(...Array.from({ length: 11 }, () => [PODS]));
    assert.deepEqual(other.checks, ['unchanged', 'unchanged']);
    await other.stop();
  });

  for (const what of ['incomplete', 401, 403] as const) {
    it(`are checked each time where the API server does not say them all: ${what}`, async () => {
      const { checks, stop } = reviewing();
      await rounds(what, what, what);
      assert.deepEqual(checks, ['unlisted', 'unlisted', 'unlisted']);
      await stop();
    });
  }

  it('are not checked on a server that does not answer or is too busy: that would be more load', async () => {
    const { checks, stop } = reviewing();
    await rounds([PODS], 500, 429, [PODS], [NODES]);
    assert.deepEqual(checks, ['unchanged', 'changed']);
    await stop();
  });

  it('are checked again alone where a check had no answer, or something was refused', async () => {
    const { permissions, registration, checks, stop } = reviewing([false, false, true]);
    const others: RulesReview[] = [];
    permissions.onReview(async (review) => {
      others.push(review);
      return true;
    });
    const waiting = await rounds([PODS], [PODS], [PODS], [PODS]);
    assert.equal(checks.length, 3);
    registration.recheck();
    waiting.answer(201, { metadata: {}, status: { incomplete: false, resourceRules: [PODS] } });
    await server.next();
    assert.deepEqual([checks.length, others.length], [4, 1]);
    await stop();
  });
});

describe('what runs while it is allowed', () => {
  /** Permissions that a test changes. */
  class FakePermissions {
    rechecks = 0;
    #check: Check = async () => true;

    onReview(check: Check): Registration {
      this.#check = check;
      return { recheck: () => void (this.rechecks += 1), forget: () => undefined };
    }

    check(review: RulesReview = 'unchanged'): Promise<boolean> {
      return this.#check(review, new AbortController().signal);
    }
  }

  const denied = (code: number): ApiError => new ApiError(code, 'Refused', 'no');

  function running(beginsAgain = false) {
    const [permissions, stopped] = [new FakePermissions(), new AbortController()];
    const state = { begun: 0, isRunning: false, refusals: [] as unknown[], answer: undefined as unknown };
    let end: (refusal: unknown) => void = () => undefined;
    const done = whileAllowed(permissions as unknown as ViewerPermissions, {
      check: async () => {
        if (state.answer !== undefined) throw state.answer;
      },
      work: async (signal) => {
        state.begun += 1;
        state.isRunning = true;
        const refusal = await Promise.race([aborted(signal), new Promise((resolve) => (end = resolve))]);
        state.isRunning = false;
        return refusal;
      },
      refused: (error) => void state.refusals.push(error), beginsAgain,
    }, stopped.signal);
    return { permissions, state, refuse: (error: unknown) => end(error), stop: async () => {
      stopped.abort();
      await done;
    } };
  }

  async function settled(): Promise<void> {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  for (const code of [401, 403]) {
    it(`ends when a check is refused (${code}), and begins again when one is not`, async () => {
      const { permissions, state, stop } = running();
      state.answer = denied(code);
      assert.equal(await permissions.check(), true, 'that is an answer');
      await settled();
      assert.deepEqual([state.isRunning, state.begun, state.refusals], [false, 1, [state.answer]]);
      await permissions.check();
      state.answer = undefined;
      await permissions.check();
      await settled();
      assert.deepEqual([state.isRunning, state.begun, state.refusals.length], [true, 2, 3]);
      assert.equal(state.refusals.at(-1), undefined);
      await stop();
      assert.equal(state.isRunning, false);
    });
  }

  it('goes on when a check fails for another reason, which is no answer', async () => {
    const { permissions, state, stop } = running();
    state.answer = denied(500);
    assert.equal(await permissions.check(), false);
    await settled();
    assert.deepEqual([state.isRunning, state.refusals], [true, []]);
    await stop();
  });

  it('waits for a check, and asks for one, after the work itself was refused: that may have been passing', async () => {
    const { permissions, state, refuse, stop } = running();
    await settled();
    refuse(denied(403));
    await settled();
    assert.deepEqual([state.isRunning, state.begun, permissions.rechecks], [false, 1, 1]);
    await permissions.check();
    await settled();
    assert.deepEqual([state.isRunning, state.begun], [true, 2]);
    await stop();
  });

  it('tells a refusal of the work in the words of a check, where there are any', async () => {
    for (const [answer, told] of [[denied(403), 'answer'], [denied(500), 'work'], [undefined, 'work']] as const) {
      const { state, refuse, stop } = running();
      const refusal = denied(403);
      state.answer = answer;
      refuse(refusal);
      await settled();
      assert.deepEqual(state.refusals.map((error) => error === refusal), [told === 'work']);
      assert.equal(state.refusals[0], told === 'work' ? refusal : answer);
      await stop();
    }
  });

  it('tells nobody of a refusal that comes with its end', async () => {
    const { state, refuse, stop } = running();
    state.answer = denied(403);
    refuse(denied(403));
    await stop();
    assert.deepEqual(state.refusals, []);
  });

  it('begins again after other permissions have changed, where it reads many things', async () => {
    const [one, other] = [running(true), running(false)];
    for (const { permissions } of [one, other]) await permissions.check('changed');
    await settled();
    assert.deepEqual([one.state.begun, other.state.begun], [2, 1]);
    assert.deepEqual([one.state.isRunning, other.state.isRunning], [true, true]);
    await Promise.all([one.stop(), other.stop()]);
  });
});
