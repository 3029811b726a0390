// A server that a tenant's kubeconfig names and that is no API server, or a hostile one: it answers what the test
// wants, without an end if need be.
import { once } from 'node:events';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer as createTlsServer } from 'node:tls';
import { stringify } from 'yaml';
import { createAuthority, type KeyPair } from '../../../process/crypto/certificate-authority.ts';

/** Answers one request. */
export type Answer = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** Certificates of 127.0.0.1 by an authority of the tenant's. */
export interface Certificates {
  readonly authority: string;
  readonly server: KeyPair;
}

/** Makes them. */
export async function certificatesOfLoopback(): Promise<Certificates> {
  const authority = await createAuthority('tenant-ca', 1, new Date());
  return {
    authority: authority.keyPair.certificate,
    server: await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], days: 1 }, new Date()),
  };
}

/** A server on a port of 127.0.0.1. */
export class HostileServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      this.connections += 1;
      socket.on('error', () => undefined);
    });
  }

  connections = 0;

  /** Speaks HTTP/2 and HTTP/1.1 over TLS. */
  static http({ server: { certificate, key } }: Certificates, answer: Answer): Promise<HostileServer> {
    const server = createSecureServer({ cert: certificate, key, allowHTTP1: true }, (request, response) => {
      response.on('error', () => undefined);
      answer(request, response);
    });
    server.on('sessionError', () => undefined);
    return HostileServer.#listen(server);
  }

  /** Speaks TLS, and HTTP/1.1 only as far as the test does. */
  static tls({ server: { certificate, key } }: Certificates, talk: (socket: Socket) => void): Promise<HostileServer> {
    return HostileServer.#listen(createTlsServer({ cert: certificate, key, ALPNProtocols: ['http/1.1'] }, (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => talk(socket));
    }));
  }

  /** Speaks what the test writes. */
  static tcp(talk: (socket: Socket) => void): Promise<HostileServer> {
    return HostileServer.#listen(createTcpServer(talk));
  }

  static async #listen(server: Server): Promise<HostileServer> {
    const hostile = new HostileServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return hostile;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Bytes that clients have taken, TLS included. */
  get bytesTaken(): number {
    return [...this.#sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0);
  }

  /** Ends all connections, and listens no longer. */
  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Writes a chunk again and again, as fast as the client takes it, until the client has gone. */
export function writeForEver(
  stream: Pick<Socket, 'write' | 'once' | 'destroyed'> | Http2ServerResponse, chunk: Buffer | string,
): void {
  const isGone = () =>
    ('stream' in stream ? stream.stream?.destroyed || stream.socket?.destroyed : (stream as Socket).destroyed);
  const go = (): void => {
    while (!isGone()) if (!stream.write(chunk)) return void stream.once('drain', go);
  };
  go();
}

/** A kubeconfig for a server at this port, as a tenant would write it. */
export function tenantKubeconfig(server: string, { authority }: Pick<Certificates, 'authority'>): string {
  return stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters:
      [{ name: 'c', cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
    users: [{ name: 'u', user: { token: 't' } }],
  });
}
