// What only an administrator's kubeconfig may use, on the wire: a proxy, and a user name with a password.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readKubeconfig, type ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import type { TransportTimings } from '../../../../kubernetes/http/cluster-access.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import { openExchange } from '../../../../kubernetes/stream/stream-exchange.ts';
import { ScriptedApiServer, type Exchange } from '../../../support/doubles/scripted-api-server.ts';

let server: ScriptedApiServer;
let proxy: Server;
let tunnels: string[];
const sockets = new Set<Socket>();
const transports: Transport[] = [];

const proxyUrl = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

/** What the kubeconfig of an administrator leads to, at the test's server instead of an https one. */
async function connectionOf(cluster: object, user: object): Promise<ClusterConnection> {
  const text = JSON.stringify({
    'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://cluster.example', ...cluster } }], users: [{ name: 'u', user }],
  });
  return { ...(await readKubeconfig({ text, author: 'administrator' })), server: server.url };
}

function open(connection: ClusterConnection, timings: Partial<TransportTimings> = {}): Transport {
  const transport = new Transport(connection, 'isthmus-test/1', timings);
  transports.push(transport);
  return transport;
}

describe("an administrator's kubeconfig", () => {
  beforeEach(async () => {
    server = await ScriptedApiServer.start();
    tunnels = [];
    proxy = createServer().on('connect', (request, client) => {
      tunnels.push(request.url ?? '');
      const [host = '', port] = (request.url ?? '').split(':');
      const upstream = connect(Number(port), host, () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
      sockets.add(upstream);
      for (const side of [upstream, client]) side.on('error', () => undefined);
      upstream.pipe(client).pipe(upstream);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterEach(async () => {
    await Promise.all(transports.splice(0).map((transport) => transport.close()));
    for (const socket of sockets) socket.destroy();
    proxy.close();
    proxy.closeAllConnections();
    await server.stop();
  });

  it('that impersonates does so in calls, watches and streams of pods', async () => {
    const user = {
      token: 't', as: 'jane', 'as-uid': 'u', 'as-groups': ['dev', 'ops'],
      'as-user-extra': { 'example.com/Team': ['a'] },
    };
    const transport = open(await connectionOf({}, user));
    const expected = ['Bearer t', 'jane', 'u', 'dev, ops', 'a'];
    const seen = ({ headers }: Exchange) => [
      headers.authorization, headers['impersonate-user'], headers['impersonate-uid'], headers['impersonate-group'],
      headers['impersonate-extra-example.com%2fteam'],
    ];
    const answer = transport.call({ method: 'GET', path: '/api/v1/nodes' });
    const request = await server.next();
    assert.deepEqual(seen(request), expected);
    request.answer(200, {});
    await answer;
    const stopped = new AbortController();
    const watch = transport.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: 'true' } }, stopped.signal);
    const opening = await server.next();
    assert.deepEqual(seen(opening), expected);
    opening.open();
    (await watch).body.on('error', () => undefined);
    const logs = openExchange(transport, { method: 'GET', path: '/log', query: [] }, stopped.signal);
    const asked = await server.next();
    assert.deepEqual(seen(asked), expected);
    asked.answer(200, {});
    await logs;
    stopped.abort();
  });

  it('may impersonate users and groups whose names are not ASCII', async () => {
    const transport = open(await connectionOf({}, { as: 'jürgen', 'as-groups': ['开发'] }));
    const answer = transport.call({ method: 'GET', path: '/api/v1/nodes' });
    const request = await server.next();
    const sent = ['impersonate-user', 'impersonate-group'].map((name) => String(request.headers[name]));
    assert.deepEqual(sent.map((value) => Buffer.from(value, 'latin1').toString()), ['jürgen', '开发']);
    request.answer(200, {});
    await answer;
  });

  it('must name whom it impersonates, groups in a list, and further fields in a mapping', async () => {
    for (const user of [
      { 'as-groups': ['dev'] }, { as: 'jane', 'as-groups': 'dev' }, { as: 'jane', 'as-user-extra': ['dev'] },
    ]) {
      await assert.rejects(connectionOf({}, user), { code: 'KubeconfigInvalid' });
    }
  });

  it('with username and password sends them with calls and watches', async () => {
    const transport = open(await connectionOf({}, { username: 'grüße', password: 'a:b' }));
    const expected = `Basic ${Buffer.from('grüße:a:b').toString('base64')}`;
    const answer = transport.call({ method: 'GET', path: '/api/v1/nodes' });
    const request = await server.next();
    assert.equal(request.headers.authorization, expected);
    request.answer(200, {});
    await answer;
    const stopped = new AbortController();
    const watch = transport.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: 'true' } }, stopped.signal);
    const opening = await server.next();
    assert.equal(opening.headers.authorization, expected);
    opening.open();
    (await watch).body.on('error', () => undefined);
    stopped.abort();
    await opening.closed();
  });

  it('with a proxy-url tunnels calls and watches through it, and sends it no credentials', async () => {
    const seen: (string | undefined)[] = [];
    proxy.on('connect', (request) => seen.push(request.headers.authorization));
    const transport = open(await connectionOf({ 'proxy-url': proxyUrl() }, { token: 'secret' }));
    const answer = transport.call<{ ok: boolean }>({ method: 'GET', path: '/api/v1/nodes' });
    const request = await server.next();
    assert.equal(request.headers.authorization, 'Bearer secret');
    request.answer(200, { ok: true });
    assert.deepEqual(await answer, { ok: true });
    const stopped = new AbortController();
    const watch = transport.stream({ method: 'GET', path: '/api/v1/nodes', query: { watch: 'true' } }, stopped.signal);
    (await server.next()).open();
    const { silenceMs, body } = await watch;
    assert.equal(silenceMs, 45_000, 'there are no pings through a proxy');
    body.on('error', () => undefined);
    stopped.abort();
    assert.deepEqual([...new Set(tunnels)], [server.url.host]);
    assert.deepEqual([...new Set(seen)], [undefined]);
  });

  it('whose proxy refuses gives an error that names the cluster, not the proxy’s password', async () => {
    proxy.removeAllListeners('connect');
    proxy.on('connect', (_request, client) => client.end('HTTP/1.1 403 Forbidden\r\n\r\n'));
    const url = proxyUrl().replace('//', '//user:canary@');
    const transport = open(await connectionOf({ 'proxy-url': url }, {}));
    await assert.rejects(transport.call({ method: 'GET', path: '/api/v1/nodes' }), (error: Error) => {
      assert.equal(error.name, 'UnreachableError');
      assert(error.message.includes(server.url.host) && !error.message.includes('canary'), error.message);
      return true;
    });
  });

  it('whose proxy does not answer waits no longer for it than for any connection', async () => {
    proxy.removeAllListeners('connect');
    proxy.on('connect', (_request, client: Socket) => sockets.add(client));
    const transport = open(await connectionOf({ 'proxy-url': proxyUrl() }, {}), { connectTimeoutMs: 50 });
    await assert.rejects(
      transport.call({ method: 'GET', path: '/api/v1/nodes' }), /proxy 127\.0\.0\.1:\d+: no answer in time/,
    );
  });
});
