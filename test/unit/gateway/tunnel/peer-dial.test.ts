import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:tls';
import { it } from 'node:test';
import { dialPeer } from '../../../../gateway/tunnel/peer-dial.ts';
import { gatewayName } from '../../../../model/network/gateway-names.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { closedSocket } from '../../../support/faults/closed-socket.ts';

it('a peer whose certificate is rejected keeps no connection', async (t) => {
  const now = new Date();
  const authority = await createAuthority('clusterset', 2, now);
  const made = await authority.issue(
    { commonName: 'hub', days: 1, dnsNames: [gatewayName('hub'), 'other.example'] }, now,
  );
  const server = createServer({ cert: made.certificate, key: made.key, ALPNProtocols: ['isthmus-1-open-calls'] });
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const identity = { ...made, authority: authority.keyPair.certificate };
  const dial = {
    clusterId: 'hub', address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    purpose: { dialer: 'open', lane: 'calls' } as const, identity, timeoutMs: 30_000,
  };
  await assert.rejects(dialPeer(dial, new AbortController().signal), /names no cluster/);
  const [socket] = await accepted;
  await closedSocket(socket);
});
