// Listeners for imports on loopback, with a driver whose streams are an echo.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import type { StreamDriver, StreamRecord } from '../../../../gateway/protocol/cable-driver.ts';
import { ImportListeners } from '../../../../gateway/local-end/import-listener-server.ts';
import type { ListenerTarget } from '../../../../gateway/local-end/import-listeners.ts';
import { freePorts } from '../../../../sandbox/processes/free-ports.ts';
import { EchoDriver } from '../../../support/doubles/echo-driver.ts';
import { exchange, openSocket, startService, until } from '../../../support/doubles/gateway-world.ts';

/** How a connection ends that nobody carries; a reset may be there before the connection is. */
function endOf(port: number): Promise<string> {
  return openSocket(port).then((socket) => once(socket, 'close'))
    .then(() => 'ended', ({ code }: NodeJS.ErrnoException) => code ?? '');
}

const to = (clusterId: string): ListenerTarget => ({ clusterId, service: '_80._tcp.web.shop.svc' });

describe('listeners for imports', () => {
  const driver = new EchoDriver();
  const audit: StreamRecord[] = [];
  let active: StreamDriver | undefined = driver;
  let [one, other, third] = [0, 0, 0];
  const listeners = new ImportListeners({
    host: '127.0.0.1', driver: () => active, connections: 2, halfClosedMs: 1_000,
    audit: (record) => void audit.push(record),
  });
  before(async () => {
    [one = 0, other = 0, third = 0] = await freePorts(3);
    assert.deepEqual(await listeners.serve(new Map([[one, to('us')], [other, to('gone')]])), []);
  });
  after(() => listeners.close());

  it('are told of once all of them listen, and no more when they are closed', async () => {
    const many = new ImportListeners({
      host: '127.0.0.1', driver: () => active, connections: 2, halfClosedMs: 1_000, audit: () => undefined,
    });
    const serving = many.serve(new Map([[third, to('us')]]));
    const before = many.isServing;
    await serving;
    const then = many.isServing;
    many.close();
    assert.deepEqual([before, then, many.isServing], [false, true, false]);
  });

  it('carry a connection to the cluster and the port of their number, both ways and to the end', async () => {
    assert.equal(await exchange(await openSocket(one), 'hello'), 'hello');
    assert.deepEqual(driver.asked.at(-1), { clusterId: 'us', service: '_80._tcp.web.shop.svc', lane: 'bulk' });
    assert.deepEqual(audit.at(-1), {
      direction: 'out', clusterId: 'us', service: '_80._tcp.web.shop.svc', lane: 'bulk', from: '127.0.0.1',
      outcome: 'opened', reason: '',
    });
    await until(() => listeners.open === 0, 'the end of the connection');
  });

  it('reset a connection that cannot be carried, and say why in the audit log', async () => {
    assert.equal(await endOf(other), 'ECONNRESET');
    assert.equal(
      audit.at(-1)?.reason, 'there is no gateway connection to "gone" (error): hub:443: nothing listens there',
    );
  });

  it('reset connections beyond the limit', async () => {
    const kept = [await openSocket(one), await openSocket(one)];
    await until(() => listeners.open === 2, 'two connections');
    assert.equal(await endOf(one), 'ECONNRESET');
    for (const socket of kept) socket.destroy();
    await until(() => listeners.open === 0, 'their end');
  });

  it('reset connections while another gateway is active', async () => {
    active = undefined;
    assert.equal(await endOf(one), 'ECONNRESET');
    active = driver;
  });

  it('that are no longer wanted are gone; those that stay keep their connections', async () => {
    const socket = await openSocket(one);
    await listeners.serve(new Map([[one, to('asia')]]));
    await assert.rejects(openSocket(other), { code: 'ECONNREFUSED' });
    assert.equal(await exchange(socket, 'still there'), 'still there');
    assert.equal(await exchange(await openSocket(one), ''), '');
    assert.equal(driver.asked.at(-1)?.clusterId, 'asia');
  });

  it('say which port something else has', async () => {
    const stranger = await startService();
    assert.deepEqual(
      await listeners.serve(new Map([[one, to('us')], [stranger.address.port, to('us')], [third, to('us')]])),
      [stranger.address.port],
    );
    assert.equal(await exchange(await openSocket(third), 'the others are served'), 'the others are served');
    await stranger.close();
  });

  it('are gone when they are closed', async () => {
    listeners.close();
    await assert.rejects(openSocket(one), { code: 'ECONNREFUSED' });
  });
});
