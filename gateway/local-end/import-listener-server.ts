// Listeners for imported Services. Client bytes go to the exporter's gateway unchanged; a connection that cannot be
// carried is reset, as to a Service without endpoints, so that clients retry.
import { createServer, type Server, type Socket } from 'node:net';
import type { StreamDriver, StreamRecord } from '../protocol/cable-driver.ts';
import type { ListenerTarget } from './import-listeners.ts';
import { openForClient } from './local-stream.ts';
import { destroyOutsideFrames } from '../tunnel/session-end.ts';
import { joinStreams } from '../tunnel/stream-junction.ts';

/** Options of the listeners. */
export interface ImportListenersOptions {
  /** Listen address. */
  readonly host: string;
  /** The driver of an active gateway. */
  readonly driver: () => StreamDriver | undefined;
  /** Most connections over all listeners; more are reset. */
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
  #isServing = false;

  constructor(options: ImportListenersOptions) {
    this.#options = options;
  }

  /** Whether everything that was asked for is listened on. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** Open connections. */
  get open(): number {
    return this.#sockets.size;
  }

  /**
   * Listens on exactly these ports; open connections continue. Returns the ports that are in use by others.
   * @throws other errors of listening.
   */
  async serve(targets: ReadonlyMap<number, ListenerTarget>): Promise<readonly number[]> {
    this.#targets = targets;
    for (const [port, server] of this.#servers) if (!targets.has(port)) this.#end(port, server);
    const taken: number[] = [];
    for (const port of targets.keys()) if (!this.#servers.has(port) && !(await this.#listen(port))) taken.push(port);
    if (this.#targets === targets) this.#isServing = true; // unless it was closed meanwhile
    return taken;
  }

  /** Closes all listeners. Connections continue for as long as the driver carries their streams. */
  close(): void {
    this.#targets = new Map();
    this.#isServing = false;
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
    server.on('error', () => undefined); // fails one connection only: keep accepting
    this.#servers.set(port, server);
    return true;
  }

  async #carry(port: number, socket: Socket): Promise<void> {
    const { connections, halfClosedMs, audit } = this.#options;
    const [driver, target] = [this.#options.driver(), this.#targets.get(port)];
    socket.on('error', () => undefined);
    if (driver === undefined || target === undefined || this.#sockets.size >= connections) {
      return void socket.resetAndDestroy();
    }
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    try {
      const stream = await openForClient(driver, { ...target, lane: 'bulk' }, socket, audit);
      if (socket.destroyed) destroyOutsideFrames(stream);
      else joinStreams(socket, stream, halfClosedMs);
    } catch {
      socket.resetAndDestroy(); // the audit log has the reason
    }
  }
}
