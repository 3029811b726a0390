// Request deadlines for keep-alive connections. Node.js' own deadlines also cover a new connection that has sent
// nothing yet, and end it with a 408. Go's client (net/http, Transport) opens spare connections: if it uses one at that
// moment, it takes the 408 for the response to its request, and does not retry a POST. So a silent connection is
// allowed for as long as such a client keeps one open.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Times in ms, and the number of connections that counts as a crowd. */
export interface ConnectionDeadlines {
  /** From the first byte of a request to the end of its headers. */
  readonly headers: number;
  /** From the first byte of a request to its last. */
  readonly request: number;
  /** For a connection that has sent nothing yet. */
  readonly unused: number;
  /** The same while there are more than `crowd` connections. */
  readonly unusedInCrowd: number;
  /** The same once the server is closing: it waits for every connection that is not idle between requests. */
  readonly unusedAtEnd: number;
  /** Above this number of connections, silent ones are closed sooner. */
  readonly crowd: number;
  /** Interval at which connections are checked. */
  readonly checkEvery: number;
}

/** Connection events of a server: `node:http` and `node:https`, by the event that passes a readable connection. */
export interface WatchedServer {
  on(event: 'connection' | 'secureConnection', listener: (socket: Socket) => void): unknown;
  on(event: 'request', listener: (message: IncomingMessage, reply: ServerResponse) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

interface Connection {
  readonly openedAt: number;
  /** Bytes read when the last response ended: what follows is the next request. */
  read: number;
  message: IncomingMessage | undefined;
  /** When the current request began. */
  since: number | undefined;
}

const LATE = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n';

/**
 * Closes connections of a server that exceed their deadline, until the server has closed. The server's own deadlines
 * must be longer. `now` is a monotonic clock, in ms.
 */
export function keepDeadlines(
  server: WatchedServer, opens: 'connection' | 'secureConnection', deadlines: ConnectionDeadlines,
  now = () => performance.now(),
): DeadlineKeeper {
  return new DeadlineKeeper(server, opens, deadlines, now);
}

/** See {@link keepDeadlines}. */
export class DeadlineKeeper {
  readonly #deadlines: ConnectionDeadlines;
  readonly #now: () => number;
  readonly #connections = new Map<Socket, Connection>();
  #isEnding = false;

  constructor(
    server: WatchedServer, opens: 'connection' | 'secureConnection', deadlines: ConnectionDeadlines, now: () => number,
  ) {
    this.#deadlines = deadlines;
    this.#now = now;
    server.on(opens, (socket) => {
      this.#connections.set(socket, { openedAt: this.#now(), read: 0, message: undefined, since: undefined });
      socket.once('close', () => this.#connections.delete(socket));
    });
    server.on('request', (message, reply) => this.#begun(message, reply));
    const timer = setInterval(() => this.check(), deadlines.checkEvery).unref();
    server.once('close', () => clearInterval(timer));
  }

  #begun(message: IncomingMessage, reply: ServerResponse): void {
    const { socket } = message;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    if (connection.message !== undefined) {
      socket.destroy(); // pipelining: no API server does that
      return;
    }
    connection.message = message;
    connection.since ??= this.#now();
    reply.once(
      'close', () => Object.assign(connection, { message: undefined, since: undefined, read: socket.bytesRead }),
    );
  }

  /** The server is closing: silent connections are no longer waited for. */
  end(): void {
    this.#isEnding = true;
    this.check();
    setTimeout(() => this.check(), this.#deadlines.unusedAtEnd + 1).unref();
  }

  /** Checks all connections. */
  check(): void {
    const patience = this.#patience();
    for (const [socket, connection] of this.#connections) {
      const { message, read } = connection;
      if (message?.complete === true) continue; // it is our turn to respond
      const isSilent = message === undefined && socket.bytesRead === read;
      if (!isSilent) this.#checkSending(socket, connection);
      else if (read === 0 && this.#now() - connection.openedAt > patience) socket.destroy();
    }
  }

  #patience(): number {
    const { unused, unusedInCrowd, unusedAtEnd, crowd } = this.#deadlines;
    if (this.#isEnding) return unusedAtEnd;
    return this.#connections.size > crowd ? unusedInCrowd : unused;
  }

  #checkSending(socket: Socket, connection: Connection): void {
    const { headers, request } = this.#deadlines;
    connection.since ??= this.#now();
    if (this.#now() - connection.since <= (connection.message === undefined ? headers : request)) return;
    // A client that had a response before may be reusing the connection now: it must not take this for its response.
    if (connection.read === 0) socket.write(LATE);
    socket.destroy();
  }
}
