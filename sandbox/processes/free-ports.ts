// Free TCP ports of this machine for servers that are started later. The operating system is not asked to choose: what
// it gives may be taken by an outgoing connection, of which a sandbox opens thousands, before the server listens.
import { createServer, type Server } from 'node:net';
import { AppError } from '../../process/errors.ts';

/**
 * Below the ports of outgoing connections on Linux, macOS and Windows, of Services of type NodePort, and of imports at
 * a gateway; above those of Kubernetes' own programs.
 */
const firstPort = 11_000;
const portCount = 9_000;

/** Where the next port is looked for. Each process begins elsewhere, so that two rarely try the same ones. */
let position = (process.pid * 127) % portCount;

/** Undefined when the port is taken. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

/**
 * So many distinct ports that were free on 127.0.0.1 a moment ago; a process is not given the same ones again
 * soon. Throws AppError `StartFailed` when there are not so many.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  for (let tries = 0; tries < portCount && ports.length < count; tries += 1) {
    const port = firstPort + position;
    position = (position + 1) % portCount;
    const server = await listen(port);
    if (server === undefined) continue;
    await close(server);
    ports.push(port);
  }
  if (ports.length === count) return ports;
  const last = firstPort + portCount - 1;
  throw new AppError('StartFailed', `Too few ports from ${firstPort} to ${last} are free on 127.0.0.1.`);
}
