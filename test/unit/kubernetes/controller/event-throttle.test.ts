import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EventRecord } from '../../../../model/proxy/event-record.ts';
import { EventThrottle } from '../../../../kubernetes/controller/event-throttle.ts';

const event = (name: string): EventRecord => ({
  regarding: { apiVersion: 'v1', kind: 'Pod', name, uid: name }, type: 'Normal', reason: 'Scheduled', action: 'Binding',
  note: '',
});

function paced() {
  const handedOn: string[] = [];
  const ending = new AbortController();
  const events = new EventThrottle({ record: ({ regarding }) => handedOn.push(regarding.name) }, ending.signal);
  const record = (...names: readonly string[]) => names.forEach((name) => events.record(event(name)));
  return { events, handedOn, record, end: () => ending.abort() };
}

describe('EventThrottle', () => {
  it('hands five on at once, then one a second, in order', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { handedOn, record } = paced();
    record('a', 'b', 'c', 'd', 'e', 'f', 'g');
    assert.equal(handedOn.join(''), 'abcde');
    t.mock.timers.tick(1_000);
    assert.equal(handedOn.join(''), 'abcdef');
    t.mock.timers.tick(1_000);
    assert.equal(handedOn.join(''), 'abcdefg');
  });

  it('may go ahead again as time passes, by five at most', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { handedOn, record } = paced();
    record('a', 'b', 'c', 'd', 'e');
    for (let second = 0; second < 60; second += 1) t.mock.timers.tick(1_000);
    record('1', '2', '3', '4', '5', '6');
    assert.equal(handedOn.join(''), 'abcde12345');
  });

  it('drops and counts what is too much, and all once it has ended', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { events, handedOn, record, end } = paced();
    record(...Array.from({ length: 127 }, (_, i) => `${i}`));
    assert.deepEqual([handedOn.length, events.dropped], [5, 2]);
    end();
    record('late');
    t.mock.timers.tick(5_000);
    assert.equal(handedOn.length, 5);
  });
});
