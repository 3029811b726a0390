import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { createServer } from 'node:tls';
import { parsedOnce, secureSocket } from '../../../../kubernetes/connect/secure-socket.ts';
import { ClusterAccess, TRANSPORT_TIMINGS } from '../../../../kubernetes/http/cluster-access.ts';
import { sendCall } from '../../../../kubernetes/http/pending-call.ts';
import { createAuthority } from '../../../../process/crypto/certificate-authority.ts';

const INVALID = { cert: 'no certificate', key: 'no key' };
const NOW = new Date();

describe('certificates of a connection', () => {
  it('are parsed once for all connections', async () => {
    const { keyPair } = await createAuthority('test-ca', 1, NOW);
    const context = parsedOnce({ ca: keyPair.certificate });
    assert.equal(context(), context());
  });

  it('that are invalid fail each connection, and not what would have made it', async () => {
    const context = parsedOnce(INVALID);
    assert.throws(context, /PEM/);
    assert.throws(context, /PEM/);
    const server = new URL('https://127.0.0.1:1');
    const access = new ClusterAccess(
      { server, insecure: false, credentials: { kind: 'none' } }, { certificate: INVALID.cert, key: INVALID.key },
      TRANSPORT_TIMINGS,
    );
    const request = { origin: server.origin, method: 'GET', path: '/', reset: false, headers: {} } as const;
    await assert.rejects(
      sendCall(access.path, request, { maxBytes: 1, timeoutMs: 1_000, fence: undefined }, undefined), /PEM/,
    );
    await assert.rejects(access.session(), /PEM/);
    await assert.rejects(access.dial(), /PEM/);
    await access.destroy();
  });

  it('verify the server at every connection', async () => {
    const [known, unknown] = await Promise.all(['known-ca', 'unknown-ca'].map((name) => createAuthority(name, 1, NOW)));
    assert.ok(known !== undefined && unknown !== undefined);
    const own = await known.issue({ commonName: 'api-server', ipAddresses: ['127.0.0.1'], days: 1 }, NOW);
    const server = createServer({ cert: own.certificate, key: own.key }, (socket) => socket.end());
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const connect = (authority: typeof known) => {
      const secureContext = parsedOnce({ ca: authority.keyPair.certificate })();
      const options = { timeoutMs: 5_000, protocols: ['http/1.1'] };
      return [1, 2].map(() => secureSocket(url, { rejectUnauthorized: true, secureContext }, options));
    };
    for (const socket of await Promise.all(connect(known))) socket.destroy();
    for (const refused of connect(unknown)) await assert.rejects(refused, /unable to verify|self.signed/);
    server.close();
  });

  it('trust what the kubeconfig names, also where that is not a root', async () => {
    const authority = await createAuthority('root-ca', 1, NOW);
    const own = await authority.issue({ commonName: 'api-server', ipAddresses: ['127.0.0.1'], days: 1 }, NOW);
    const server = createHttpsServer({ cert: own.certificate, key: own.key }, (_request, response) => response.end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const access = new ClusterAccess(
      { server: url, certificateAuthority: own.certificate, insecure: false, credentials: { kind: 'none' } }, {},
      TRANSPORT_TIMINGS,
    );
    const request = { origin: url.origin, method: 'GET', path: '/', reset: false, headers: {} } as const;
    const bounds = { maxBytes: 1, timeoutMs: 5_000, fence: undefined };
    assert.equal((await sendCall(access.path, request, bounds, undefined)).status, 200);
    (await access.dial()).destroy();
    await access.destroy();
    server.close();
  });
});
