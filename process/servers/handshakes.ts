// The connections of a TLS server that have not finished their handshake: a server that closes waits for them, and nothing else of it sees them.
import type { Socket } from 'node:net';

/** What a server tells of a connection: that it was opened, and that it can be read. */
export interface TlsServerEvents {
  on(event: 'connection' | 'secureConnection', listener: (socket: Socket) => void): unknown;
}

/** Follows a server from before it listens. */
export class Handshakes {
  /** By the client's address and port: those that shake hands and those that can be read are different sockets. */
  readonly #under = new Map<string, Socket>();

  constructor(server: TlsServerEvents) {
    server.on('connection', (socket) => {
      const peer = peerOf(socket);
      this.#under.set(peer, socket);
      socket.once('close', () => {
        if (this.#under.get(peer) === socket) this.#under.delete(peer);
      });
    });
    server.on('secureConnection', (socket) => this.#under.delete(peerOf(socket)));
  }

  /** Ends those that are under way. */
  end(): void {
    for (const socket of this.#under.values()) socket.destroy();
  }
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
