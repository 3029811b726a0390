// A member that follows the broker, over real TLS; its own API server answers every list with nothing and takes every
// write.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { pino } from 'pino';
import { followBroker } from '../../gateway/broker/broker-member.ts';
import { startBroker } from '../../gateway/broker/broker-server.ts';
import { toGatewaySecret, type MemberCredentials } from '../../gateway/broker/gateway-secret.ts';
import { toMemberObjects, withSerial } from '../../gateway/broker/broker-protocol.ts';
import { ClusterClient } from '../../kubernetes/client/cluster-client.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { identityOf, makeAuthority, until } from '../support/doubles/gateway-world.ts';
import { MemoryMemberStore } from '../support/doubles/memory-member-store.ts';
import { SILENT } from '../support/doubles/scripted-api-server.ts';

/** Counts how often the broker has looked up who asks. */
class CountedStore extends MemoryMemberStore {
  requests = 0;
  override async cluster(name: string) {
    this.requests += 1;
    return super.cluster(name);
  }
}

async function startMemberWorld(t: TestContext) {
  const store = new CountedStore();
  const authority = await makeAuthority();
  const serving = await authority.issue({ commonName: 'broker', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
  const broker = await startBroker({
    host: '127.0.0.1', port: 0, url: 'https://broker.test', authority, serving, tokenKey: '', store,
    now: () => new Date(), logger: SILENT,
  });
  t.after(() => broker.close());
  const held: HeldSecret = { data: {}, patches: [], reads: 0 };
  const written: string[] = [];
  const api = createServer((request, response) => {
    if (request.url?.includes('/secrets/') === true) {
      void answerOfSecret(request, held).then((answer) => response.end(answer));
    } else if (request.method === 'GET') {
      response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: [] }));
    } else void text(request).then((body) => {
      written.push(`${request.url?.split('/').at(-1)} ${body}`);
      return response.end(body);
    });
  });
  api.listen(0, '127.0.0.1');
  await once(api, 'listening');
  t.after(() => api.close().closeAllConnections());
  const server = new URL(`http://127.0.0.1:${(api.address() as AddressInfo).port}`);
  const client =
    new ClusterClient(new Transport({ server, insecure: false, credentials: { kind: 'none' } }, 'isthmus-test/1'));
  t.after(() => client.transport.close());
  const certify = async (): Promise<MemberCredentials> => {
    const identity = await identityOf(authority, 'member');
    const { serialNumber: serial, validTo } = new X509Certificate(identity.certificate);
    const before = store.clusters.get('member')
      ?? toMemberObjects({ clusterId: 'member', addresses: [], clusterCIDR: [], serviceCIDR: [] }, {}).cluster;
    await store.saveCluster(withSerial(before, { serial, notAfterMs: Date.parse(validTo) }, Date.now()));
    return {
      clusterId: 'member', ...identity, brokerUrl: `https://127.0.0.1:${broker.port}`, addresses: [],
      notBeforeMs: Date.now(), notAfterMs: Date.parse(validTo),
    };
  };
  return { store, broker, client, certify, held, written };
}

/** The Secret of the member, and the patches of it. */
interface HeldSecret {
  data: Readonly<Record<string, string>>;
  readonly patches: string[];
  /** How often it was read. */
  reads: number;
}

async function answerOfSecret(request: IncomingMessage, held: HeldSecret): Promise<string> {
  const { data, patches } = held;
  if (request.method === 'PATCH') patches.push(await text(request));
  else held.reads += 1;
  return JSON.stringify({ metadata: { name: 'isthmus-gateway', resourceVersion: '7' }, data });
}

function recordingLogger() {
  const lines: string[] = [];
  return { lines, logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }) };
}

describe('a member that follows the broker', () => {
  it('goes over to a renewed certificate without calling that a failure', async (t) => {
    const { store, client, certify } = await startMemberWorld(t);
    const { lines, logger } = recordingLogger();
    const controller = { driver: {}, credentials: await certify() };
    const stop = new AbortController();
    const following = followBroker({ client, namespace: 'isthmus-system', controller, logger }, stop.signal);
    await until(() => store.requests === 1, 'the first stream');
    controller.credentials = await certify();
    await until(() => store.requests === 2, 'the stream with the renewed certificate');
    stop.abort();
    await following;
    assert.deepEqual(lines, []);
  });

  it('notes which keys of its pod plane the broker tells of', async (t) => {
    const { store, client, certify, written } = await startMemberWorld(t);
    const controller = { driver: {}, credentials: await certify() };
    await store.saveEndpoint({
      metadata: { name: 'member-wireguard' },
      spec: { clusterID: 'member', backend: 'wireguard', publicKeys: ['a', 'b'] },
    });
    const stop = new AbortController();
    const following = followBroker({ client, namespace: 'isthmus-system', controller, logger: SILENT }, stop.signal);
    const noted = '"annotations":{"isthmus.dev/announced-keys":"a b"}';
    await until(() => written.some((one) => one.startsWith('member-wireguard') && one.includes(noted)), 'the keys');
    stop.abort();
    await following;
  });

  for (const [what, id, patches] of [['is still there', 'member', 1], ['was replaced', 'other', 0]] as const) {
    it(`writes a renewed certificate over the one that it renews, if that ${what}`, async (t) => {
      const { store, client, certify, held } = await startMemberWorld(t);
      const due = { ...await certify(), notBeforeMs: 0, notAfterMs: Date.now() + 60_000 };
      const other = id === 'member' ? due : { ...due, ...await identityOf(await makeAuthority(), id), clusterId: id };
      held.data = toGatewaySecret('isthmus-system', other).data ?? {};
      const stop = new AbortController();
      const controller = { driver: {}, credentials: due };
      const followed = { client, namespace: 'isthmus-system', controller, logger: SILENT };
      const following = followBroker(followed, stop.signal);
      await until(() => held.reads >= 2 && (patches === 0 || held.patches.length > 0), 'two attempts to renew');
      stop.abort();
      await following;
      assert.equal(Math.min(1, held.patches.length), patches);
      if (patches === 0) assert.ok(store.requests <= 1, 'the broker is asked for no certificate that nobody takes');
      for (const patch of held.patches) assert.match(patch, /"resourceVersion":"7"/);
    });
  }

  it('renews the certificate alone: addresses that were changed since it has read them stay', async (t) => {
    const { client, certify, held } = await startMemberWorld(t);
    const due = { ...await certify(), notBeforeMs: 0, notAfterMs: Date.now() + 60_000 };
    const changed = toGatewaySecret('isthmus-system', { ...due, addresses: ['gateway.example:443'] }).data ?? {};
    held.data = changed;
    const stop = new AbortController();
    const controller = { driver: {}, credentials: due };
    const following =
      followBroker({ client, namespace: 'isthmus-system', controller, logger: SILENT }, stop.signal);
    await until(() => held.patches.length > 0, 'the renewed certificate');
    stop.abort();
    await following;
    const { data } = JSON.parse(held.patches[0] ?? '') as Pick<HeldSecret, 'data'>;
    assert.equal(data['addresses'], changed['addresses']);
    assert.notEqual(data['tls.crt'], changed['tls.crt']);
  });

  it('stops at any moment, in the middle of a copy too', async (t) => {
    const { store, client, certify } = await startMemberWorld(t);
    const controller = { driver: {}, credentials: await certify() };
    for (let afterMs = 0; afterMs < 40; afterMs += 2) {
      const stop = new AbortController();
      const before = store.requests;
      const following = followBroker({ client, namespace: 'isthmus-system', controller, logger: SILENT }, stop.signal);
      await until(() => store.requests > before, 'the stream');
      await new Promise((resolve) => setTimeout(resolve, afterMs)); // no event tells where in the copy it is
      stop.abort();
      await following;
    }
  });

  it('says so when the broker goes away', async (t) => {
    const { store, broker, client, certify } = await startMemberWorld(t);
    const { lines, logger } = recordingLogger();
    const stop = new AbortController();
    const following = followBroker(
      { client, namespace: 'isthmus-system', controller: { driver: {}, credentials: await certify() }, logger },
      stop.signal,
    );
    await until(() => store.requests === 1, 'the stream');
    await broker.close();
    await until(() => lines.length > 0, 'the warning');
    stop.abort();
    await following;
    assert.match(lines[0] ?? '', /the broker cannot be used; continuing with the local copy/);
  });
});
