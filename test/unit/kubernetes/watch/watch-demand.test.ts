// A collection that is watched only while it has objects or somebody asks.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import type { KubernetesObject, Pod } from '../../../../api/objects/core.ts';
import { PODS } from '../../../../api/resource-types.ts';
import { Informer } from '../../../../kubernetes/watch/informer.ts';
import { WatchDemand } from '../../../../kubernetes/watch/watch-demand.ts';
import { ScriptedApiServer, SILENT, skipBackoff, status } from '../../../support/doubles/scripted-api-server.ts';

const MINUTE_MS = 60_000;

function pod(name: string, resourceVersion: string): KubernetesObject {
  return { metadata: { namespace: 'a', name, resourceVersion } };
}

describe('the demand for a watch', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('is there once somebody asks, at once', async () => {
    const demand = new WatchDemand();
    const waiting = demand.untilAsked(AbortSignal.abort(new Error('not now')));
    assert.equal(await waiting, false);
    const again = demand.untilAsked(new AbortController().signal);
    demand.ask();
    assert.deepEqual([await again, demand.isDemanded, demand.isWatched], [true, true, false]);
    assert.equal(await demand.untilAsked(new AbortController().signal), true, 'and stays');
  });

  it('is not there after 20 to 40 minutes in which nobody asked', async (t) => {
    let random = 0;
    t.mock.method(Math, 'random', () => random); // once: two mocks of one method are not both taken back
    for (const [given, minutes] of [[0, 20], [0.999_999, 40]] as const) {
      random = given;
      const demand = new WatchDemand();
      let asked: boolean | undefined;
      const waiting = demand.untilAsked(new AbortController().signal).then((is) => (asked = is));
      mock.timers.tick((minutes - 1) * MINUTE_MS);
      await Promise.resolve();
      assert.equal(asked, undefined);
      mock.timers.tick(MINUTE_MS);
      assert.equal(await waiting, false);
    }
  });

  it('ends with an empty collection, but not in the minute in which somebody fills it', (t) => {
    let now = 1_000;
    t.mock.method(performance, 'now', () => now);
    const demand = new WatchDemand();
    demand.ask();
    demand.opened();
    assert.equal(demand.isWatched, true);
    now += MINUTE_MS - 1;
    demand.rest();
    assert.deepEqual([demand.isDemanded, demand.isWatched], [true, false]);
    now += 1;
    demand.rest();
    assert.equal(demand.isDemanded, false);
  });
});

describe('a collection that is watched on demand', () => {
  let server: ScriptedApiServer;
  let demand: WatchDemand;
  let informer: Informer<Pod, string>;
  let stop: AbortController;
  let running: Promise<void>;
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    demand = new WatchDemand();
    informer = new Informer({
      client: server.client, type: PODS, selection: {}, logger: SILENT, demand,
      project: ({ metadata: { name = '' } }) => name,
    });
    stop = new AbortController();
    running = informer.run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await server.stop();
  });
  const changed = (): Promise<string> => new Promise((resolve) => {
    informer.onChange((key, before, after) => resolve(`${key} ${before} ${after}`));
  });
  const listedAgain = (): Promise<void> => new Promise((resolve) => informer.onListed(resolve));

  it('is known without a watch while it is empty, and watched from its list once somebody asks', async () => {
    const heard = new Promise<string>((resolve) => informer.onConnection(({ kind }) => resolve(kind)));
    await server.list('10');
    assert.equal(await heard, 'open');
    assert.deepEqual([informer.hasSynced, server.requests], [true, 1]);
    const change = changed();
    demand.ask();
    const watch = await server.watch('10');
    watch.send('ADDED', pod('x', '11'));
    assert.equal(await change, 'a/x undefined x');
    assert.deepEqual([demand.isWatched, server.requests], [true, 2]);
  });

  it('is watched at once where it has objects', async () => {
    await server.list('10', pod('x', '5'));
    await server.watch('10');
    assert.equal(demand.isDemanded, true);
  });

  it('is listed anew where the list has expired when somebody asks', async () => {
    await server.list('10');
    await informer.synced;
    demand.ask();
    (await server.next()).answer(410, status(410, 'Expired', 'too old resource version'));
    const change = changed();
    await server.list('30', pod('x', '25'));
    assert.equal(await change, 'a/x undefined x');
    await server.watch('30');
  });

  it('is listed again now and then, and what is found is watched', async (t) => {
    skipBackoff(t);
    await server.list('10');
    await server.list('20', pod('left by another replica', '15'));
    await server.watch('20');
    assert.equal(informer.get('a/left by another replica'), 'left by another replica');
  });

  it('rests again when a watch of it ends and it is empty', async (t) => {
    await server.list('10', pod('x', '5'));
    const watch = await server.watch('10');
    watch.send('DELETED', pod('x', '12'));
    const since = performance.now();
    t.mock.method(performance, 'now', () => since + 2 * MINUTE_MS);
    const listed = listedAgain();
    watch.end();
    await server.list('13');
    await listed;
    assert.deepEqual([demand.isDemanded, demand.isWatched, informer.size, server.requests], [false, false, 0, 3]);
  });

  it('is watched on where it is not empty when a watch ends', async () => {
    await server.list('10', pod('x', '5'));
    (await server.watch('10')).end();
    await server.watch('10');
  });

  it('says that it cannot be read, and is tried again', async (t) => {
    skipBackoff(t);
    const broken = new Promise<string>((resolve) => informer.onConnection(({ kind }) => resolve(kind)));
    (await server.next()).answer(403, status(403, 'Forbidden', 'not you'));
    assert.equal(await broken, 'broken');
    assert.equal(informer.hasSynced, false);
    await server.list('10');
    await informer.synced;
  });
});
