import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Pod } from '../../../api/objects/core.ts';
import { PODS } from '../../../api/resource-types.ts';
import { LightApiServer } from '../../../benchmarks/simulation/light-api-server.ts';
import { ClusterClient } from '../../../kubernetes/client/cluster-client.ts';
import { ApiError, isConflict, isNotFound } from '../../../kubernetes/flow/api-error.ts';
import { Transport } from '../../../kubernetes/http/transport.ts';
import { Informer } from '../../../kubernetes/watch/informer.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { SILENT } from '../../support/doubles/scripted-api-server.ts';

const AT = { namespace: 'a', name: 'b' };
const POD = { metadata: { ...AT, labels: { app: 'x' }, finalizers: ['example.com/held'] }, spec: { containers: [] } };

describe('LightApiServer', () => {
  let server: LightApiServer;
  let client: ClusterClient;

  before(async () => {
    const authority = await createAuthority('simulation', 1, new Date());
    const own = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    server = await LightApiServer.start({ certificate: own.certificate, key: own.key });
    const certificateAuthority = authority.keyPair.certificate;
    const connection = { server: new URL(server.url), certificateAuthority, insecure: false } as const;
    client = new ClusterClient(new Transport({ ...connection, credentials: { kind: 'none' } }, 'isthmus-test/1'));
  });
  after(async () => {
    await client.transport.close();
    server.stop();
  });

  it('stores what is written, and tells watches of it', async () => {
    const stop = new AbortController();
    const seen: (string | undefined)[] = [];
    const pods = new Informer<Pod, Pod>({
      client, logger: SILENT, type: PODS, selection: { namespace: 'a', labelSelector: 'app=x' }, project: (pod) => pod,
    });
    const ended = new Promise<void>((resolve) => pods.onChange((_key, _before, pod) => {
      seen.push(pod === undefined ? 'gone' : (pod.metadata.deletionTimestamp && 'deleting') ?? pod.spec.nodeName);
      if (pod === undefined) resolve();
    }));
    void pods.run(stop.signal);
    await pods.synced;
    const created = await client.create<Pod>(PODS, POD);
    await assert.rejects(client.create(PODS, POD), (error) => error instanceof ApiError && error.status === 409);
    await client.post(PODS, { ...AT, subresource: 'binding' }, { metadata: AT, target: { name: 'node-1' } });
    const stale = { metadata: { resourceVersion: created.metadata.resourceVersion, labels: { late: 'yes' } } };
    await assert.rejects(client.patch(PODS, AT, { patchType: 'merge', patch: stale }), isConflict);
    await client.delete(PODS, AT);
    await client.patch(PODS, AT, { patchType: 'merge', patch: { metadata: { finalizers: null } } });
    await ended;
    assert.deepEqual(seen, [undefined, 'node-1', 'deleting', 'gone']);
    await assert.rejects(client.get(PODS, AT), isNotFound);
    stop.abort();
  });

  it('ends a watch whose time is up without an error, while events go on', async () => {
    const query = { watch: 'true', resourceVersion: String(server.store.version), timeoutSeconds: '0.02' };
    const happen = (name: string): unknown =>
      server.store.create('pods', { metadata: { namespace: 'busy', name }, spec: {} });
    happen('before'); // its time may be up before the test gets to the next one
    const { body } = await client.transport.stream(
      { method: 'GET', path: '/api/v1/pods', query }, new AbortController().signal,
    );
    const read = text(body);
    for (let index = 0; !body.destroyed; index += 1) {
      happen(`pod-${index}`);
      await nextTurn();
    }
    assert.match(await read, /before/);
  });

  it('lists what a selector selects', async () => {
    for (const name of ['one', 'two']) {
      server.store.create('pods', { metadata: { namespace: 'a', name }, spec: { schedulerName: name } });
    }
    const selected = await client.list(PODS, { fieldSelector: 'spec.schedulerName=two' });
    assert.deepEqual(selected.map(({ metadata }) => metadata.name), ['two']);
    assert.equal((await client.list(PODS, { namespace: 'elsewhere' })).length, 0);
  });

  it('answers nothing while it is told to be silent', async () => {
    server.fault = () => new Promise(() => undefined);
    await assert.rejects(client.withoutRateLimit(50).get(PODS, AT), /50 ms|within/);
    server.fault = () => undefined;
    assert.equal((await client.list(PODS, { namespace: 'elsewhere' })).length, 0);
  });
});
