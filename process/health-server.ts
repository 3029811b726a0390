// /healthz, /readyz and /metrics. Alive means that the event loop runs; ready means that every named check passes, for
// example that caches have synced. A standby is ready.
import Fastify from 'fastify';
import type { AddressInfo } from 'node:net';
import { AppError, messageOf } from './errors.ts';
import type { Shutdown } from './lifecycle.ts';
import { collectProcessMetrics, METRICS, metricsText } from './metrics.ts';
import { EVERY_ADDRESS, hostPort } from '../model/network/socket-address.ts';
import { listenHost } from './listen-host.ts';

/** Readiness checks by name. */
export type ReadyChecks = Readonly<Record<string, () => boolean>>;

/** A running server. */
export interface HealthServer {
  readonly port: number;
  /** Closes at once, with all connections. */
  close(): Promise<void>;
}

interface HealthServerOptions {
  readonly host: string;
  readonly port: number;
  readonly checks: ReadyChecks;
}

/** Serves the health endpoints of a service until it stops, if a port was set. Throws AppError `StartFailed`. */
export async function serveHealth(
  { host = EVERY_ADDRESS, port, checks }: Pick<HealthServerOptions, 'checks'>
    & { readonly host?: string; readonly port: number | undefined },
  shutdown: Shutdown,
): Promise<void> {
  if (port === undefined) return;
  collectProcessMetrics();
  const server = await startHealthServer({ host, port, checks }).catch((error: unknown) => {
    throw new AppError(
      'StartFailed',
      `the health server cannot listen on ${hostPort(host, port)}: ${messageOf(error)}; choose another --health-port`,
      { cause: error },
    );
  });
  shutdown.add({ name: 'health server', stop: () => server.close() });
}

/** Listens; port 0 picks a free one. Throws what listening throws. */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server =
    Fastify({ logger: false, requestTimeout: 5_000, connectionTimeout: 10_000, forceCloseConnections: true });
  server.get('/healthz', () => 'ok\n');
  server.get('/readyz', (_request, reply) => {
    const results = Object.entries(options.checks).map(([name, holds]) => [name, holds()] as const);
    const isReady = results.every(([, holds]) => holds);
    const lines = results.map(([name, holds]) => `[${holds ? '+' : '-'}] ${name} ${holds ? 'ok' : 'not ready'}\n`)
      .join('');
    return reply.code(isReady ? 200 : 503).type('text/plain').send(`${lines}${isReady ? 'ready' : 'not ready'}\n`);
  });
  server.get('/metrics', async (_request, reply) => reply.type(METRICS.contentType).send(await metricsText()));
  await server.listen({ host: listenHost(options.host), port: options.port });
  return { port: (server.server.address() as AddressInfo).port, close: () => server.close() };
}
