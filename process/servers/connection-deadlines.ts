// How long clients may take to send a request over a connection that is kept. Node.js' own deadlines also count the time in which a new connection
// has not sent anything, and answer that with 408. Go's client (net/http, Transport) opens spare connections: one that it uses at that very moment takes
// the 408 for the answer to its request, and a POST that had a connection to itself is not sent again. So silence is no offence here for as
// long as such a client keeps a connection.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Times in ms, and how many connections are a crowd. */
export interface ConnectionDeadlines {
  /** From the first byte of a request to the end of its headers. */
  readonly headers: number;
  /** From the first byte of a request to its last. */
  readonly request: number;
  /** For a connection that has sent nothing yet. */
  readonly unused: number;
  /** The same while there are more than `crowd` connections. */
  readonly unusedInCrowd: number;
  /** The same once the server is to close: it waits for every connection that is not between two requests. */
  readonly unusedAtEnd: number;
  /** With more connections than so many, those that say nothing are in the way of others. */
  readonly crowd: number;
  /** How often connections are looked at. */
  readonly checkEvery: number;
}

/** What a server tells of its connections: `node:http` and `node:https`, by the event that gives a connection that can be read. */
export interface WatchedServer {
  on(event: 'connection' | 'secureConnection', listener: (socket: Socket) => void): unknown;
  on(event: 'request', listener: (message: IncomingMessage, reply: ServerResponse) => void): unknown;
  once(event: 'close', listener: () => void): unknown;
}

interface Connection {
  readonly openedAt: number;
  /** Bytes that had been read when the last answer ended: what comes after them is the next request. */
  read: number;
  message: IncomingMessage | undefined;
  /** Since when a request is under way. */
  since: number | undefined;
}

const LATE = 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n\r\n';

/**
 * Ends connections of a server that are past their deadline, until the server has closed. Its own deadlines must be longer. `now` is a monotonic
 * clock, in ms.
 */
export function keepDeadlines(server: WatchedServer, opens: 'connection' | 'secureConnection', deadlines: ConnectionDeadlines, now = () => performance.now()): DeadlineKeeper {
  return new DeadlineKeeper(server, opens, deadlines, now);
}

/** See {@link keepDeadlines}. */
export class DeadlineKeeper {
  readonly #deadlines: ConnectionDeadlines;
  readonly #now: () => number;
  readonly #connections = new Map<Socket, Connection>();
  #isEnding = false;

  constructor(server: WatchedServer, opens: 'connection' | 'secureConnection', deadlines: ConnectionDeadlines, now: () => number) {
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
      socket.destroy(); // a second request before the first was answered: no API server does that
      return;
    }
    connection.message = message;
    connection.since ??= this.#now();
    reply.once('close', () => Object.assign(connection, { message: undefined, since: undefined, read: socket.bytesRead }));
  }

  /** The server is to close: from now on nobody is waited for who has nothing to say. */
  end(): void {
    this.#isEnding = true;
    this.check();
    setTimeout(() => this.check(), this.#deadlines.unusedAtEnd + 1).unref();
  }

  /** Looks at all connections. */
  check(): void {
    const patience = this.#patience();
    for (const [socket, connection] of this.#connections) {
      const { message, read } = connection;
      if (message?.complete === true) continue; // it is ours to answer now
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
    // A client that was answered before may be about to use the connection again: it must not take this for an answer.
    if (connection.read === 0) socket.write(LATE);
    socket.destroy();
  }
}
