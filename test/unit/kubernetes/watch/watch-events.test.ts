import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { ApiError } from '../../../../kubernetes/flow/api-error.ts';
import { INITIAL_EVENTS_END } from '../../../../kubernetes/json/watched-fields.ts';
import {
  deliver, InitialList, type ReflectorSink, type WatchEvent,
} from '../../../../kubernetes/watch/watch-events.ts';

/** A sink that writes down what it gets. */
function recorder() {
  const calls: string[] = [];
  const sink: ReflectorSink<KubernetesObject> = {
    listing: () => calls.push('listing'),
    listed: (objects) => calls.push(`listed ${objects.map(({ metadata }) => metadata.name).join(' ')}`),
    unlisted: ({ metadata }) => calls.push(`unlisted ${metadata.name}`),
    listEnded: () => calls.push('listEnded'),
    changed: ({ metadata }, version) => calls.push(`changed ${metadata.name} ${version}`),
    deleted: ({ metadata }, version) => calls.push(`deleted ${metadata.name} ${version}`),
    bookmark: (version) => calls.push(`bookmark ${version}`),
    isEmpty: () => calls.length === 0,
    connection: () => undefined,
  };
  return { calls, sink };
}

type Type = WatchEvent<KubernetesObject>['type'];
const event = (type: Type, name: string, resourceVersion: string, annotations = {}): WatchEvent<KubernetesObject> =>
  ({ type, object: { metadata: { name, resourceVersion, annotations } } });
const failure: WatchEvent<KubernetesObject> =
  { type: 'ERROR', object: { metadata: {}, code: 410, reason: 'Expired', message: 'too old' } };
const isExpired = (error: unknown) => error instanceof ApiError && error.status === 410 && error.reason === 'Expired';

describe('events of a watch', () => {
  const rows: readonly (readonly [type: Type, call: string])[] = [
    ['ADDED', 'changed a 8'], ['MODIFIED', 'changed a 8'], ['DELETED', 'deleted a 8'], ['BOOKMARK', 'bookmark 8'],
  ];
  for (const [type, call] of rows) {
    it(`${type} is delivered as "${call}"`, () => {
      const { calls, sink } = recorder();
      assert.equal(deliver(event(type, 'a', '8'), '7', sink), '8');
      assert.deepEqual(calls, [call]);
    });
    it(`${type} of a version that was seen is dropped`, () => {
      const { calls, sink } = recorder();
      assert.equal(deliver(event(type, 'a', '8'), '8', sink), '8');
      assert.deepEqual(calls, []);
    });
  }

  it('end with the error that the server sends', () => {
    const { calls, sink } = recorder();
    assert.throws(() => deliver(failure, '7', sink), isExpired);
    assert.deepEqual(calls, []);
  });

  it('end with a plain error where the server gives no reason', () => assert.throws(
    () => deliver({ type: 'ERROR', object: { metadata: {} } }, '7', recorder().sink),
    (error) => error instanceof ApiError && error.status === 500,
  ));

  it('never move the version back, whatever is replayed', () => fc.assert(fc.property(
    fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 40 }),
    (versions) => {
      const { calls, sink } = recorder();
      let from = '0';
      for (const version of versions) {
        const next = deliver(event('MODIFIED', 'a', String(version)), from, sink);
        assert.ok(Number(next) >= Number(from));
        from = next;
      }
      const delivered = calls.map((call) => Number(call.split(' ')[2]));
      assert.deepEqual(delivered, [...new Set(delivered)].toSorted((one, other) => one - other));
      assert.equal(Number(from), Math.max(0, ...versions));
    },
  )));
});

describe('a list that is streamed', () => {
  it('ends with the annotated bookmark, whose version it has', () => {
    const { calls, sink } = recorder();
    const list = new InitialList(sink);
    assert.equal(list.take(event('ADDED', 'a', '3')), undefined);
    assert.equal(list.take(event('DELETED', 'b', '4')), undefined);
    assert.equal(list.take(event('BOOKMARK', '', '5')), undefined);
    assert.equal(list.take(event('BOOKMARK', '', '9', { [INITIAL_EVENTS_END]: 'true' })), '9');
    assert.deepEqual(calls, ['listed a', 'unlisted b', 'bookmark 9', 'listEnded']);
  });

  it('ends with an error event', () =>
    assert.throws(() => new InitialList(recorder().sink).take(failure), isExpired));
});
