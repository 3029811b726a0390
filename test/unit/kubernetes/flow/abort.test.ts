import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { forwardAbort, onAbort, within } from '../../../../kubernetes/flow/abort.ts';
import { sourceFiles } from '../../../support/rules/source-files.ts';

const FORGOTTEN = fileURLToPath(new URL('../../../support/processes/forgotten-listeners.js', import.meta.url));
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;
/** Ends with the reason of its signal. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('forwardAbort', () => {
  it('aborts with the reason of the first', () => {
    const [first, second, to] = [new AbortController(), new AbortController(), new AbortController()];
    forwardAbort([first.signal, second.signal], to);
    second.abort('second');
    first.abort('first');
    assert.equal(to.signal.reason, 'second');
  });

  it('aborts at once when one is aborted already', () => {
    const to = new AbortController();
    forwardAbort([AbortSignal.abort('before')], to);
    assert.equal(to.signal.reason, 'before');
  });

  it('leaves nothing behind', () => {
    const [from, to] = [new AbortController(), new AbortController()];
    const forget = forwardAbort([from.signal], to);
    assert.equal(listenersOf(from.signal), 1);
    forget();
    assert.equal(listenersOf(from.signal), 0);
    from.abort();
    assert.equal(to.signal.aborted, false);
  });
});

describe('onAbort', () => {
  it('puts one listener on a signal for thousands of callers, and calls each that is left once, in order', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const heard: number[] = [];
    const forget = Array.from({ length: 5_000 }, (_, i) => onAbort(signal, () => heard.push(i)));
    assert.equal(listenersOf(signal), 1);
    for (const [i, each] of forget.entries()) if (i % 1_000 !== 0) each();
    controller.abort();
    assert.deepEqual(heard, [0, 1_000, 2_000, 3_000, 4_000]);
  });

  it('lets those that were forgotten be collected while they are young, also after some that waited for long', () => {
    const printed = execFileSync(process.execPath, ['--expose-gc', FORGOTTEN], { encoding: 'utf8' });
    assert.ok(Number(printed) < 6, `${printed} of 36 MB became old`);
  });

  it('stops listening with its last caller, and listens again with the next', () => {
    const controller = new AbortController();
    const { signal } = controller;
    const heard: string[] = [];
    const [first, second] = ['first', 'second'].map((name) => onAbort(signal, () => heard.push(name)));
    first?.();
    assert.equal(listenersOf(signal), 1);
    second?.();
    assert.equal(listenersOf(signal), 0);
    onAbort(signal, () => heard.push('third'));
    assert.equal(listenersOf(signal), 1);
    controller.abort();
    onAbort(signal, () => heard.push('late'));
    assert.deepEqual(heard, ['third', 'late']);
  });

  it('counts the same function twice, and forgets each by itself', () => {
    const controller = new AbortController();
    const { signal } = controller;
    let heard = 0;
    const listener = () => (heard += 1);
    const forget = onAbort(signal, listener);
    onAbort(signal, listener);
    forget();
    forget();
    controller.abort();
    assert.equal(heard, 1);
  });

  it('does not call one that another one has forgotten meanwhile', () => {
    const controller = new AbortController();
    const { signal } = controller;
    let heard = 0;
    onAbort(signal, () => forget());
    const forget = onAbort(signal, () => (heard += 1));
    controller.abort();
    assert.equal(heard, 0);
  });

  it('calls the others when one throws, which is an uncaught exception as from any listener', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    let heard = 0;
    const thrown = new Promise((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
    onAbort(signal, () => {
      throw new Error('a listener failed');
    });
    onAbort(signal, () => (heard += 1));
    controller.abort();
    assert.deepEqual([heard, ((await thrown) as Error).message], [1, 'a listener failed']);
    process.setUncaughtExceptionCaptureCallback(null);
  });
});

describe('within', () => {
  it('gives what the work gives, and leaves nothing behind', async () => {
    const { signal } = new AbortController();
    assert.equal(await within(60_000, signal, async () => 'done'), 'done');
    assert.equal(listenersOf(signal), 0);
  });

  it('ends the work when its time is over', async () => {
    const { signal } = new AbortController();
    await assert.rejects(within(1, signal, untilAborted), { name: 'TimeoutError', message: 'not done within 0.001 s' });
    assert.equal(listenersOf(signal), 0);
  });

  it('ends the work when the signal aborts', async () => {
    const ending = new AbortController();
    const work = within(60_000, ending.signal, untilAborted);
    ending.abort(new Error('stopping'));
    await assert.rejects(work, { message: 'stopping' });
  });

  it('passes on what the work throws', async () => {
    const { signal } = new AbortController();
    await assert.rejects(within(60_000, signal, async () => { throw new Error('refused'); }), { message: 'refused' });
    assert.equal(listenersOf(signal), 0);
  });
});

describe('time limits', () => {
  it('are never a timeout signal that only AbortSignal.any refers to: Node 20 collects it, and it never fires', () => {
    const inline = /AbortSignal\.any\(\[[^\]]*AbortSignal\.timeout/;
    const found = sourceFiles().filter(({ path, text }) => !/^(?:test|benchmarks)\//.test(path) && inline.test(text));
    assert.deepEqual(found.map(({ path }) => path), []);
  });
});
