// When a plugin runs, and what is used meanwhile. Time is given, and runs end when the test lets them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readExec } from '../../../../kubernetes/credentials/exec-credential.ts';
import { ExecPlugin } from '../../../../kubernetes/credentials/exec-plugin.ts';
import type { BoundedRun, RunOutcome } from '../../../../process/programs/bounded-run.ts';

const V1 = 'client.authentication.k8s.io/v1';
const START = Date.parse('2026-11-25T12:00:00Z');
const CANARY = 'canary-11ae';

interface Started extends BoundedRun {
  readonly signal: AbortSignal;
  end(outcome: RunOutcome): void;
}

class World {
  now = START;
  readonly runs: Started[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly plugin: ExecPlugin;

  constructor(more: object = {}, place: Partial<ConstructorParameters<typeof ExecPlugin>[1]> = {}) {
    const exec = readExec({ apiVersion: V1, command: 'aws', interactiveMode: 'IfAvailable', ...more }, {}, undefined);
    const run = (options: BoundedRun, signal: AbortSignal) => new Promise<RunOutcome>((end) => {
      this.runs.push({ ...options, signal, end });
      this.#waiting.shift()?.();
    });
    this.plugin = new ExecPlugin(
      exec, { env: { PATH: '/bin' }, atTerminal: false, isInteractive: false, ...place }, { run, now: () => this.now },
    );
  }

  /** The n-th run, once it has started. */
  async run(n: number): Promise<Started> {
    if (this.runs.length < n) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.runs[n - 1]!;
  }

  /** Lets the n-th run give a token that holds for so many seconds. */
  async gives(n: number, token: string, seconds?: number): Promise<void> {
    const at = (ms: number) => ({ expirationTimestamp: new Date(ms).toISOString() });
    const until = seconds === undefined ? {} : at(this.now + seconds * 1_000);
    const output = JSON.stringify({ apiVersion: V1, kind: 'ExecCredential', status: { token, ...until } });
    (await this.run(n)).end({ kind: 'ended', code: 0, output });
  }

  async fails(n: number, outcome: RunOutcome = { kind: 'ended', code: 1, output: CANARY }): Promise<void> {
    (await this.run(n)).end(outcome);
  }

  /** What it gives, or why it does not. */
  async token(): Promise<string> {
    return this.plugin.current().then(({ token = '' }) => token, (error: Error) => error.message);
  }
}

/** Enough turns of the event loop for whatever was let go to be seen. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('an exec plugin', () => {
  it('runs once for all who ask at once, and not again while its answer holds', async () => {
    const world = new World();
    const asked = [world.token(), world.token(), world.token()];
    await world.gives(1, 'one', 900);
    assert.deepEqual(await Promise.all(asked), ['one', 'one', 'one']);
    world.now += 839_000;
    assert.equal(await world.token(), 'one');
    assert.equal(world.runs.length, 1);
  });

  it('is asked again before its answer expires, while the old one is used', async () => {
    const world = new World();
    const first = world.token();
    await world.gives(1, 'one', 900);
    await first;
    world.now += 840_000;
    assert.equal(await world.token(), 'one');
    await world.gives(2, 'two', 900);
    await settled();
    assert.equal(await world.token(), 'two');
    assert.equal(world.runs.length, 2);
  });

  it('that hangs or fails at its second run leaves the first answer in use until it expires', async () => {
    const world = new World();
    const first = world.token();
    await world.gives(1, 'one', 100);
    await first;
    world.now += 80_000;
    assert.equal(await world.token(), 'one');
    await world.run(2);
    assert.equal(await world.token(), 'one', 'it hangs');
    await world.fails(2, { kind: 'timed-out' });
    await settled();
    assert.equal(await world.token(), 'one', 'it has failed');
    world.now += 20_000;
    const later = world.token();
    await world.fails(3, { kind: 'timed-out' });
    assert.match(await later, /^exec plugin aws gives no credentials: it did not end within 20 s and was killed/);
  });

  it('that fails is run ever more rarely, once a minute in the end', async () => {
    const world = new World();
    const failed = world.token();
    await world.fails(1);
    const message = await failed;
    const startedAt: number[] = [];
    for (let second = 1; second <= 300; second += 1) {
      world.now += 1_000;
      const before = world.runs.length;
      const asked = world.token();
      await settled();
      if (world.runs.length > before) {
        startedAt.push(second);
        await world.fails(world.runs.length);
      }
      assert.equal(await asked, message);
    }
    assert.deepEqual(startedAt, [2, 6, 14, 30, 62, 122, 182, 242]);
  });

  it('runs at once when the server rejects its answer, and rarely when it rejects each', async () => {
    const world = new World();
    const first = world.token();
    await world.gives(1, 'one');
    await first;
    world.now += 3_600_000;
    world.plugin.reject();
    const second = world.token();
    await world.gives(2, 'two');
    assert.equal(await second, 'two');
    world.plugin.reject();
    assert.match(await world.token(), /what it gave was rejected; it runs again soon/);
    world.now += 4_000;
    const third = world.token();
    await world.gives(3, 'three');
    assert.equal(await third, 'three');
  });

  it('is told what it is asked for, and gets the variables of both', async () => {
    const world = new World({ args: ['eks'], env: [{ name: 'AWS_PROFILE', value: 'p' }] });
    void world.token();
    const { command, args, env, atTerminal, maxBytes } = await world.run(1);
    assert.deepEqual([command, args, atTerminal, maxBytes], ['aws', ['eks'], false, 1 << 20]);
    const { KUBERNETES_EXEC_INFO: info = '', ...rest } = env;
    assert.deepEqual(rest, { PATH: '/bin', AWS_PROFILE: 'p' });
    assert.deepEqual(JSON.parse(info), { apiVersion: V1, kind: 'ExecCredential', spec: { interactive: false } });
    await world.fails(1);
  });

  it('may ask a person only where there is one, and it wants to', async () => {
    const asks = async (mode: string, isInteractive: boolean): Promise<unknown> => {
      const world = new World({ interactiveMode: mode }, { atTerminal: true, isInteractive });
      void world.token();
      const { env } = await world.run(1);
      await world.fails(1);
      return (JSON.parse(env['KUBERNETES_EXEC_INFO'] ?? '') as { spec: { interactive: boolean } }).spec.interactive;
    };
    assert.deepEqual(
      await Promise.all([
        asks('IfAvailable', true), asks('Always', true), asks('Never', true), asks('IfAvailable', false),
      ]),
      [true, true, false, false],
    );
  });

  it('is killed when nobody waits any more, which is no failure', async () => {
    const world = new World();
    const asked = world.token();
    const { signal } = await world.run(1);
    world.plugin.stop();
    assert.equal(signal.aborted, true);
    await world.fails(1, { kind: 'aborted' });
    assert.match(await asked, /it was stopped with the target/);
    const again = world.token();
    await world.gives(2, 'two');
    assert.equal(await again, 'two');
  });

  const outcomes: Record<string, readonly [outcome: RunOutcome, why: RegExp]> = {
    'an exit code': [{ kind: 'ended', code: 253, output: CANARY }, /it ended with exit code 253; run it by hand/],
    'garbage': [{ kind: 'ended', code: 0, output: CANARY }, /it printed no ExecCredential/],
    'a missing program': [{ kind: 'not-started', why: 'ENOENT' }, /no such program where Isthmus runs; add it to/],
    'a program that may not run': [{ kind: 'not-started', why: 'EACCES' }, /it cannot be run \(EACCES\)/],
    'a signal': [{ kind: 'signalled', signal: 'SIGSEGV' }, /it was killed by SIGSEGV/],
    'too much': [{ kind: 'printed-too-much' }, /it printed more than 1 MiB/],
  };
  for (const [what, [outcome, why]] of Object.entries(outcomes)) {
    it(`says of ${what} what to do, and nothing of what was printed`, async () => {
      const world = new World();
      const asked = world.token();
      await world.fails(1, outcome);
      const message = await asked;
      assert.match(message, why);
      assert.ok(!message.includes(CANARY), message);
    });
  }

  it('shows a person how to install it', async () => {
    const world = new World({ installHint: ' see https://example.com\n' }, { atTerminal: true });
    const asked = world.token();
    await world.fails(1, { kind: 'not-started', why: 'ENOENT' });
    assert.match(await asked, /there is no such program: see https:\/\/example\.com$/);
  });

  it('waits for its turn while ten others run', async () => {
    const worlds = Array.from({ length: 12 }, () => new World());
    const asked = worlds.map((world) => world.token());
    await settled();
    assert.equal(worlds.filter(({ runs }) => runs.length === 1).length, 10);
    await worlds[0]!.fails(1, { kind: 'timed-out' });
    await settled();
    assert.equal(worlds.filter(({ runs }) => runs.length === 1).length, 11);
    await Promise.all(worlds.slice(1).map((world) => world.gives(1, 'token')));
    assert.equal((await Promise.all(asked)).filter((token) => token === 'token').length, 11);
  });
});
