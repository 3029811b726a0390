// The end of a connection, however it comes.
import type { Socket } from 'node:net';

/**
 * Resolves when a connection has ended. A reset is an end like any other, which `once` of `node:events` would reject
 * for.
 */
export function closedSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}
