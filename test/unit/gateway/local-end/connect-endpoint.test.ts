// The local end of the gateway, spoken to as kubectl and as a rude client would.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { StreamDriver, StreamRecord } from '../../../../gateway/protocol/cable-driver.ts';
import { startConnectEndpoint, type ConnectEndpoint } from '../../../../gateway/local-end/connect-endpoint.ts';
import { freePorts } from '../../../../sandbox/processes/free-ports.ts';
import { EchoDriver } from '../../../support/doubles/echo-driver.ts';
import { openSocket, until } from '../../../support/doubles/gateway-world.ts';

function connectVia(
  port: number, path: string, headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; reason: string; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, method: 'CONNECT', path, agent: false, headers });
    asked.once('connect', (response, socket: Socket) => resolve(
      { status: response.statusCode ?? 0, reason: String(response.headers['isthmus-reason'] ?? ''), socket },
    ));
    asked.once('error', reject);
    asked.end();
  });
}

describe('the CONNECT endpoint', () => {
  const driver = new EchoDriver();
  const audit: StreamRecord[] = [];
  let active: StreamDriver | undefined = driver;
  let endpoint: ConnectEndpoint;
  before(async () => {
    endpoint = await startConnectEndpoint({
      host: '127.0.0.1', port: 0, driver: () => active, connections: 50, halfClosedMs: 1_000, headerMs: 1_000,
      audit: (record) => void audit.push(record),
    });
  });
  after(() => endpoint.close());

  it('joins a client with the stream to the API server of the cluster that it names', async () => {
    const { status, socket } = await connectVia(endpoint.port, 'east.gateway.isthmus.dev:443');
    assert.equal(status, 200);
    assert.deepEqual(driver.asked.at(-1), { clusterId: 'east', service: 'kube-apiserver', lane: 'bulk' });
    socket.write('ping');
    const [echoed] = (await once(socket, 'data')) as [Buffer];
    assert.equal(echoed.toString(), 'ping');
    socket.destroy();
    await until(() => driver.given.at(-1)?.destroyed === true, 'the end of the stream');
  });

  it('takes what asks for it to the lane of calls', async () => {
    const { socket } = await connectVia(endpoint.port, 'metrics.east:443', { 'isthmus-lane': 'calls' });
    assert.deepEqual(driver.asked.at(-1), { clusterId: 'east', service: 'metrics', lane: 'calls' });
    socket.destroy();
  });

  it('says what is wrong with an authority', async () => {
    const { status, reason, socket } = await connectVia(endpoint.port, '10.0.0.1.example.com:443');
    assert.equal(status, 400);
    assert.match(reason, /CONNECT to CLUSTER\.gateway\.isthmus\.dev/);
    socket.destroy();
  });

  it('passes on why there is no cable', async () => {
    const { status, reason, socket } = await connectVia(endpoint.port, 'gone:443');
    assert.equal(status, 503);
    assert.match(reason, /nothing listens there/);
    socket.destroy();
  });

  it('tells its audit log who asked and what became of it', () => {
    assert.deepEqual(audit.map(({ clusterId, outcome, from }) => `${clusterId} ${outcome} ${from}`), [
      'east opened 127.0.0.1', 'east opened 127.0.0.1', 'gone refused 127.0.0.1',
    ]);
  });

  it('says that it is passive while another replica is active', async () => {
    active = undefined;
    const { status, reason, socket } = await connectVia(endpoint.port, 'east:443');
    active = driver;
    assert.equal(status, 503);
    assert.match(reason, /passive/);
    socket.destroy();
  });

  describe('of a standby', () => {
    let elsewhere: { readonly host: string; readonly port: number } | undefined;
    let standby: ConnectEndpoint;
    before(async () => {
      standby = await startConnectEndpoint({
        host: '127.0.0.1', port: 0, driver: () => undefined, elsewhere: () => elsewhere, connections: 50,
        halfClosedMs: 1_000, audit: () => undefined,
      });
    });
    after(() => standby.close());

    it('passes a request on to the active gateway, with its lane', async () => {
      elsewhere = { host: '127.0.0.1', port: endpoint.port };
      const { status, socket } = await connectVia(standby.port, 'metrics.east:443', { 'isthmus-lane': 'calls' });
      assert.equal(status, 200);
      assert.deepEqual(driver.asked.at(-1), { clusterId: 'east', service: 'metrics', lane: 'calls' });
      socket.write('ping');
      const [echoed] = (await once(socket, 'data')) as [Buffer];
      assert.equal(echoed.toString(), 'ping');
      socket.destroy();
      await until(() => standby.open === 0 && driver.given.at(-1)?.destroyed === true, 'the end of the stream');
    });

    it('passes on what the active gateway refuses', async () => {
      const { status, reason, socket } = await connectVia(standby.port, 'gone:443');
      assert.deepEqual([status, /nothing listens there/.test(reason)], [503, true]);
      socket.destroy();
    });

    it('refuses what another standby has passed on, and where the active one does not answer', async () => {
      elsewhere = { host: '127.0.0.1', port: standby.port };
      const again = await connectVia(standby.port, 'east:443');
      const [closed = 0] = await freePorts(1);
      elsewhere = { host: '127.0.0.1', port: closed };
      const dead = await connectVia(standby.port, 'east:443');
      assert.deepEqual([again.reason, dead.reason], [
        'this gateway is passive; ask the active one', 'this gateway is passive, and the active one does not answer',
      ]);
      for (const { socket } of [again, dead]) socket.destroy();
      await until(() => standby.open === 0, 'the end of both');
    });
  });

  it('lets go of whoever it refuses, also of one that has sent more or that stays', async () => {
    const clients = [1, 2].map(() => connect({ host: '127.0.0.1', port: endpoint.port, allowHalfOpen: true }));
    for (const client of clients) {
      client.on('error', () => undefined);
      client.write('CONNECT gone:443 HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(client, 'data');
      client.resume();
    }
    clients[0]?.end('more');
    await until(() => endpoint.open === 0, 'the end of both');
    for (const client of clients) client.destroy();
  });

  it('serves nothing but CONNECT', async () => {
    const socket = await openSocket(endpoint.port);
    socket.write('GET http://169.254.169.254/ HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 405 /);
    socket.destroy();
  });

  it('cuts off whoever does not finish a request in time, and those beyond its number', async () => {
    const slow = await Promise.all(Array.from({ length: 80 }, () => openSocket(endpoint.port)));
    for (const socket of slow) {
      socket.on('error', () => undefined);
      socket.write('CONNECT east:443 HTTP/1.1\r\nX-Slow: ');
    }
    await until(() => endpoint.open <= 50, 'its bound');
    await until(() => slow.every((socket) => socket.closed || socket.readableEnded), 'the end of all');
    for (const socket of slow) socket.destroy();
    const { status, socket } = await connectVia(endpoint.port, 'east:443');
    assert.equal(status, 200);
    socket.destroy();
  });
});
