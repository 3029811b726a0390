// Copies of Secrets in a target, against a server whose answers are the test's own.
import assert from 'node:assert/strict';
import { once, EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../../../api/objects/keys.ts';
import type { SecretCopySpec } from '../../../../api/kinds/secret-copy.ts';
import { secretKind } from '../../../../delegate-controller/copies/secret-copy-report.ts';
import { SecretCopies } from '../../../../delegate-controller/copies/secret-copies.ts';
import type { CopyObject, SourceObject } from '../../../../delegate-controller/copies/follow-plan.ts';
import { UnreadableCopies } from '../../../../delegate-controller/copies/unreadable-copies.ts';
import { ScriptedApiServer, SILENT, skipBackoff, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

const CLUSTER = 'cluster-1';
const REPORTS = '/apis/isthmus.dev/v1alpha1/secretcopies';
const SECRET = '/api/v1/namespaces/a/secrets';
const object: KubernetesObject = {
  metadata: { namespace: 'a', name: 'x', uid: 'p', resourceVersion: '5' }, data: { key: 'YQ==' }, type: 'Opaque',
} as KubernetesObject;
const source: SourceObject = {
  key: 'a/x', uid: 'p', resourceVersion: '5', digest: 'd', selector: {}, refersTo: [], rejection: undefined,
  markings: ['rewritten'],
};
const copy: CopyObject = { key: 'a/x', uid: 's', parentUid: 'p', digest: 'other' };
const report = (spec: Partial<SecretCopySpec> = {}): KubernetesObject =>
  ({
    metadata:
      { namespace: 'a', name: 'x', uid: 'r', resourceVersion: '9', labels: { [PARENT_CLUSTER_LABEL]: CLUSTER } },
    spec: { secretUID: 's', secretVersion: '7', parentUID: 'p', parentVersion: '5', intact: true, ...spec },
  }) as KubernetesObject;

let server: ScriptedApiServer;
let stop: AbortController;
const place = () =>
  ({ client: server.client, kind: secretKind(), namespace: undefined, sourceId: CLUSTER, logger: SILENT });
const bodyOf = (exchange: Exchange): KubernetesObject => JSON.parse(exchange.body) as KubernetesObject;

const withServer = (): void => {
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await server.stop();
  });
};

interface Synced {
  readonly copies: UnreadableCopies;
  readonly changed: () => Promise<unknown>;
}

/** Reported copies that have listed these reports; `changed` resolves with the next change. */
async function listed(...reports: readonly KubernetesObject[]): Promise<Synced> {
  const copies = new UnreadableCopies(place());
  const heard = new EventEmitter();
  copies.onChange((key) => heard.emit('changed', key));
  const known = new Promise<void>((resolve) => copies.onListed(resolve));
  copies.run(stop.signal);
  const list = await server.list('8', ...reports);
  assert.deepEqual([list.path, list.query.get('labelSelector')], [REPORTS, `${PARENT_CLUSTER_LABEL}=${CLUSTER}`]);
  await known;
  return { copies, changed: () => once(heard, 'changed') };
}

/** The same, watched because there are some. */
async function synced(...reports: readonly KubernetesObject[]): Promise<Synced & { readonly watch: Exchange }> {
  return { ...await listed(...reports), watch: await server.watch('8') };
}

/** The next two requests: a watch, which is opened, and another one. */
async function watchBeside(): Promise<{ readonly watch: Exchange; readonly request: Exchange }> {
  const both = [await server.next(), await server.next()];
  const [watch, request] = both[0]?.method === 'GET' ? both : both.toReversed();
  assert(watch !== undefined && request !== undefined);
  assert.deepEqual([watch.query.get('watch'), watch.query.get('resourceVersion')], ['true', '8']);
  watch.open();
  return { watch, request };
}

describe('copies that are reported', () => {
  withServer();
  it('are what their source says until the target says otherwise', async () => {
    const { copies, watch, changed } = await synced(report());
    assert.equal(copies.get('a/x', source)?.digest, 'd');
    const change = changed();
    watch.send('MODIFIED', {
      ...report({ intact: false, secretVersion: '10' }), metadata: { ...report().metadata, resourceVersion: '10' },
    });
    await change;
    assert.equal(copies.get('a/x', source)?.digest, 'version 10');
  });

  it('are made without a look, and are known from the answer', async () => {
    const { copies } = await listed();
    const written = copies.write({ object, copy: undefined }, stop.signal);
    const { request } = await watchBeside();
    assert.deepEqual([request.method, request.path], ['POST', SECRET]);
    request.answer(
      201, { ...bodyOf(request), metadata: { ...bodyOf(request).metadata, uid: 's', resourceVersion: '7' } },
    );
    assert.deepEqual(await written, { kind: 'stored', digest: 'version 7' });
    assert.deepEqual(copies.get('a/x', source), { key: 'a/x', uid: 's', parentUid: 'p', digest: 'd' });
    assert.deepEqual([...copies.keys()], ['a/x']);
    copies.forget('a/x');
    assert.equal(copies.get('a/x', source), undefined);
  });

  it('are replaced as a whole, and no other object of that name is', async () => {
    const { copies } = await synced(report({ intact: false }));
    const written = copies.write({ object, copy }, stop.signal);
    const request = await server.next();
    assert.deepEqual([request.method, request.path, bodyOf(request).metadata.uid], ['PUT', `${SECRET}/x`, 's']);
    request.answer(200, { metadata: { uid: 's', resourceVersion: '11' } });
    assert.deepEqual(await written, { kind: 'stored', digest: 'version 11' });
    assert.equal(copies.get('a/x', source)?.digest, 'd', 'what was written counts until the next report');
  });

  it('are somebody else\'s where a create meets an object twice and no report comes', async () => {
    const { copies, changed } = await listed();
    const exists = { kind: 'Status', reason: 'AlreadyExists', message: 'it exists', code: 409 };
    const write = async () => (await copies.write({ object, copy: undefined }, stop.signal)).kind;
    const meet = async () => {
      const written = write();
      (await server.next()).answer(409, exists);
      return written;
    };
    const first = write();
    const { watch, request } = await watchBeside();
    request.answer(409, exists);
    assert.deepEqual([await first, await meet(), await meet()], ['stale', 'foreign', 'foreign']);
    const change = changed();
    watch.send('ADDED', report());
    await change;
    assert.equal(copies.get('a/x', source)?.digest, 'd', 'unless a report says that it is ours');
  });

  it('are not called somebody else\'s before the reports are watched', async () => {
    const { copies } = await listed();
    const meet = async (request: Promise<Exchange>, written: Promise<{ readonly kind: string }>) => {
      (await request).answer(409, { kind: 'Status', reason: 'AlreadyExists', message: 'it exists', code: 409 });
      return (await written).kind;
    };
    const first = copies.write({ object, copy: undefined }, stop.signal);
    const both = [await server.next(), await server.next()];
    const post = both.find(({ method }) => method === 'POST');
    assert(post !== undefined, 'the watch is not answered');
    assert.equal(await meet(Promise.resolve(post), first), 'stale');
    assert.equal(await meet(server.next(), copies.write({ object, copy: undefined }, stop.signal)), 'stale');
  });

  it('that went while nobody reported are made anew', async () => {
    const { copies, watch, changed } = await synced(report());
    const change = changed();
    watch.send('DELETED', report());
    await change;
    assert.equal(copies.get('a/x', source), undefined);
  });
});

/** What says that a Secret is a copy of this source. */
const ours = {
  labels: { [PARENT_CLUSTER_LABEL]: CLUSTER, 'multicluster.admiralty.io/parent-uid': 'p' },
  annotations: { 'multicluster.admiralty.io/parent-name': 'x', 'multicluster.admiralty.io/parent-namespace': 'a' },
};

/** Copies in a target without SecretCopies; `listed` resolves when the first one is read. */
async function unreported(): Promise<{ readonly copies: SecretCopies; readonly listed: Promise<unknown> }> {
  const copies = new SecretCopies(place());
  const heard = new EventEmitter();
  copies.onChange((key) => heard.emit('changed', key));
  copies.run(stop.signal);
  (await server.next()).answer(404, { kind: 'Status', reason: 'NotFound', message: 'no such kind', code: 404 });
  return { copies, listed: once(heard, 'changed') };
}

describe('copies of Secrets in a target that reports nothing', () => {
  withServer();
  it('are read, as long as it does not', async () => {
    const { copies, listed } = await unreported();
    assert.equal(copies.hasSynced, false);
    const secrets = await server.next();
    assert.equal(secrets.path, '/api/v1/secrets');
    const metadata = { namespace: 'a', name: 'x', uid: 's', resourceVersion: '7', ...ours };
    secrets.answer(200, { metadata: { resourceVersion: '8' }, items: [{ metadata }] });
    await listed;
    assert.equal(copies.get('a/x', source)?.uid, 's');
    const written = copies.write({ object, copy }, stop.signal);
    for (let patched = false; !patched;) {
      const request = await server.next();
      if (request.query.get('watch') === 'true') request.open();
      else if (request.method === 'GET') request.answer(200, { metadata });
      else {
        assert.equal(request.method, 'PATCH');
        request.answer(200, { metadata });
        patched = true;
      }
    }
    assert.equal((await written).kind, 'stored');
  });

  it('are watched as reports once it does, though none is written yet', async (t) => {
    skipBackoff(t);
    const { listed } = await unreported();
    const metadata = { namespace: 'a', name: 'x', uid: 's', resourceVersion: '7', ...ours };
    for (let isWatched = false; !isWatched;) {
      const request = await server.next();
      const isReports = request.path === REPORTS;
      isWatched = isReports && request.query.get('watch') === 'true';
      if (request.query.get('watch') === 'true') request.open();
      else if (isReports) {
        await listed;
        request.answer(200, { metadata: { resourceVersion: '8' }, items: [] });
      } else request.answer(200, { metadata: { resourceVersion: '8' }, items: [{ metadata }] });
    }
  });
});
