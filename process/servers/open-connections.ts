// All connections of a server, so that it can close at once. `closeAllConnections` of `node:https` misses those still
// in their handshake, and a silent one would be waited for.
import type { Socket } from 'node:net';

/** Tracks a server from before it listens. */
export class OpenConnections {
  readonly #open = new Set<Socket>();
  #isEnding = false;

  constructor(server: { on(event: 'connection', listener: (socket: Socket) => void): unknown }) {
    server.on('connection', (socket) => {
      if (this.#isEnding) return void socket.destroy();
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
  }

  /** Number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Closes all open connections, and from now on each new one. */
  end(): void {
    this.#isEnding = true;
    for (const socket of this.#open) socket.destroy();
  }
}
