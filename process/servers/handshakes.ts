// Connections of a TLS server that are still in their handshake: closing a server waits for them, and nothing else
// tracks them.
import type { Socket } from 'node:net';

/** Connection events of a server: accepted, and readable. */
export interface TlsServerEvents {
  on(event: 'connection' | 'secureConnection', listener: (socket: Socket) => void): unknown;
}

/** Tracks a server from before it listens. */
export class Handshakes {
  /** By the client's address and port: the accepted socket and the readable one are different objects. */
  readonly #under = new Map<string, Socket>();

  constructor(server: TlsServerEvents) {
    server.on('connection', (socket) => {
      const peer = connectionKey(socket);
      this.#under.set(peer, socket);
      socket.once('close', () => {
        if (this.#under.get(peer) === socket) this.#under.delete(peer);
      });
    });
    server.on('secureConnection', (socket) => this.#under.delete(connectionKey(socket)));
  }

  /** Closes the pending ones. */
  end(): void {
    for (const socket of this.#under.values()) socket.destroy();
  }
}

/** A connection by the address and port of its client. */
export function connectionKey({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
