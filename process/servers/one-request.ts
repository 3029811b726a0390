// One request at a time per connection: no pipelining. Node.js delivers all requests of one chunk even after the
// connection was closed, so a client that pipelines thousands would get more work done than one that waits.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

type Listener = (this: Server, message: IncomingMessage, reply: ServerResponse) => void;

/**
 * Runs before existing request listeners. A second request before the response to the first closes the connection and
 * is not processed.
 */
export function takeOneAtATime(server: Server): void {
  const listeners = server.listeners('request') as Listener[];
  server.removeAllListeners('request');
  const busy = new WeakSet<Socket>();
  server.on('request', (message: IncomingMessage, reply: ServerResponse) => {
    const { socket } = message;
    if (busy.has(socket) || socket.destroyed) return void socket.destroy();
    busy.add(socket);
    reply.once('close', () => busy.delete(socket));
    for (const listener of listeners) listener.call(server, message, reply);
  });
}
