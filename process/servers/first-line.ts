// Inspects the first line of each HTTPS connection before the HTTP server reads it. Node.js parses all pipelined
// requests of one chunk, ten thousand if need be, before a handler can close the connection; unwanted clients must not
// get that far.
import type { Server, Socket } from 'node:net';

/** Longest request line, in bytes. */
const MAX_LINE = 8 * 1_024;
const LINE_FEED = 0x0a;

type Listener = (this: Server, socket: Socket) => void;

/**
 * Runs before existing listeners for readable connections. `decide` gets the line without its end and returns whether
 * the server is to read the connection from its start. Otherwise `decide` must close the connection; nothing more of it
 * is read.
 */
export function readFirstLines(server: Server, decide: (line: string, socket: Socket) => boolean): void {
  const listeners = server.listeners('secureConnection') as Listener[];
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: Socket) => {
    let read = Buffer.alloc(0);
    socket.on('error', () => undefined); // nobody else listens yet
    const look = (): void => {
      const chunk = socket.read() as Buffer | null;
      if (chunk === null) return;
      read = Buffer.concat([read, chunk]);
      const end = read.indexOf(LINE_FEED);
      if (end === -1 && read.length <= MAX_LINE) return;
      socket.off('readable', look);
      if (end === -1 || end > MAX_LINE) return void socket.destroy();
      if (!decide(read.toString('latin1', 0, end).trimEnd(), socket)) return;
      socket.unshift(read);
      for (const listener of listeners) listener.call(server, socket);
    };
    socket.on('readable', look);
  });
}
