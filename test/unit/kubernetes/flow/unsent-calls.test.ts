// Whether anything of a call was sent, told by real sockets: servers here do one thing wrong each.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { after, afterEach, before, describe, it } from 'node:test';
import { UnreachableError } from '../../../../kubernetes/flow/api-error.ts';
import type { ClusterConnection } from '../../../../kubernetes/credentials/kubeconfig.ts';
import { Transport, type Call } from '../../../../kubernetes/http/transport.ts';
import { createAuthority, type CertificateAuthority } from '../../../../process/crypto/certificate-authority.ts';
import { isSilence } from '../../../../kubernetes/connect/silence.ts';

const CREATE: Call = { method: 'POST', path: '/api/v1/namespaces/n/pods', body: { kind: 'Pod' } };
const HEAD = 'HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"kind":';

describe('a create that fails', () => {
  let authority: CertificateAuthority;
  let tls: { readonly cert: string; readonly key: string };
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const transports: Transport[] = [];
  before(async () => {
    authority = await createAuthority('test-ca', 1, new Date());
    const { certificate, key } =
      await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date());
    tls = { cert: certificate, key };
  });
  afterEach(async () => {
    await Promise.all(transports.splice(0).map((transport) => transport.close()));
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    for (const server of servers.splice(0)) server.close();
  });
  after(() => assert.equal(servers.length, 0));

  async function listening(server: Server): Promise<number> {
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    server.listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }
  async function closedPort(): Promise<number> {
    const server = createServer();
    const port = await listening(server);
    servers.pop();
    server.close();
    await once(server, 'close');
    return port;
  }
  const to = (port: number, more: Partial<ClusterConnection> = {}): ClusterConnection =>
    ({
      server: new URL(`https://127.0.0.1:${port}`), certificateAuthority: authority.keyPair.certificate,
      insecure: false, credentials: { kind: 'none' }, ...more,
    });
  async function failure(
    connection: ClusterConnection, call: Partial<Call> = {}, signal?: AbortSignal,
  ): Promise<UnreachableError> {
    const transport = new Transport(connection, 'isthmus-test');
    transports.push(transport);
    const thrown = await transport.call({ ...CREATE, ...call }, signal)
      .then(() => assert.fail('it succeeded'), (error: unknown) => error);
    assert.ok(thrown instanceof UnreachableError, String(thrown));
    return thrown;
  }
  const secure = (serve: (socket: Socket) => void) => listening(createTlsServer(tls, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => serve(socket));
  }));
  /** A call that is given up at a time of its own, so that no test waits for the usual ones. */
  const impatient = (ms = 200): Partial<Call> => ({ connectTimeout: { signal: new AbortController().signal, ms } });

  const UNSENT: Readonly<Record<string, () => Promise<UnreachableError>>> = {
    'nobody listens': async () => failure(to(await closedPort())),
    'its name is not known': () => failure(to(1, { server: new URL('https://nowhere.invalid:1') }), impatient()),
    'the server is not the one that is trusted': async () => {
      const other = await createAuthority('other-ca', 1, new Date());
      return failure(to(await secure(() => undefined), { certificateAuthority: other.keyPair.certificate }));
    },
    'the server speaks no TLS': async () =>
      failure(to(await listening(createServer((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))))),
    'TLS does not come to its end': async () => failure(to(await listening(createServer())), impatient()),
    'TLS does not come to its end within the deadline of the call': async () =>
      failure(to(await listening(createServer())), { timeoutMs: 200 }),
    'the connection is reset during TLS': async () =>
      failure(to(await listening(createServer((socket) => void socket.once('data', () => socket.resetAndDestroy()))))),
    'the gateway is not there': async () => failure(
      to(1, { gateway: { clusterId: 'c', endpoints: [new URL(`http://127.0.0.1:${await closedPort()}`)] } }),
      impatient(),
    ),
    'the proxy is not there': async () => failure(to(1, { proxy: new URL(`http://127.0.0.1:${await closedPort()}`) })),
    'the proxy does not reach the server': async () => {
      const proxy = await listening(createServer(
        (socket) => void socket.once('data', () => socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n')),
      ));
      return failure(to(1, { proxy: new URL(`http://127.0.0.1:${proxy}`) }));
    },
    'nobody wants it any more before there is a connection': async () => {
      const doubt = new AbortController();
      const server = createServer(() => doubt.abort(new Error('in doubt')));
      return failure(to(await listening(server)), { connectTimeout: { signal: doubt.signal, ms: 60_000 } });
    },
  };
  for (const [what, fail] of Object.entries(UNSENT)) {
    it(`was not sent when ${what}`, async () => assert.equal((await fail()).isUnsent, true));
  }

  const SILENT = [
    'its name is not known', 'TLS does not come to its end',
    'TLS does not come to its end within the deadline of the call', 'the gateway is not there',
  ];
  for (const [what, fail] of Object.entries(UNSENT)) {
    const isSilent = SILENT.includes(what);
    it(
      `${isSilent ? 'tells of nothing but silence' : 'tells more than silence'} when ${what}`,
      async () => assert.equal(isSilence(await fail()), isSilent),
    );
  }

  /** Long enough for a handshake on a busy machine: the call must have been sent when it runs out. In ms. */
  const UNHURRIED_MS = 3_000;
  const SENT: Readonly<Record<string, () => Promise<UnreachableError>>> = {
    'the connection is reset once the request was read': async () =>
      failure(to(await secure((socket) => socket.destroy()))),
    'the connection ends in the middle of the answer': async () =>
      failure(to(await secure((socket) => void socket.end(HEAD)))),
    'the server closes its side and says nothing': async () => failure(to(await secure((socket) => void socket.end()))),
    'the server says nothing': async () =>
      failure(to(await secure(() => undefined)), { timeoutMs: UNHURRIED_MS, ...impatient(UNHURRIED_MS / 2) }),
    'nobody wants it any more, and it is on its way': async () => {
      const doubt = new AbortController();
      const port = await secure(() => doubt.abort(new Error('in doubt')));
      return failure(to(port), { timeoutMs: UNHURRIED_MS, connectTimeout: { signal: doubt.signal, ms: 60_000 } });
    },
  };
  for (const [what, fail] of Object.entries(SENT)) {
    it(`may have been done when ${what}`, async () => {
      const thrown = await fail();
      assert.deepEqual([thrown.isUnsent, isSilence(thrown)], [
        false, what === 'the server says nothing' || what.endsWith('is on its way'),
      ]);
    });
  }
});
