import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventReplays } from '../../support/faults/event-replays.ts';

const event = (version: number, type = 'MODIFIED'): string =>
  JSON.stringify({ type, object: { metadata: { name: 'a', resourceVersion: String(version) } } });
const versions = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => event(from + i));

describe('EventReplays', () => {
  it('brings old changes again, in their order', () => {
    const replays = new EventReplays();
    const again = versions(90, 110).flatMap((line) => replays.after(line));
    assert.deepEqual(again, versions(90, 99));
  });

  it('brings nothing that is later than the line before it, though a stream that nobody could read had it already',
    () => {
    const replays = new EventReplays();
    for (const frozen of versions(100, 119)) replays.after(frozen);
    assert.deepEqual(replays.after(event(103)), versions(100, 103));
  });

  it('brings neither bookmarks nor errors again', () => {
    const replays = new EventReplays();
    const error = '{"type":"ERROR","object":{"metadata":{},"code":410}}';
    for (const line of [event(1, 'BOOKMARK'), error, event(2, 'DELETED'), ...versions(3, 19)]) replays.after(line);
    assert.deepEqual(replays.after(event(20)), [event(2, 'DELETED'), ...versions(3, 9)]);
  });
});
