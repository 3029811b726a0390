import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, it } from 'node:test';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { OpenConnections } from '../../../../process/servers/open-connections.ts';
import { closedSocket } from '../../../support/faults/closed-socket.ts';

describe('the connections of a server that ends', () => {
  it('end at once: those that say nothing, that still shake hands, and that wait for an answer',
    { timeout: 10_000 }, async () => {
    const authority = await createAuthority('ca', 1, new Date());
    const { certificate, key } =
      await authority.issue({ commonName: 's', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const server = createServer({ cert: certificate, key }, () => undefined);
    const connections = new OpenConnections(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const opened = [
      connect(port, '127.0.0.1'), connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }),
      connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }),
    ] as const;
    const [, silent, asking] = opened;
    for (const socket of opened) socket.on('error', () => undefined).resume();
    await Promise.all([once(opened[0], 'connect'), once(silent, 'secureConnect'), once(asking, 'secureConnect')]);
    asking.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await once(server, 'request');
    const closed = once(server, 'close');
    server.close();
    connections.end();
    await Promise.all([closed, ...opened.map(closedSocket)]);
  });

  it('are none any more from then on', { timeout: 10_000 }, async () => {
    const server = createServer();
    const connections = new OpenConnections(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    connections.end();
    const late = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined).resume();
    await closedSocket(late);
    server.close();
    await once(server, 'close');
    assert.equal(late.bytesRead, 0);
  });
});
