// A registry that is not ours, with TLS by a private CA, for a user with a password: CNCF's own program, and crane to
// copy images. Commands reach it by any name, through an HTTP proxy that connects all names to it and notes them.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { environment } from '../../../process/config.ts';
import { createAuthority } from '../../../process/crypto/certificate-authority.ts';
import { ensureGoProgram } from '../../../process/programs/go-program.ts';
import { forQuickBuilds } from '../../../sandbox/plan/binary-plan.ts';
import { freePorts } from '../../../sandbox/processes/free-ports.ts';

/** The one user. */
export const REGISTRY_USER = { name: 'ci', password: 'correct horse battery' } as const;
/** The user with the bcrypt hash of the password, as `htpasswd -B` writes it. */
const HTPASSWD = 'ci:$2a$04$B3wxf.sVnVL5TzJ212NzXu29EAqH6zz8A0YWMCljHGI1yk1hiQQny\n';

/** Builds the program where it is missing; `PROGRAM crane …`, `PROGRAM serve CONFIG`. */
export function ensureRegistryProgram(signal: AbortSignal): Promise<string> {
  return ensureGoProgram({
    module: 'sandbox/registry', name: 'registry', what: 'a registry and crane for a test', takes: 'about a minute',
    remedy: 'Only that test needs them.',
  }, forQuickBuilds(environment()), () => undefined, signal);
}

/** A running registry. */
export class PrivateRegistry {
  /** File with the certificate of the CA. */
  readonly authorityFile: string;
  /** URL for `HTTPS_PROXY`. */
  readonly proxyUrl: string;
  readonly #child: ChildProcess;
  readonly #proxy: ConnectProxy;

  private constructor(child: ChildProcess, proxy: ConnectProxy, authorityFile: string) {
    this.#child = child;
    this.#proxy = proxy;
    this.proxyUrl = proxy.url;
    this.authorityFile = authorityFile;
  }

  /** Starts it under these host names, with its files in a new folder. Resolves when it listens. */
  static async start(
    program: string, folder: string, names: readonly string[], signal: AbortSignal,
  ): Promise<PrivateRegistry> {
    await mkdir(folder, { recursive: true });
    const [port = 0] = await freePorts(1);
    const authority = await createAuthority('private CA of a test', 1, new Date());
    const { certificate, key } =
      await authority.issue({ commonName: 'registry', dnsNames: names, days: 1, usages: ['server'] }, new Date());
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const config = {
      version: 0.1, log: { level: 'error', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'storage') } },
      http: {
        addr: `127.0.0.1:${port}`,
        tls: { certificate: await file('server.crt', certificate), key: await file('server.key', key) },
      },
      auth: { htpasswd: { realm: 'registry', path: await file('htpasswd', HTPASSWD) } },
    };
    const authorityFile = await file('ca.crt', authority.keyPair.certificate);
    const child = spawn(program, ['serve', await file('config.yml', stringify(config))], {
      stdio: 'ignore', env: { OTEL_TRACES_EXPORTER: 'none' }, // it would look for a collector of traces
    });
    await untilListens(child, port, signal);
    return new PrivateRegistry(child, await ConnectProxy.start(port), authorityFile);
  }

  /** `HOST:PORT` of all connections so far, each once. */
  get called(): readonly string[] {
    return [...new Set(this.#proxy.called)].toSorted();
  }

  /** Ends the program and the proxy. */
  async stop(): Promise<void> {
    await this.#proxy.stop();
    if (this.#child.exitCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill();
    await gone;
  }
}

async function untilListens(child: ChildProcess, port: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if (child.exitCode !== null) throw new Error(`the registry ended with ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(() => true, () => false);
    socket.destroy();
    if (isOpen) return;
    await delay(50, undefined, { signal });
  }
}

/** Answers CONNECT for every name with a connection to one port of this machine. */
class ConnectProxy {
  readonly called: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, port: number) {
    this.#server = server;
    server.on('connect', ({ url = '' }, client: Socket) => {
      this.called.push(url);
      const upstream = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
      for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => other.destroy()).on('close', () => this.#sockets.delete(socket)).pipe(other);
      }
    });
  }

  static async start(port: number): Promise<ConnectProxy> {
    const server = createServer((_request, response) => response.writeHead(405).end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ConnectProxy(server, port);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
