import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ServerLiveness, FRESH_MS, type ProbedServer } from '../../../targets/server-liveness.ts';

/** A server that answers when it is told to. */
class Server implements ProbedServer {
  readonly activity = { lastAnswerAt: performance.now() };
  asked = 0;
  #answer: (answers: boolean) => void = () => undefined;

  answersWithin(): Promise<boolean> {
    this.asked += 1;
    return new Promise((resolve) => (this.#answer = resolve));
  }

  async answer(answers: boolean): Promise<void> {
    this.#answer(answers);
    await turn();
  }
}

describe('whether a server answers', () => {
  let server: Server;
  let ended: AbortController;
  let answering: ServerLiveness;
  let changes: number;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    server = new Server();
    ended = new AbortController();
    changes = 0;
    answering = new ServerLiveness(server, () => (changes += 1), ended.signal);
  });
  afterEach(() => {
    ended.abort();
    mock.timers.reset();
  });
  const grownSilent = async (): Promise<void> => {
    server.activity.lastAnswerAt -= FRESH_MS;
    const answers = answering.probe();
    await server.answer(false);
    assert.equal(await answers, false);
  };

  it('is not asked when it was heard a moment ago', async () => {
    assert.equal(await answering.probe(), true);
    assert.equal(server.asked, 0);
  });

  it('is asked once for all who want to know', async () => {
    server.activity.lastAnswerAt -= FRESH_MS;
    const answers = Promise.all([answering.probe(), answering.probe()]);
    await server.answer(true);
    assert.deepEqual([await answers, server.asked, changes], [[true, true], 1, 0]);
  });

  it('ends what waits to be sent when it does not answer, and says so once', async () => {
    const { silence } = answering;
    await grownSilent();
    await grownSilent();
    assert.deepEqual([silence.aborted, answering.isSilent, changes], [true, true, 1]);
  });

  it('lets calls go again once it was heard', async () => {
    await grownSilent();
    answering.noteAnswer();
    assert.deepEqual([answering.silence.aborted, answering.isSilent, changes], [false, false, 2]);
  });

  it('is asked again while it is silent, until it answers', async () => {
    await grownSilent();
    for (const answers of [false, true]) {
      mock.timers.tick(1_000);
      await turn();
      await server.answer(answers);
    }
    assert.deepEqual([answering.isSilent, server.asked], [false, 3]);
    mock.timers.tick(10_000);
    await turn();
    assert.equal(server.asked, 3);
  });

  it('is not asked any more when its session has ended', async () => {
    await grownSilent();
    ended.abort();
    mock.timers.tick(10_000);
    await turn();
    assert.deepEqual([server.asked, answering.isSilent], [1, false]);
  });
});
