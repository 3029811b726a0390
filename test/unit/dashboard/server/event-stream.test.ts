// A screen as server-sent events, over an answer of the test's own and with its own time: what is sent when, to a page
// that reads, that reads slowly, and that reads nothing.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { EventStream, STREAM_TIMES } from '../../../../dashboard/server/event-stream.ts';
import type { OpenScreen } from '../../../../dashboard/wire/screen-source.ts';

/** An answer whose client takes what it is told to take. */
class Answer extends EventEmitter {
  readonly written: string[] = [];
  headers: Readonly<Record<string, string>> = {};
  destroyed = false;
  writableNeedDrain = false;
  /** Whether the client reads. */
  reads = true;

  writeHead(_status: number, headers: Readonly<Record<string, string>>): void {
    this.headers = headers;
  }

  flushHeaders(): void {
    this.written.push('headers');
  }

  write(text: string): boolean {
    assert.equal(this.destroyed, false, 'written to after it has ended');
    this.written.push(text);
    this.writableNeedDrain = !this.reads;
    return this.reads;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }

  /** The client has read all. */
  drain(): void {
    this.writableNeedDrain = false;
    this.emit('drain');
  }

  /** What was sent of screens since the last call. */
  data(): unknown[] {
    const all = this.written.splice(0).flatMap((text) => /^id: [^\n]*\ndata: ([^\n]*)\n\n$/.exec(text)?.[1] ?? []);
    return all.map((text) => JSON.parse(text) as unknown);
  }
}

/** A stream of a screen that shows what the test sets. */
function stream({ shown, lastId = '' }: { readonly shown: unknown; readonly lastId?: string }) {
  const answer = new Answer();
  const screen = { shown, closed: 0, change: () => undefined as void };
  const source = {
    current: () => {
      if (screen.shown instanceof Error) throw screen.shown;
      return screen.shown;
    },
    onChange: (listener: () => void) => void (screen.change = listener),
    close: () => void (screen.closed += 1),
  } as unknown as OpenScreen;
  new EventStream(answer as unknown as ServerResponse, source, lastId).open({ 'x-frame-options': 'DENY' });
  const show = (next: unknown): void => {
    screen.shown = next;
    screen.change();
  };
  return { answer, screen, show };
}

const { gather, heartbeat, stuck } = STREAM_TIMES;

const inOwnTime = (): void => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval'] }));
  afterEach(() => mock.timers.reset());
};

describe('a stream', () => {
  inOwnTime();
  it('begins with headers that forbid to keep it or to hold it up, and with what is shown', () => {
    const { answer } = stream({ shown: { n: 1 } });
    assert.equal(answer.written[0], 'headers');
    assert.deepEqual(answer.headers, {
      'x-frame-options': 'DENY', 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    assert.deepEqual(answer.data(), [{ n: 1 }]);
  });

  it('says nothing of a screen that is not known yet, and then all of it', () => {
    const { answer, show } = stream({ shown: undefined });
    assert.deepEqual(answer.data(), []);
    show({ n: 1 });
    mock.timers.tick(0);
    assert.deepEqual(answer.data(), [{ n: 1 }]);
  });

  it('sends many changes of a moment as one, and those that follow as one more', () => {
    const { answer, show } = stream({ shown: { n: 0 } });
    for (let n = 1; n <= 100; n += 1) show({ n });
    mock.timers.tick(0);
    assert.deepEqual(answer.data(), [{ n: 0 }, { n: 100 }]);
    show({ n: 101 });
    mock.timers.tick(gather - 1);
    assert.deepEqual(answer.data(), []);
    show({ n: 102 });
    mock.timers.tick(1);
    assert.deepEqual(answer.data(), [{ n: 102 }]);
  });

  it('sends a change at once after a time of rest', () => {
    const { answer, show } = stream({ shown: { n: 0 } });
    show({ n: 1 });
    mock.timers.tick(gather);
    answer.data();
    mock.timers.tick(gather);
    show({ n: 2 });
    mock.timers.tick(0);
    assert.deepEqual(answer.data(), [{ n: 2 }]);
  });

  it('does not repeat what is as it was, nor what comes back within a moment', () => {
    const { answer, show } = stream({ shown: { n: 0 } });
    answer.data();
    show({ n: 1 });
    show({ n: 0 });
    mock.timers.tick(0);
    assert.deepEqual(answer.data(), []);
  });

  it('keeps a line break of a screen within one line of data', () => {
    assert.deepEqual(stream({ shown: { text: 'a\n\ndata: {"forged":1}\r\n\u2028' } }).answer.data(), [
      { text: 'a\n\ndata: {"forged":1}\r\n\u2028' },
    ]);
  });

  it('goes on from what the page has, and only from that', () => {
    const first = stream({ shown: { n: 1 } }).answer.written[1] ?? '';
    const lastId = /^id: (.*)$/m.exec(first)?.[1] ?? '';
    assert.match(lastId, /^[\w-]{22}$/);
    assert.deepEqual(stream({ shown: { n: 1 }, lastId }).answer.data(), []);
    assert.deepEqual(stream({ shown: { n: 2 }, lastId }).answer.data(), [{ n: 2 }]);
  });

  it('shows that it lives by comments, until it is closed', () => {
    const { answer, screen } = stream({ shown: { n: 1 } });
    answer.data();
    mock.timers.tick(heartbeat * 3);
    assert.deepEqual(answer.written.splice(0), [':\n\n', ':\n\n', ':\n\n']);
    answer.destroy();
    mock.timers.tick(heartbeat * 3);
    assert.deepEqual([answer.written, screen.closed], [[], 1]);
  });

  it('that is closed sends no change that was gathered, and hears of none', () => {
    const { answer, show } = stream({ shown: { n: 1 } });
    answer.data();
    show({ n: 2 });
    answer.destroy();
    show({ n: 3 });
    mock.timers.tick(gather * 3);
    assert.deepEqual(answer.written, []);
  });
});

describe('a page that reads slowly', () => {
  inOwnTime();
  it('gets the last of the changes that it was too slow for', () => {
    const { answer, show } = stream({ shown: { n: 0 } });
    answer.reads = false;
    show({ n: 1 });
    mock.timers.tick(gather);
    for (const n of [2, 3, 4]) {
      show({ n });
      mock.timers.tick(gather);
    }
    assert.deepEqual(answer.data(), [{ n: 0 }, { n: 1 }]);
    answer.reads = true;
    answer.drain();
    assert.deepEqual(answer.data(), [{ n: 4 }]);
  });

  it('gets nothing more when all was sent before it caught up', () => {
    const { answer, show } = stream({ shown: { n: 0 } });
    answer.data();
    answer.reads = false;
    show({ n: 1 });
    mock.timers.tick(0);
    answer.drain();
    assert.deepEqual(answer.data(), [{ n: 1 }]);
  });

  it('is disconnected when it takes nothing for too long, and not while it takes some', () => {
    const { answer, screen, show } = stream({ shown: { n: 0 } });
    answer.reads = false;
    show({ n: 1 });
    mock.timers.tick(0);
    mock.timers.tick(stuck - 1);
    answer.drain();
    mock.timers.tick(1);
    assert.equal(answer.destroyed, false);
    show({ n: 2 });
    mock.timers.tick(gather);
    mock.timers.tick(stuck);
    assert.deepEqual([answer.destroyed, screen.closed], [true, 1]);
  });

  it('is disconnected though the comments go on: they do not wait for it', () => {
    const { answer } = stream({ shown: { n: 0 } });
    answer.reads = false;
    mock.timers.tick(heartbeat);
    mock.timers.tick(stuck);
    assert.equal(answer.destroyed, true);
  });
});

describe('a screen that cannot be made', () => {
  inOwnTime();
  it('ends its stream, and nothing else', () => {
    const { answer, screen, show } = stream({ shown: { n: 0 } });
    show(new TypeError('what a stranger has written'));
    mock.timers.tick(0);
    assert.deepEqual([answer.destroyed, screen.closed], [true, 1]);
    mock.timers.tick(gather + heartbeat);
    assert.deepEqual(answer.data(), [{ n: 0 }]);
  });

  it('ends it when it cannot be made at all', () => {
    const { answer } = stream({ shown: new RangeError('too deep') });
    assert.deepEqual([answer.destroyed, answer.data()], [true, []]);
  });
});
