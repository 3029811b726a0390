// Has a server answer one request of a connection at a time. A client may send thousands in a row, and Node.js hands over all that came in one piece,
// whatever became of the connection meanwhile: who asks again before it was answered would have more done for it than who waits.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';

type Listener = (this: Server, message: IncomingMessage, reply: ServerResponse) => void;

/** Stands before those who listen for requests so far. A second request that does not wait for its answer ends the connection, and is not looked at. */
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
