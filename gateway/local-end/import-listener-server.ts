// The listeners for imported Services. What a client sends goes to the exporter's gateway as it came; a connection that cannot be carried is reset, as
// one to a Service without endpoints is, so that clients try again.
import { createServer, type Server, type Socket } from 'node:net';
import type { StreamDriver, StreamRecord } from '../protocol/cable-driver.ts';
import type { ListenerTarget } from './import-listeners.ts';
import { openForClient } from './local-stream.ts';
import { joinStreams } from '../tunnel/stream-junction.ts';

/** What the listeners are made with. */
export interface ImportListenersOptions {
  /** Address that they listen on. */
  readonly host: string;
  /** The driver of a gateway that is active. */
  readonly driver: () => StreamDriver | undefined;
  /** Most connections at once, over all listeners; more are reset. */
  readonly connections: number;
  readonly halfClosedMs: number;
  readonly audit: (record: StreamRecord) => void;
}

/** All listeners of one gateway. */
export class ImportListeners {
  readonly #options: ImportListenersOptions;
  readonly #servers = new Map<number, Server>();
  readonly #sockets = new Set<Socket>();
  #targets: ReadonlyMap<number, ListenerTarget> = new Map();

  constructor(options: ImportListenersOptions) {
    this.#options = options;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  /**
   * Listens on these ports and no others; connections that are open go on. Gives the ports that something else has.
   * @throws what listening throws besides.
   */
  async serve(targets: ReadonlyMap<number, ListenerTarget>): Promise<readonly number[]> {
    this.#targets = targets;
    for (const [port, server] of this.#servers) if (!targets.has(port)) this.#end(port, server);
    const taken: number[] = [];
    for (const port of targets.keys()) if (!this.#servers.has(port) && !(await this.#listen(port))) taken.push(port);
    return taken;
  }

  /** Ends all listeners. Connections go on for as long as the driver carries their streams. */
  close(): void {
    this.#targets = new Map();
    for (const [port, server] of this.#servers) this.#end(port, server);
  }

  #end(port: number, server: Server): void {
    this.#servers.delete(port);
    server.close();
  }

  async #listen(port: number): Promise<boolean> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => void this.#carry(port, socket));
    const outcome = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
      server.once('error', resolve);
      server.listen({ host: this.#options.host, port }, () => resolve(undefined));
    });
    if (outcome?.code === 'EADDRINUSE') return false;
    if (outcome !== undefined) throw outcome;
    server.on('error', () => undefined); // of one connection at most: accepting goes on
    this.#servers.set(port, server);
    return true;
  }

  async #carry(port: number, socket: Socket): Promise<void> {
    const { connections, halfClosedMs, audit } = this.#options;
    const [driver, target] = [this.#options.driver(), this.#targets.get(port)];
    socket.on('error', () => undefined);
    if (driver === undefined || target === undefined || this.#sockets.size >= connections) return void socket.resetAndDestroy();
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    try {
      const stream = await openForClient(driver, { ...target, lane: 'bulk' }, socket, audit);
      if (socket.destroyed) stream.destroy();
      else joinStreams(socket, stream, halfClosedMs);
    } catch {
      socket.resetAndDestroy(); // why is in the audit log
    }
  }
}
