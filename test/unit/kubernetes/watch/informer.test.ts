import assert from 'node:assert/strict';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, it } from 'node:test';
import * as fc from 'fast-check';
import { pino } from 'pino';
import type { KubernetesObject, Pod } from '../../../../api/objects/core.ts';
import { PODS } from '../../../../api/resource-types.ts';
import { UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import { METRICS } from '../../../../process/metrics.ts';
import { Informer, keyOf, type ConnectionState } from '../../../../kubernetes/watch/informer.ts';
import {
  ScriptedApiServer, SILENT, type Exchange, skipBackoff, status,
} from '../../../support/doubles/scripted-api-server.ts';

interface Record {
  readonly name: string;
  readonly version: string;
  readonly group: string | undefined;
}

/** A pod that is projected away when its label `keep` is `no`, and that is indexed by its label `group`. */
function pod(
  name: string, resourceVersion: string, labels: { readonly group?: string; readonly keep?: 'no' | 'throw' } = {},
): KubernetesObject {
  return { metadata: { namespace: 'a', name, resourceVersion, labels: { ...labels } } };
}

function project({ metadata: { name = '', resourceVersion = '', labels = {} } }: KubernetesObject): Record | undefined {
  if (labels['keep'] === 'throw') throw new Error('this object cannot be read');
  return labels['keep'] === 'no' ? undefined : { name, version: resourceVersion, group: labels['group'] };
}

describe('keyOf', () => {
  it('is namespace and name', () => assert.equal(keyOf({ metadata: { namespace: 'a', name: 'b' } }), 'a/b'));
  it('is the name of a cluster-scoped object', () => assert.equal(keyOf({ metadata: { name: 'b' } }), 'b'));
});

const breaks = async (): Promise<number> =>
  Number(/watch_breaks_total\{resource="pods"\} (\d+)/.exec(await METRICS.metrics())?.[1] ?? 0);

describe('Informer', () => {
  let server: ScriptedApiServer;
  let informer: Informer<Pod, Record>;
  let changes: string[];
  let changed: PassThrough;
  let stop: AbortController;
  let running: Promise<void>;

  const create = (logger = SILENT) => {
    informer = new Informer(
      { client: server.client, type: PODS, selection: {}, logger, project, index: (record) => record.group },
    );
    informer.onChange((key, before, after) => {
      changes.push(`${key} ${before?.version ?? '-'} ${after?.version ?? '-'}`);
      changed.emit('change');
    });
  };
  const start = () => {
    running = informer.run(stop.signal);
  };
  const until = async (change: string) => {
    while (changes.at(-1) !== change) await once(changed, 'change', { signal: AbortSignal.timeout(5_000) });
  };
  const content = () =>
    Object.fromEntries([...informer.keys()].toSorted().map((key) => [key, informer.get(key)?.version]));
  const group = (name: string) => informer.indexed(name).map((record) => record.name).toSorted();

  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    changes = [];
    changed = new PassThrough();
    stop = new AbortController();
    running = Promise.resolve();
    create();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await server.stop();
  });

  it('holds what was listed and follows what is watched', async () => {
    start();
    await server.list('10', pod('x', '5'), pod('y', '6'));
    const watch = await server.watch('10');
    assert.deepEqual(content(), { 'a/x': '5', 'a/y': '6' });
    watch.send('ADDED', pod('z', '11'));
    watch.send('MODIFIED', pod('x', '12'));
    watch.send('DELETED', pod('y', '13'));
    await until('a/y 6 -');
    assert.deepEqual(changes, ['a/x - 5', 'a/y - 6', 'a/z - 11', 'a/x 5 12', 'a/y 6 -']);
    assert.deepEqual(content(), { 'a/x': '12', 'a/z': '11' });
    assert.deepEqual(
      [informer.size, informer.resourceVersion, [...informer.records()].map(({ name }) => name)], [2, '13', ['x', 'z']],
    );
    assert.equal(informer.get('a/y'), undefined);
  });

  for (const how of ['pages', 'a stream']) {
    it(`reads only the fields that are selected, from ${how}`, async () => {
      server.transport.offersStreamingLists = how === 'a stream';
      const seen: unknown[] = [];
      informer = new Informer({
        client: server.client,
        type: PODS, selection: {}, logger: SILENT, fields: { metadata: { labels: { group: true } } },
        project: (object) => {
          seen.push(object);
          return project(object);
        },
      });
      informer.onChange(() => void changed.emit('change'));
      start();
      const full = (name: string, version: string) =>
        ({ ...pod(name, version, { group: 'g', keep: 'no' }), kind: 'Pod', spec: { nodeName: 'n' } });
      const slim = (name: string, version: string) =>
        ({ metadata: { namespace: 'a', name, resourceVersion: version, labels: { group: 'g' } } });
      const request = await server.next();
      if (how === 'a stream') {
        request.open();
        request.send('ADDED', full('x', '5'));
        request.send(
          'BOOKMARK', { metadata: { resourceVersion: '10', annotations: { 'k8s.io/initial-events-end': 'true' } } },
        );
      } else request.answerPage('10', '', full('x', '5'));
      await informer.synced;
      const watch = how === 'a stream' ? request : await server.watch('10');
      watch.send('MODIFIED', full('x', '11'));
      await once(changed, 'change', { signal: AbortSignal.timeout(5_000) });
      assert.deepEqual(seen, [slim('x', '5'), slim('x', '11')]);
      assert.equal(informer.resourceVersion, '11');
    });
  }

  it('has synced when all pages of a list have come, not before', async () => {
    let synced = false;
    void informer.synced.then(() => (synced = true));
    start();
    (await server.next()).answerPage('10', 'more', pod('x', '5'));
    const last = await server.next();
    assert.deepEqual([informer.hasSynced, synced, content()], [false, false, { 'a/x': '5' }]);
    last.answerPage('10', '', pod('y', '6'));
    await informer.synced;
    assert.deepEqual([informer.hasSynced, synced, content()], [true, true, { 'a/x': '5', 'a/y': '6' }]);
  });

  it('has synced when there is nothing', async () => {
    start();
    await server.list('10');
    await informer.synced;
    assert.equal(informer.size, 0);
  });

  it('makes up the deletes and changes that it missed when history is gone', async () => {
    start();
    await server.list('10', pod('same', '5'), pod('changed', '6'), pod('gone', '7'));
    (await server.watch('10')).send('ERROR', status(410, 'Expired', 'too old'));
    await server.list('100', pod('same', '5'), pod('changed', '60'), pod('new', '70'));
    await server.watch('100');
    assert.deepEqual(changes.slice(3), ['a/changed 6 60', 'a/new - 70', 'a/gone 7 -']);
    assert.deepEqual(content(), { 'a/changed': '60', 'a/new': '70', 'a/same': '5' });
  });

  it('does not take what a broken list brought for what exists', async () => {
    start();
    (await server.next()).answerPage('10', 'more', pod('x', '5'), pod('short-lived', '6'));
    (await server.next()).answer(410, status(410, 'Expired', 'too old'));
    await server.list('20', pod('x', '5'));
    await server.watch('20');
    assert.deepEqual(changes, ['a/x - 5', 'a/short-lived - 6', 'a/short-lived 6 -']);
  });

  it('concludes no delete from a list that broke', async () => {
    start();
    await server.list('10', pod('x', '5'), pod('y', '6'));
    (await server.watch('10')).send('ERROR', status(410, 'Expired', 'too old'));
    (await server.next()).answerPage('20', 'more', pod('x', '5'));
    (await server.next()).answer(410, status(410, 'Expired', 'too old'));
    const fresh = await server.next();
    assert.deepEqual(content(), { 'a/x': '5', 'a/y': '6' });
    fresh.answerPage('30', '', pod('x', '5'), pod('y', '6'));
    await server.watch('30');
    assert.deepEqual(changes, ['a/x - 5', 'a/y - 6']);
  });

  it('takes a lower version from a list: the cluster was restored from a backup', async () => {
    start();
    await server.list('100', pod('x', '90'));
    (await server.watch('100')).send('ERROR', status(410, 'Expired', 'too old'));
    await server.list('50', pod('x', '40'));
    await server.watch('50');
    assert.deepEqual(content(), { 'a/x': '40' });
  });

  it('tells each change once, and nothing old, when events come twice or again', async () => {
    start();
    await server.list('10', pod('x', '9'));
    const watch = await server.watch('10');
    watch.send('MODIFIED', pod('x', '11'), pod('x', '11'), pod('x', '9'), pod('x', '12'));
    watch.send('DELETED', pod('x', '11'));
    watch.send('DELETED', pod('x', '13'), pod('x', '13'));
    watch.send('MODIFIED', pod('x', '12'));
    watch.send('ADDED', pod('end', '14'));
    await until('a/end - 14');
    assert.deepEqual(changes, ['a/x - 9', 'a/x 9 11', 'a/x 11 12', 'a/x 12 -', 'a/end - 14']);
  });

  it('tells of a delete of what it never had to nobody', async () => {
    start();
    await server.list('10');
    const watch = await server.watch('10');
    watch.send('DELETED', pod('unknown', '11'));
    watch.send('ADDED', pod('x', '12'));
    await until('a/x - 12');
    assert.deepEqual(changes, ['a/x - 12']);
  });

  it('passes over objects that are projected away, and removes those that come to be', async () => {
    start();
    await server.list('10', pod('x', '5'), pod('never', '6', { keep: 'no' }));
    const watch = await server.watch('10');
    watch.send('MODIFIED', pod('x', '11', { keep: 'no' }), pod('never', '12', { keep: 'no' }), pod('x', '13'));
    watch.send('DELETED', pod('never', '14', { keep: 'no' }));
    watch.send('ADDED', pod('end', '15'));
    await until('a/end - 15');
    assert.deepEqual(changes, ['a/x - 5', 'a/x 5 -', 'a/x - 13', 'a/end - 15']);
  });

  it('keeps the index right as records come, move, leave and are projected away', async () => {
    start();
    await server.list('10', pod('x', '1', { group: 'g' }), pod('y', '2', { group: 'g' }), pod('none', '3'));
    const watch = await server.watch('10');
    assert.deepEqual([group('g'), group('h'), group('undefined')], [['x', 'y'], [], []]);
    watch.send('MODIFIED', pod('x', '11', { group: 'h' }), pod('none', '12', { group: 'h' }));
    await until('a/none 3 12');
    assert.deepEqual([group('g'), group('h')], [['y'], ['none', 'x']]);
    watch.send('MODIFIED', pod('x', '13'), pod('y', '14', { group: 'g', keep: 'no' }));
    watch.send('DELETED', pod('none', '15', { group: 'h' }));
    await until('a/none 12 -');
    assert.deepEqual([group('g'), group('h')], [[], []]);
  });

  it('tells a listener that comes late of everything there is', async () => {
    start();
    await server.list('10', pod('x', '5'), pod('y', '6'));
    await informer.synced;
    const seen: string[] = [];
    informer.onChange((key, before, after) => seen.push(`${key} ${before?.version ?? '-'} ${after?.version ?? '-'}`));
    assert.deepEqual(seen, ['a/x - 5', 'a/y - 6']);
    (await server.watch('10')).send('MODIFIED', pod('x', '11'));
    await until('a/x 5 11');
    assert.deepEqual(seen.slice(2), ['a/x 5 11']);
  });

  it('no longer makes anyone wait for its first list when it is stopped before', async () => {
    start();
    await server.next();
    stop.abort();
    await informer.synced;
    assert.equal(informer.hasSynced, false);
  });

  it('finds records by several indexes, and says so when there is none of a name', async () => {
    informer = new Informer({
      client: server.client, type: PODS, selection: {}, logger: SILENT, project,
      indexes: { group: (record) => record.group, version: (record) => record.version },
    });
    start();
    await server.list('10', pod('x', '5', { group: 'g' }), pod('y', '6', { group: 'g' }));
    await informer.synced;
    assert.deepEqual(
      [informer.by('group', 'g').length, informer.by('version', '6').map(({ name }) => name), informer.indexed('g')],
      [2, ['y'], []],
    );
    assert.throws(() => informer.by('other', 'g'), RangeError);
  });

  it('shows a listener the new state', async () => {
    const seen: unknown[] = [];
    informer.onChange(
      (key, before, after) => seen.push([informer.get(key) === after, group('g').includes('x'), before?.version]),
    );
    start();
    await server.list('10', pod('x', '1', { group: 'g' }));
    (await server.watch('10')).send('DELETED', pod('x', '11'));
    await until('a/x 1 -');
    assert.deepEqual(seen, [[true, true, undefined], [true, false, '1']]);
  });

  describe('code that throws', () => {
    let logged: PassThrough;
    const nextLog = async () => {
      const [line] = (await once(logged, 'data', { signal: AbortSignal.timeout(5_000) })) as [Buffer];
      return JSON.parse(line.toString()) as { resource: string; error: string };
    };
    beforeEach(() => {
      logged = new PassThrough();
      create(pino({ level: 'error', base: null }, logged));
    });

    it('in a listener is logged, and neither stops the informer nor the other listeners', async () => {
      informer = new Informer(
        { client: server.client, type: PODS, selection: {}, logger: pino({ level: 'error' }, logged), project },
      );
      informer.onChange(() => {
        throw new Error('listener is broken');
      });
      informer.onChange((key, before, after) => {
        changes.push(`${key} ${before?.version ?? '-'} ${after?.version ?? '-'}`);
        changed.emit('change');
      });
      const log = nextLog();
      start();
      await server.list('10', pod('x', '5'));
      assert.deepEqual(await log.then(({ resource, error }) => [resource, error]), ['pods', 'listener is broken']);
      (await server.watch('10')).send('MODIFIED', pod('x', '11'));
      await until('a/x 5 11');
      assert.deepEqual(changes, ['a/x - 5', 'a/x 5 11']);
      assert.equal(server.requests, 2);
    });

    it('in a listener for the connection is logged, also while the watch is broken', async () => {
      informer.onConnection(() => {
        throw new Error('listener is broken');
      });
      const log = nextLog();
      start();
      (await server.next()).answer(500, '');
      await log;
      await server.list('10', pod('x', '5'));
      const watch = await server.watch('10');
      watch.send('MODIFIED', pod('x', '11'));
      await until('a/x 5 11');
    });

    it('in the projection is logged, and the record before stays: an object that cannot be read is not a deleted one',
      async () => {
      start();
      await server.list('10', pod('x', '5'), pod('y', '6'));
      const watch = await server.watch('10');
      const log = nextLog();
      watch.send('MODIFIED', pod('x', '11', { keep: 'throw' }), pod('y', '12'));
      assert.equal((await log).error, 'this object cannot be read');
      await until('a/y 6 12');
      assert.deepEqual(content(), { 'a/x': '5', 'a/y': '12' });
      watch.send('ERROR', status(410, 'Expired', 'too old'));
      await server.list('20', pod('x', '11', { keep: 'throw' }), pod('y', '12'));
      await server.watch('20');
      assert.deepEqual(content(), { 'a/x': '5', 'a/y': '12' });
    });
  });

  it('says whether the watch is open, and why not', async () => {
    const states: ConnectionState[] = [];
    const news = new PassThrough();
    informer.onConnection((state) => {
      states.push(state);
      news.emit('state');
    });
    assert.deepEqual(informer.connection, { kind: 'connecting' });
    const opened = once(news, 'state');
    start();
    await server.list('10');
    const watch = await server.watch('10');
    await opened;
    assert.deepEqual(informer.connection, { kind: 'open' });
    const [broken, before] = [once(news, 'state'), await breaks()];
    watch.cut();
    await broken;
    assert.equal(await breaks(), before + 1);
    assert(informer.connection.kind === 'broken');
    const reopened = once(news, 'state');
    await server.watch('10');
    await reopened;
    assert.deepEqual(states.map(({ kind }) => kind), ['open', 'broken', 'open']);
  });

  it('reports an API server that cannot be reached', async () => {
    const broken = new Promise<ConnectionState>((resolve) => informer.onConnection(resolve));
    const before = await breaks();
    start();
    (await server.next()).cut();
    (await server.next()).cut(); // a read is tried twice
    const state = await broken;
    assert.equal(await breaks(), before, 'a target that is down would raise the alert about watches that break');
    assert(state.kind === 'broken' && state.error instanceof UnreachableError);
  });

  it('ends equal to the cluster, with each key’s versions in order, whatever happens to the stream', async (t) => {
    skipBackoff(t);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        changes = [];
        create();
        const ended = new AbortController();
        const run = informer.run(ended.signal);
        const cluster = await Cluster.serve(server);
        for (const each of steps) await cluster.take(each);
        cluster.write('end', 'g');
        await until(`a/end - ${cluster.version}`);
        ended.abort();
        await Promise.all([run, cluster.watch.closed()]);
        assert.deepEqual(content(), cluster.content());
        for (const name of ['g', 'h']) assert.deepEqual(group(name), cluster.group(name));
        assertInOrder(changes);
      }),
      { numRuns: 40 },
    );
  });
});

/** What may happen: a write, events that come again, or an end of the stream of one kind or another. */
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const), name: fc.constantFrom('x', 'y', 'z'),
      group: fc.constantFrom('g', 'h', undefined),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('replay' as const), back: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary:
      fc.record({ kind: fc.constantFrom('cut' as const, 'end' as const, 'half line' as const, 'expire' as const) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/**
 * A collection whose one writer makes versions 11, 12, … and that is served by script. A write without a group deletes.
 */
class Cluster {
  version = 10;
  watch: Exchange;
  readonly #server: ScriptedApiServer;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #history: (readonly [type: string, object: KubernetesObject])[] = [];

  private constructor(server: ScriptedApiServer, watch: Exchange) {
    this.#server = server;
    this.watch = watch;
  }

  static async serve(server: ScriptedApiServer): Promise<Cluster> {
    await server.list('10');
    return new Cluster(server, await server.watch('10'));
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'write':
        return this.write(step.name, step.group);
      case 'replay':
        for (const [type, object] of this.#history.slice(-step.back)) this.watch.send(type, object);
        return undefined;
      case 'expire':
        this.watch.send('ERROR', status(410, 'Expired', 'too old'));
        await this.#server.list(String(this.version), ...this.#objects.values());
        return this.#resume();
      case 'end':
        this.watch.end();
        return this.#resume();
      case 'half line':
        this.watch.write('{"type":"DELETED","object":{"metadata":{"namespace":"a","name":"x"');
        this.watch.cut();
        return this.#resume();
      case 'cut':
        this.watch.cut();
        return this.#resume();
    }
  }

  write(name: string, group: string | undefined): void {
    const existed = this.#objects.has(name);
    if (group === undefined && !existed) return;
    this.version += 1;
    const object = pod(name, String(this.version), group === undefined ? {} : { group });
    const type = group === undefined ? 'DELETED' : existed ? 'MODIFIED' : 'ADDED';
    if (group === undefined) this.#objects.delete(name);
    else this.#objects.set(name, object);
    this.#history.push([type, object]);
    this.watch.send(type, object);
  }

  content(): object {
    return Object.fromEntries(
      [...this.#objects.values()].map((object) => [keyOf(object), object.metadata.resourceVersion]),
    );
  }

  group(name: string): unknown[] {
    return [
      ...this.#objects,
    ].filter(([, { metadata }]) => metadata.labels?.['group'] === name).map(([key]) => key).toSorted();
  }

  async #resume(): Promise<void> {
    this.watch = await this.#server.next();
    assert.equal(this.watch.query.get('watch'), 'true');
    this.watch.open();
    const from = Number(this.watch.query.get('resourceVersion'));
    for (const [type, object] of this.#history) {
      if (Number(object.metadata.resourceVersion) > from) this.watch.send(type, object);
    }
  }
}

function assertInOrder(changes: readonly string[]): void {
  const last = new Map<string, string>();
  for (const [key = '', before = '', after = ''] of changes.map((change) => change.split(' '))) {
    assert.equal(before, last.get(key) ?? '-', 'a listener is told from where it knows');
    if (before !== '-' && after !== '-') assert(Number(after) > Number(before), 'no step back');
    last.set(key, after);
  }
}
