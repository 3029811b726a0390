import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PODS } from '../../../../api/resource-types.ts';
import { ViewerWatch } from '../../../../dashboard/observe/viewer-watch.ts';
import { ViewerPermissions } from '../../../../dashboard/permissions/viewer-permissions.ts';
import { ScriptedApiServer, status, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const pod = { metadata: { namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '5' } };

describe('a collection that is followed', () => {
  let server: ScriptedApiServer;
  before(async () => {
    server = await ScriptedApiServer.start();
  });
  after(() => server.stop());

  /** Follows; the viewer's permissions are reviewed only when a test runs them. */
  function follow(): {
    readonly watch: ViewerWatch<typeof pod, string>;
    readonly permissions: ViewerPermissions;
    readonly until: (isThere: () => boolean) => Promise<void>;
    readonly stop: () => Promise<void>
  } {
    const [stopped, waiters] = [new AbortController(), new Set<() => void>()];
    const permissions = new ViewerPermissions(server.client, 'shop', { everyMs: 1_000_000 });
    const watch = new ViewerWatch(
      { client: server.client, permissions, type: PODS as never, selection: { namespace: 'shop' } },
      ({ metadata }: typeof pod) => metadata.name, () => {
        for (const look of waiters) look();
      },
    );
    const running = watch.run(stopped.signal);
    return {
      watch, permissions,
      until: (isThere) => new Promise((resolve) => {
        const look = (): void => {
          if (isThere()) resolve();
        };
        waiters.add(look);
        look();
      }),
      stop: () => {
        stopped.abort();
        return running;
      },
    };
  }

  /**
   * One round of the permissions: a review that does not list the rules, and the check that follows, to be answered.
   */
  async function round(
    permissions: ViewerPermissions,
  ): Promise<{ readonly check: Exchange; readonly end: () => Promise<void> }> {
    const ended = new AbortController();
    const running = permissions.run(ended.signal);
    const review = await server.next();
    assert.match(review.path, /selfsubjectrulesreviews$/);
    review.answer(201, { metadata: {}, status: { incomplete: true, resourceRules: [] } });
    const check = await server.next();
    assert.equal(check.query.get('limit'), '1');
    return { check, end: async () => {
      ended.abort();
      await running;
    } };
  }

  it('is being read, then read', async () => {
    const { watch, until, stop } = follow();
    assert.deepEqual(watch.reading, { kind: 'reading' });
    await server.list('5', pod);
    await until(() => watch.reading.kind === 'read');
    assert.deepEqual(watch.reading, { kind: 'read', records: ['web'], outdated: undefined });
    await server.watch('5');
    await stop();
  });

  it('is forbidden in the words of the API server, not empty', async () => {
    const { watch, until, stop } = follow();
    (await server.next()).answer(403, status(403, 'Forbidden', 'cannot watch pods'));
    const check = await server.next();
    assert.deepEqual([check.query.get('limit'), watch.reading], ['1', { kind: 'reading' }]);
    check.answer(403, status(403, 'Forbidden', 'cannot list pods'));
    await until(() => watch.reading.kind === 'forbidden');
    assert.deepEqual(watch.reading, { kind: 'forbidden', message: 'cannot list pods' }, 'as each check says it');
    await stop();
  });

  it('goes on showing what was read while its server does not answer, and says that it may be old', async () => {
    const { watch, until, stop } = follow();
    await server.list('5', pod);
    (await server.watch('5')).cut();
    await until(() => watch.reading.kind === 'read' && watch.reading.outdated !== undefined);
    const { reading } = watch;
    assert.ok(reading.kind === 'read');
    assert.deepEqual(reading.records, ['web']);
    await server.watch('5');
    await until(() => watch.reading.kind === 'read' && watch.reading.outdated === undefined);
    await stop();
  });

  it('is neither shown nor watched any more once a check is refused, and again when it is allowed', async () => {
    const { watch, permissions, until, stop } = follow();
    await server.list('5', pod);
    const stream = await server.watch('5');
    const first = await round(permissions);
    first.check.answer(403, status(403, 'Forbidden', 'withdrawn'));
    await until(() => watch.reading.kind === 'forbidden');
    assert.deepEqual(watch.reading, { kind: 'forbidden', message: 'withdrawn' });
    await stream.closed();
    await first.end();
    const second = await round(permissions);
    second.check.answer(500, status(500, 'InternalError', 'a moment'));
    await second.end();
    assert.equal(watch.reading.kind, 'forbidden', 'an error says nothing about permissions');
    const third = await round(permissions);
    third.check.answer(200, { metadata: { resourceVersion: '5' }, items: [] });
    await server.list('6', pod);
    await until(() => watch.reading.kind === 'read');
    await third.end();
    assert.deepEqual(watch.reading, { kind: 'read', records: ['web'], outdated: undefined });
    await server.watch('6');
    await stop();
  });
});
