// The connections of a server, so that it can end at once. Those of `node:https` that still shake hands are none to its own `closeAllConnections`, and
// whoever keeps one open and says nothing would be waited for.
import type { Socket } from 'node:net';

/** Follows a server from before it listens. */
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

  /** Ends all that are open, and from now on each new one. */
  end(): void {
    this.#isEnding = true;
    for (const socket of this.#open) socket.destroy();
  }
}
