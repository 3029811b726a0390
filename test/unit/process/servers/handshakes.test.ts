import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { describe, it } from 'node:test';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { Handshakes } from '../../../../process/servers/handshakes.ts';
import { closedSocket } from '../../../support/faults/closed-socket.ts';

describe('the handshakes of a server that ends', () => {
  it('are ended, whether they have begun or not, and no connection that is through', { timeout: 10_000 }, async (t) => {
    const authority = await createAuthority('ca', 1, new Date());
    const { certificate, key } =
      await authority.issue({ commonName: 's', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    const server = createServer({ cert: certificate, key }, () => undefined);
    const handshakes = new Handshakes(server);
    t.after(() => server.close());
    let accepted = 0;
    const allAccepted = new Promise<void>((resolve) => server.on('connection', () => {
      if ((accepted += 1) === 3) resolve();
    }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const silent = connect(port, '127.0.0.1');
    const begun = connect(port, '127.0.0.1');
    const through = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    const isThrough = once(server, 'secureConnection'); // later than the client thinks so
    for (const socket of [silent, begun, through]) socket.on('error', () => undefined).resume();
    await Promise.all([allAccepted, once(begun, 'connect'), isThrough]);
    begun.write(Buffer.from([0x16, 0x03, 0x01, 0x01, 0x00])); // the head of a ClientHello that does not come
    handshakes.end();
    await Promise.all([silent, begun].map(closedSocket));
    through.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const [, reply] = (await once(server, 'request')) as [unknown, { end(text: string): void }];
    reply.end('here');
    const [answer] = (await once(through, 'data')) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
    through.destroy();
  });
});
