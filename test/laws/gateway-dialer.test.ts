// The whole client through a real tunnel: calls over the pool and a watch over HTTP/2 reach a TLS server that only the
// far gateway knows.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { startConnectEndpoint, type ConnectEndpoint } from '../../gateway/local-end/connect-endpoint.ts';
import { dialThroughGateway } from '../../kubernetes/connect/gateway-dialer.ts';
import type { ClusterConnection } from '../../kubernetes/credentials/kubeconfig.ts';
import { Transport } from '../../kubernetes/http/transport.ts';
import { createAuthority } from '../../process/crypto/certificate-authority.ts';
import {
  identityOf, makeAuthority, startGateway, untilConnected, type TestGateway,
} from '../support/doubles/gateway-world.ts';

/** However long a busy machine takes: what ends for want of time has a clock of its own. */
const PATIENT = { connectTimeoutMs: 60_000, callTimeoutMs: 60_000 };

describe('a transport with a gateway', () => {
  let apiServer: Http2SecureServer;
  let source: TestGateway;
  let target: TestGateway;
  let endpoint: ConnectEndpoint;
  let connection: ClusterConnection;
  let passive: ConnectEndpoint;
  const protocols: string[] = [];

  before(async () => {
    const authority = await createAuthority('api-server-ca', 1, new Date());
    const { certificate: cert, key } =
      await authority.issue({ commonName: 'api', dnsNames: ['api.target.example'], days: 1 }, new Date());
    apiServer = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
      protocols.push(request.httpVersion);
      response.setHeader('content-type', 'application/json');
      if (request.url.includes('watch')) response.write('{"type":"ADDED"}\n');
      else response.end(JSON.stringify({ path: request.url, authorization: request.headers.authorization }));
    });
    apiServer.listen(0, '127.0.0.1');
    await once(apiServer, 'listening');
    const clusterset = await makeAuthority();
    const services =
      new Map([['kube-apiserver', { host: '127.0.0.1', port: (apiServer.address() as AddressInfo).port }]]);
    source = await startGateway({ clusterId: 'source', identity: await identityOf(clusterset, 'source') });
    target = await startGateway(
      { clusterId: 'target', identity: await identityOf(clusterset, 'target'), services, listen: undefined },
    );
    source.driver.connect({ clusterId: 'target', addresses: [] });
    target.driver.connect({ clusterId: 'source', addresses: [`127.0.0.1:${source.driver.port}`] });
    await untilConnected(source, 'target');
    const common =
      { host: '127.0.0.1', port: 0, connections: 100, halfClosedMs: 1_000, headerMs: 60_000, audit: () => undefined };
    endpoint = await startConnectEndpoint({ ...common, driver: () => source.driver });
    passive = await startConnectEndpoint({ ...common, driver: () => undefined });
    const endpoints = [new URL('http://127.0.0.1:1'), new URL(`http://127.0.0.1:${passive.port}`), new URL(
      `http://127.0.0.1:${endpoint.port}`,
    )];
    // The name resolves nowhere: nothing but the tunnel can reach it, and TLS checks it at the end.
    connection = {
      server: new URL('https://api.target.example:6443'), certificateAuthority: authority.keyPair.certificate,
      insecure: false, credentials: { kind: 'token', token: 'secret-token' },
      gateway: { clusterId: 'target', endpoints },
    };
  });
  after(async () => {
    await Promise.all([endpoint.close(), passive.close(), source.driver.close(), target.driver.close()]);
    apiServer.close();
  });

  it('calls the target, past gateways that are gone or passive, with TLS from end to end', async () => {
    const transport = new Transport(connection, 'test', PATIENT);
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_value, index) => transport.call<{ path: string; authorization: string }>(
        { method: 'GET', path: `/api/v1/pods/${index}` },
      )),
    );
    assert.deepEqual(
      answers.map(({ path }) => path), Array.from({ length: 64 }, (_value, index) => `/api/v1/pods/${index}`),
    );
    assert.equal(answers[0]?.authorization, 'Bearer secret-token');
    await transport.close();
  });

  it('watches over an HTTP/2 session of its own through the tunnel', async () => {
    const transport = new Transport(connection, 'test', PATIENT);
    const stop = new AbortController();
    protocols.length = 0;
    const { body } =
      await transport.stream({ method: 'GET', path: '/api/v1/pods', query: { watch: '1' } }, stop.signal);
    const [line] = (await once(body, 'data')) as [Buffer];
    assert.equal(line.toString(), '{"type":"ADDED"}\n');
    assert.equal(protocols.at(-1), '2.0');
    body.on('error', () => undefined);
    stop.abort(new Error('enough'));
    await transport.close();
  });

  it('does not take another server for the target, although the tunnel leads there', async () => {
    const transport =
      new Transport({ ...connection, server: new URL('https://other.target.example:6443') }, 'test', PATIENT);
    await assert.rejects(
      transport.call({ method: 'GET', path: '/api/v1/pods' }), /altnames|Hostname\/IP does not match/i,
    );
    await transport.close();
  });

  /** Each look at the clock finds it so much later. */
  const stepClock = (t: TestContext, stepMs: number) => {
    let now = 0;
    t.mock.method(performance, 'now', () => (now += stepMs));
  };

  it('names the cause when there is no cable', async (t) => {
    const endpoints = [new URL(`http://127.0.0.1:${endpoint.port}`)];
    const transport = new Transport({ ...connection, gateway: { clusterId: 'elsewhere', endpoints } }, 'test', PATIENT);
    stepClock(t, 20_000);
    await assert.rejects(
      transport.call({ method: 'GET', path: '/api/v1/pods' }), /no member of the clusterset is called "elsewhere"/,
    );
    await transport.close();
  });

  it('gives up in time when no gateway answers', async (t) => {
    stepClock(t, 20_000);
    await assert.rejects(
      dialThroughGateway({ clusterId: 'target', endpoints: [new URL('http://127.0.0.1:1')] }, 60_000),
      /gateway 127\.0\.0\.1:1: .*ECONNREFUSED/,
    );
    await assert.rejects(
      dialThroughGateway({ clusterId: 'target', endpoints: [] }, 20_000), /no gateway is configured/,
    );
  });
});
