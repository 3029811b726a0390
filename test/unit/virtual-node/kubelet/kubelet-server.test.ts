// The server with real TLS and a target of the test's own; the source's API server is played by a table of who may do
// what.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import type { Pod } from '../../../../api/objects/core.ts';
import { ClusterClient } from '../../../../kubernetes/client/cluster-client.ts';
import type { Informer } from '../../../../kubernetes/watch/informer.ts';
import type { TargetClusters } from '../../../../targets/target-clusters.ts';
import { Transport } from '../../../../kubernetes/http/transport.ts';
import type { ProxyPod } from '../../../../model/proxy/proxy-pod.ts';
import { createAuthority, type KeyPair } from '../../../../process/crypto/certificate-authority.ts';
import { startKubeletServer, type KubeletServer } from '../../../../virtual-node/kubelet/kubelet-server.ts';
import { readResourceMetrics } from '../../../support/real-nodes/resource-metrics.ts';
import { SILENT } from '../../../support/doubles/scripted-api-server.ts';

interface Reviewed {
  readonly spec: {
    readonly user?: string; readonly token?: string;
    readonly resourceAttributes?: {
      readonly resource: string; readonly subresource: string; readonly namespace?: string; readonly name?: string
    }
  };
}

const NODE = 'admiralty-c2';
/** Who may do what; `*` is every pod. */
const PERMISSIONS: Readonly<Record<string, readonly string[]>> = {
  'kube-apiserver': ['nodes/proxy admiralty-c2'],
  'metrics-server': [
    'nodes/metrics admiralty-c2', 'nodes/metrics admiralty-c3', 'nodes/metrics undefined', 'nodes/stats admiralty-c2',
    'nodes/stats undefined',
  ],
  alice: ['pods/log web', 'pods/exec web'],
  bob: ['pods/log web'],
  'system:serviceaccount:m:metrics': ['pods/log web'],
};

const closing = new AbortController();
let server: KubeletServer;
let target: Server;
let transport: Transport;
let serving: KeyPair;
const clients = new Map<string, KeyPair>();
/** Virtual nodes with a target each, or one that has no session. */
const nodes: { readonly nodeName: string; readonly session: object | undefined }[] = [];
const changed: ((key: string, before: unknown, after: unknown) => void)[] = [];
/** To the target; it forgets those that are upgraded. */
const connections = new Set<Socket>();
/** What the target was asked, newest last. */
const asked: IncomingMessage[] = [];
/** What the target does with its next request. */
let onRequest: (request: IncomingMessage, reply: ServerResponse) => void = (_request, reply) => reply.end();
let onUpgrade: (request: IncomingMessage, socket: Duplex) => void = (_request, socket) => socket.end();

before(async () => {
  const now = new Date();
  const [authority, foreign] = [await createAuthority('cluster', 1, now), await createAuthority('other', 1, now)];
  serving =
    await authority.issue({ commonName: 'kubelet', ipAddresses: ['127.0.0.1'], days: 1, usages: ['server'] }, now);
  for (const name of ['kube-apiserver', 'alice', 'bob', 'metrics-server']) {
    clients.set(name, await authority.issue({ commonName: name, days: 1, usages: ['client'] }, now));
  }
  clients.set('alice of another CA', await foreign.issue({ commonName: 'alice', days: 1, usages: ['client'] }, now));
  clients.set('a server as a client', await authority.issue({ commonName: 'alice', days: 1, usages: ['server'] }, now));
  target = createServer((request, reply) => {
    asked.push(request);
    onRequest(request, reply);
  });
  target.on('connection', (socket: Socket) => connections.add(socket));
  target.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    asked.push(request);
    onUpgrade(request, socket);
  });
  await once(target.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${(target.address() as AddressInfo).port}`);
  transport = new Transport(
    { server: url, insecure: false, credentials: { kind: 'token', token: 'of-the-source' } }, 'isthmus-test/1',
  );
  const delegates = new Map([
    ['t/web-1234567890', { parentKey: 'a/web', parentUid: 'uid' }],
    ['t/old-1234567890', { parentKey: 'a/web', parentUid: 'of a pod before' }],
  ]);
  const session = {
    client: new ClusterClient(transport), ours: { labelSelector: 'ours' }, delegates, signal: closing.signal,
    find: ({ uid }: ProxyPod) => ({ delegate: uid === 'uid' ? { key: 'a/web-1234567890' } : undefined }),
  };
  nodes.push({ nodeName: NODE, session });
  const pods = new Map(
    [['a/web', { key: 'a/web', namespace: 'a', name: 'web', uid: 'uid', nodeName: NODE, containers: ['main'] }]],
  );
  server = await startKubeletServer({
    host: '127.0.0.1', port: 0, certificate: serving, clientAuthority: authority.keyPair.certificate, logger: SILENT,
    source: {
      transport, create: (_type: unknown, review: Reviewed) => Promise.resolve({ status: judged(review) }),
    } as unknown as ClusterClient,
    proxies: {
      get: (key: string) => pods.get(key), onChange: (listener: (typeof changed)[0]) => changed.push(listener),
    } as unknown as Informer<Pod, ProxyPod>,
    targets: {
      byNode: (name: string) => nodes.find(({ nodeName }) => nodeName === name), all: () => nodes,
    } as unknown as TargetClusters,
    limits: { idleMs: 60_000, lingerMs: 60_000 },
  });
});
after(async () => {
  await server.close();
  await transport.close();
  for (const socket of connections) socket.destroy();
  target.close();
});

function judged({ spec }: Reviewed): object {
  if (spec.token !== undefined) return spec.token === 'good'
    ? { authenticated: true, user: { username: 'system:serviceaccount:m:metrics', groups: [] } }
    : { authenticated: false };
  const { resource, subresource, name } = spec.resourceAttributes!;
  return { allowed: PERMISSIONS[spec.user ?? '']?.includes(`${resource}/${subresource} ${name}`) === true };
}

interface Asking {
  readonly as?: string | undefined;
  readonly headers?: Record<string, string>;
  readonly method?: string;
}

function open(path: string, { as = 'kube-apiserver', headers = {}, method = 'GET' }: Asking = {}) {
  const { certificate: cert, key } = clients.get(as) ?? {};
  const sent = request(
    { host: '127.0.0.1', port: server.port, path, method, headers, cert, key, rejectUnauthorized: false, agent: false },
  );
  sent.end();
  return sent;
}

async function get(
  path: string, asking?: Asking,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const [response] = (await once(open(path, asking), 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, body: Buffer.concat(chunks).toString() };
}

/** It may have closed before anybody waits for it. */
async function untilClosed(socket: Duplex): Promise<void> {
  if (!socket.closed) await once(socket, 'close');
}

const LOG = '/containerLogs/a/web/main';
const EXEC = '/exec/a/web/main?command=sh&output=1';
const SPDY = {
  connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v5.channel.k8s.io',
  authorization: 'Bearer of-the-user', 'x-other': 'y',
};

describe('a log', () => {
  it('comes from the delegate, asked with the identity of the source', async () => {
    onRequest = (_request, reply) => reply.writeHead(200, { 'content-type': 'text/plain' }).end('line\n');
    assert.deepEqual(await get(`${LOG}?tailLines=3`), { status: 200, body: 'line\n' });
    const { url, headers } = asked.at(-1)!;
    assert.deepEqual([url, headers.authorization], [
      '/api/v1/namespaces/a/pods/web-1234567890/log?container=main&tailLines=3', 'Bearer of-the-source',
    ]);
  });

  it('that the target refuses is refused with its word', async () => {
    onRequest = (_request, reply) => reply.writeHead(400, { 'content-type': 'application/json' })
      .end('{"message":"previous not found"}');
    assert.deepEqual(await get(LOG), { status: 400, body: '{"message":"previous not found"}' });
  });

  it('that the target refuses with a Status is refused with its message, as kubelets say it', async () => {
    const message = 'container "main" in pod "web-1234567890" is waiting to start: ContainerCreating';
    onRequest = (_request, reply) => reply.writeHead(400, { 'content-type': 'application/json' })
      .end(JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message, code: 400 }));
    assert.deepEqual(await get(LOG), { status: 400, body: message });
  });

  it('whose refusal never ends is refused with the beginning', async () => {
    onRequest = (_request, reply) => {
      reply.writeHead(500);
      reply.write('x'.repeat(100_000));
    };
    const { status, body } = await get(LOG);
    assert.deepEqual([status, /^x{65536,}$/.test(body)], [500, true]);
    await untilClosed(asked.at(-1)!.socket);
  });

  it('that is followed shows each line at once, and its head before the first', async () => {
    let write: ((line: string) => void) | undefined;
    onRequest = (_request, reply) => {
      reply.flushHeaders();
      write = (line) => void reply.write(line);
    };
    const sent = open(`${LOG}?follow=true`);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    for (const line of ['one\n', 'two\n']) {
      write?.(line);
      assert.equal(String((await once(response, 'data'))[0]), line);
    }
    sent.destroy();
    await untilClosed(asked.at(-1)!.socket); // nobody follows on in the target
  });

  it('that breaks off in the target breaks off, and does not end as if it were whole', async () => {
    onRequest = (_request, reply) => {
      reply.write('half');
      setImmediate(() => reply.destroy());
    };
    await assert.rejects(get(LOG), /aborted/);
  });
});

describe('an exec', () => {
  it('becomes one connection from end to end, with the headers of the agreement and none else', async () => {
    onUpgrade = (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ' +
          'v5.channel.k8s.io\r\n\r\nhead;',
      );
      socket.on('data', (data: Buffer) => socket.write(data.toString().toUpperCase()));
      socket.on('end', () => socket.end('bye'));
    };
    const [response, socket, head] =
      (await once(open(EXEC, { method: 'POST', headers: SPDY }), 'upgrade')) as [IncomingMessage, Duplex, Buffer];
    assert.deepEqual([response.statusCode, response.headers['x-stream-protocol-version']], [101, 'v5.channel.k8s.io']);
    const read: Buffer[] = [head];
    socket.on('data', (data: Buffer) => read.push(data));
    socket.write('stdin');
    while (!Buffer.concat(read).toString().includes('STDIN')) await once(socket, 'data');
    socket.end(); // a half-close: what the other side still says arrives
    await once(socket, 'close');
    assert.equal(Buffer.concat(read).toString(), 'head;STDINbye');
    const { method, url, headers } = asked.at(-1)!;
    assert.deepEqual([method, url], [
      'POST',
      '/api/v1/namespaces/a/pods/web-1234567890/exec?container=main&stdin=false&stdout=true&stderr=false&tty=false&command=sh',
    ]);
    assert.deepEqual([headers.authorization, headers['x-other'], headers['x-stream-protocol-version']], [
      'Bearer of-the-source', undefined, 'v5.channel.k8s.io',
    ]);
  });

  it('that the target refuses is refused with its word', async () => {
    onUpgrade = (_request, socket) =>
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nnope');
    assert.deepEqual(await get(EXEC, { method: 'POST', headers: SPDY }), { status: 403, body: 'nope' });
  });

  it('ends when its pod has gone (C2-40)', async () => {
    onUpgrade = (_request, socket) => {
      socket.on('end', () => socket.end());
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
    };
    const [, socket] =
      (await once(open(EXEC, { method: 'POST', headers: SPDY }), 'upgrade')) as [IncomingMessage, Duplex, Buffer];
    socket.on('error', () => undefined);
    const closed = once(socket, 'close');
    for (const listener of changed) listener('a/other', { uid: 'other' }, undefined);
    for (const listener of changed) listener('a/web', { uid: 'uid' }, undefined);
    await closed;
  });
});

describe('C2-40: who may not', () => {
  const rows: Record<string, readonly [path: string, asking: Asking, status: number]> = {
    'without a client certificate': [LOG, { as: 'nobody' }, 401],
    'with a certificate of another CA': [LOG, { as: 'alice of another CA' }, 401],
    "with a server's certificate": [LOG, { as: 'a server as a client' }, 401],
    'with a token that is none': [LOG, { as: 'nobody', headers: { authorization: 'Bearer bad' } }, 401],
    'exec with permissions to logs alone': [EXEC, { as: 'bob', method: 'POST', headers: SPDY }, 403],
    'exec without a client certificate':
      [EXEC, { as: 'nobody', method: 'POST', headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1' } }, 401],
    "another namespace's pod": ['/containerLogs/b/web-of-b/main', { as: 'alice' }, 403],
    'the pods of the node': ['/pods', { as: 'alice' }, 403],
    'a container that the pod does not have': ['/containerLogs/a/web/injected', {}, 404],
    'a path that climbs': ['/containerLogs/a/../b/main', {}, 404],
    'an exec that is no upgrade': [EXEC, { method: 'POST' }, 400],
    'a log that is an upgrade': [LOG, { headers: SPDY }, 400],
  };
  for (const [what, [path, asking, status]] of Object.entries(rows)) {
    it(`is refused, and the target hears nothing: ${what}`, async () => {
      const heard = asked.length;
      assert.equal((await get(path, asking)).status, status);
      assert.equal(asked.length, heard);
    });
  }

  it('a user with that very right, and a token of the cluster, are let in', async () => {
    onRequest = (_request, reply) => reply.end('ok');
    assert.equal((await get(LOG, { as: 'bob' })).body, 'ok');
    assert.equal((await get(LOG, { as: 'nobody', headers: { authorization: 'Bearer good' } })).body, 'ok');
  });

  it('whether it lives, anybody may ask', async () => assert.deepEqual(
    await get('/healthz', { as: 'nobody' }), { status: 200, body: 'ok' },
  ));
});

describe('what a node tells', () => {
  const asMetricsServer = { as: 'metrics-server' };
  const METRICS = '/nodes/admiralty-c2/metrics/resource';
  const podMetrics = (name: string) => ({
    metadata: { namespace: 't', name }, timestamp: '2026-01-02T03:04:05Z',
    containers: [{ name: 'main', usage: { cpu: '250m', memory: '20Mi' } }],
  });

  it('a target that fails has no usage, and says so', async () => {
    onRequest = (_request, reply) => reply.writeHead(503, { 'content-type': 'text/plain' }).end('no');
    const { status, body } = await get('/metrics/resource', asMetricsServer);
    assert.deepEqual([status, readResourceMetrics(body, 15)], [200, []]);
    assert.match(body, /^resource_scrape_error 1$/m);
  });

  it('its pods use what their delegates use, and nobody else does', async (t) => {
    const later = performance.now() + 10_001;
    t.mock.method(performance, 'now', () => later); // what was told before is forgotten
    onRequest = (_request, reply) => reply.writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ metadata: {}, items: ['web-1234567890', 'old-1234567890', 'of-others'].map(podMetrics) }));
    const told = await get(METRICS, asMetricsServer);
    assert.deepEqual(readResourceMetrics(told.body, 15), [
      { container: 'a/web/main', nanoCores: 249_999_975, memoryBytes: 20 * 2 ** 20 },
    ]);
    assert.match(told.body, /^node_memory_working_set_bytes 20971520 /m);
    assert.match(asked.at(-1)?.url ?? '', /^\/apis\/metrics\.k8s\.io\/v1beta1\/pods\?labelSelector=ours&/);
    const heard = asked.length;
    const summary = JSON.parse((await get('/stats/summary', asMetricsServer)).body) as {
      readonly node: object; readonly pods: readonly { readonly podRef: object }[]
    };
    // from memory
    assert.deepEqual(
      [summary.pods.map(({ podRef }) => podRef), asked.length], [[{ name: 'web', namespace: 'a', uid: 'uid' }], heard],
    );
  });

  it('its pods are asked of the source', async () => {
    onRequest = (_request, reply) => reply.writeHead(200, { 'content-type': 'application/json' })
      .end('{"kind":"PodList"}');
    assert.deepEqual(await get('/nodes/admiralty-c2/pods'), { status: 200, body: '{"kind":"PodList"}' });
    assert.equal(asked.at(-1)?.url, '/api/v1/pods?fieldSelector=spec.nodeName%3Dadmiralty-c2&resourceVersion=0');
  });

  it('is refused to whoever may not read it', async () => {
    for (const path of [METRICS, '/stats/summary', '/nodes/admiralty-c2/pods']) {
      assert.equal((await get(path, { as: 'alice' })).status, 403);
    }
  });

  it('is asked by name where there are several', async (t) => {
    nodes.push({ nodeName: 'admiralty-c3', session: undefined });
    t.after(() => nodes.pop());
    const { status, body } = await get('/stats/summary', asMetricsServer);
    assert.deepEqual(
      [status, body], [400, '2 virtual nodes are served here; ask for /nodes/admiralty-c2/stats/summary\n'],
    );
    const [all, unreached] = [await get('/metrics/resource', asMetricsServer), await get(
      '/nodes/admiralty-c3/metrics/resource', asMetricsServer,
    )];
    assert.deepEqual(
      [all.status, /^node_cpu/m.test(all.body), /^resource_scrape_error 1$/m.test(unreached.body)], [200, false, true],
    );
  });
});

it('serves a renewed certificate to whoever connects next', async () => {
  const authority = await createAuthority('renewed', 1, new Date());
  server.use({ certificate: await authority.issue({ commonName: 'kubelet', days: 1 }, new Date()) });
  const socket = connect({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  assert.equal(socket.getPeerCertificate().issuer.CN, 'renewed');
  socket.destroy();
});
