import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readEvents, type EventStream } from '../../../../kubernetes/watch/event-reader.ts';

const read: EventStream['read'] = (bytes, start, end) => JSON.parse(bytes.toString('utf8', start, end)) as unknown;

/** A stream that ends when it is told to. */
function open(): { readonly body: Readable; readonly stream: EventStream } {
  const body = new Readable({ read: () => undefined });
  return { body, stream: { body, silenceMs: 60_000, read, maxLineBytes: undefined } };
}

/** Makes an event take so long. A watch may be read for 5 ms before the event loop has a turn. */
function blockFor(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('readEvents', () => {
  it('passes on each event in order, wherever chunks end, and resolves at the end', async () => {
    const { body, stream } = open();
    const taken: unknown[] = [];
    const done = readEvents(stream, (event) => taken.push(event));
    for (const chunk of ['{"n":1}\n{"n":', '2}', '\n\n{"n":3}\n']) body.push(chunk);
    body.push(null);
    await done;
    assert.deepEqual(taken, [{ n: 1 }, { n: 2 }, { n: 3 }]);
    assert.equal(body.destroyed, true);
  });

  it('gives the event loop a turn after some ms of events, and passes on the rest behind the end', async () => {
    const order: string[] = [];
    const [one, other] = [open(), open()];
    const take = (name: string) => (event: unknown): void => {
      order.push(`${name} ${JSON.stringify(event)}`);
      if (event === 1) setImmediate(() => order.push(`turn after ${name}`));
      blockFor(6);
    };
    const done = Promise.all([readEvents(one.stream, take('one')), readEvents(other.stream, take('other'))]);
    one.body.push('1\n2\n');
    one.body.push('3\n');
    other.body.push('1\n2\n');
    for (const { body } of [one, other]) body.push(null);
    await done;
    for (const name of ['one', 'other']) {
      assert.ok(order.indexOf(`turn after ${name}`) < order.indexOf(`${name} 2`), order.join(', '));
      const events = order.filter((entry) => entry.startsWith(`${name} `));
      assert.deepEqual(events, (name === 'one' ? [1, 2, 3] : [1, 2]).map((event) => `${name} ${event}`));
    }
  });

  it('gives each of several busy watches as much time as the others', async () => {
    const readers = [open(), open(), open()].map((one) => ({ ...one, taken: 0 }));
    const total = () => readers.reduce((sum, { taken }) => sum + taken, 0);
    let halfway: readonly number[] = [];
    const done = Promise.all(readers.map((reader) => readEvents(reader.stream, () => {
      reader.taken += 1;
      blockFor(0.1);
      if (total() === 450) halfway = readers.map(({ taken }) => taken);
    })));
    for (const { body } of readers) body.push('1\n'.repeat(300));
    for (const { body } of readers) body.push(null);
    await done;
    assert.deepEqual([total(), halfway.length], [900, 3]);
    for (const taken of halfway) assert.ok(taken >= 75, `each has half of its share at least: ${halfway.join(', ')}`);
  });

  it('reads many events in one turn where they take no time', async () => {
    const { body, stream } = open();
    let taken = 0;
    const done = readEvents(stream, () => (taken += 1));
    await nextTurn();
    body.push('1\n'.repeat(20));
    await nextTurn();
    assert.equal(taken, 20);
    body.push(null);
    await done;
  });

  for (const [what, text] of [['cannot be read', '1\n{\n3\n'], ['cannot be taken', '1\n2\n3\n']] as const) {
    it(`ends the stream at an event that ${what}, and passes on none after it`, async () => {
      const { body, stream } = open();
      const taken: unknown[] = [];
      const done = readEvents(stream, (event) => {
        if (event === 2) throw new SyntaxError('no');
        taken.push(event);
      });
      body.push(text);
      await assert.rejects(done, SyntaxError);
      assert.deepEqual(taken, [1]);
      assert.equal(body.destroyed, true);
    });
  }

  it('passes on nothing more once the stream is destroyed, also of what it has', async () => {
    const { body, stream } = open();
    const taken: unknown[] = [];
    const done = readEvents(stream, (event) => {
      taken.push(event);
      blockFor(6);
      body.destroy(new Error('revoked'));
    });
    body.push('1\n2\n');
    await assert.rejects(done, /revoked/);
    await nextTurn();
    assert.deepEqual(taken, [1]);
  });

  it('throws what ended the stream, or that it was closed', async () => {
    const [broken, closed, former] = [open(), open(), open()];
    const ends = [broken, closed].map(({ stream }) => readEvents(stream, () => undefined));
    broken.body.destroy(new Error('reset'));
    closed.body.destroy();
    former.body.on('error', () => undefined).destroy(new Error('gone before'));
    await assert.rejects(ends[0] as Promise<void>, /reset/);
    await assert.rejects(ends[1] as Promise<void>, /closed before its end/);
    await assert.rejects(readEvents(former.stream, () => undefined), /gone before/);
  });

  it('destroys a stream that is silent for too long, from its last chunk on', async () => {
    const { body, stream } = open();
    const taken: unknown[] = [];
    const done = readEvents({ ...stream, silenceMs: 30 }, (event) => taken.push(event));
    body.push('1\n');
    await assert.rejects(done, /silent for too long/);
    assert.deepEqual(taken, [1]);
  });

  it('hears a stream that breaks after its end', async () => {
    const { body, stream } = open();
    const done = readEvents(stream, () => undefined);
    body.push(null);
    await done;
    body.emit('error', new Error('late'));
  });
});
