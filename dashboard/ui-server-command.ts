// `isthmus ui-server`: the page in a cluster, for anyone with a token of that cluster. The chart's Deployment runs it.
import { Command, Option } from 'commander';
import { isIPv4, isIPv6 } from 'node:net';
import { withClusterFlags, type ClusterFlags } from '../cli/clusters/cluster-flags.ts';
import { collect, healthPortOption, logLevelOption } from '../cli/clusters/run-flags.ts';
import { parseAddress, type ServiceAddress } from '../gateway/protocol/allowed-services.ts';
import { ClusterClient } from '../kubernetes/client/cluster-client.ts';
import type { ClusterConnection } from '../kubernetes/credentials/kubeconfig.ts';
import { connectionOf, userAgent } from '../kubernetes/client/open-cluster.ts';
import { Transport } from '../kubernetes/http/transport.ts';
import { UI_PORT } from '../manifests/objects/workloads.ts';
import { environment } from '../process/config.ts';
import { AppError } from '../process/errors.ts';
import { serveHealth } from '../process/health-server.ts';
import { runService, untilStopped } from '../process/lifecycle.ts';
import { createLogger, type LogLevel } from '../process/logger.ts';
import { ClusterViewers } from './cluster-viewers.ts';
import { followCertificate, readCertificate } from './page-certificate.ts';
import { startPageServer } from './server/page-server.ts';
import { isHostName } from '../model/naming/label-syntax.ts';
import { EVERY_ADDRESS, hostPort } from '../model/network/socket-address.ts';

interface UiServerFlags extends ClusterFlags {
  readonly listen: ServiceAddress;
  readonly host: readonly string[];
  readonly tlsFolder: string;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
}

/** Names that a forwarded port has on a viewer's machine. */
const FORWARDED = ['localhost', '127.0.0.1'];

/** The command for commander. */
export function uiServerCommand(): Command {
  const command = new Command('ui-server').description(
    'Serve the page of "isthmus ui" in a cluster. Viewers sign in with a token of the cluster and see what it lets ' +
      'them see; the page itself needs no permissions.',
  );
  return withClusterFlags(command)
    .addOption(
      new Option('--listen <address>', 'HOST:PORT to listen on').argParser(listenAddress)
        .default({ host: EVERY_ADDRESS, port: UI_PORT }, hostPort(EVERY_ADDRESS, UI_PORT)),
    )
    .addOption(
      new Option('--host <name>', 'name or IP address in the address of the page, repeated; localhost always is one')
        .argParser(collectHost).default(FORWARDED, 'localhost'),
    )
    .requiredOption(
      '--tls-folder <folder>', 'folder with tls.crt and tls.key, as a Secret of type kubernetes.io/tls is mounted',
    )
    .addOption(healthPortOption())
    .addOption(logLevelOption())
    .action((flags: UiServerFlags) => serve(flags, untilStopped()));
}

async function serve(flags: UiServerFlags, asked: AbortSignal): Promise<void> {
  const logger = createLogger(flags.logLevel);
  await runService(asked, async ({ signal, shutdown }) => {
    await apiServerOf(flags); // says at once what is wrong with the flags
    const viewers = new ClusterViewers({ open: (token) => openAs(flags, token), signal, logger });
    shutdown.add({ name: 'viewers', stop: () => viewers.close() });
    const certificate = await readCertificate(flags.tlsFolder);
    const { host, port } = flags.listen;
    const tlsListener = { host, names: flags.host, certificate };
    const server = await startPageServer({ port, tlsListener, access: viewers });
    shutdown.add({ name: 'page', stop: () => server.close() });
    const following = followCertificate({ folder: flags.tlsFolder, certificate, server, logger }, signal);
    shutdown.add({ name: 'certificate', stop: () => following });
    await serveHealth({ port: flags.healthPort, checks: {} }, shutdown);
    logger.info({ port: server.port, names: flags.host }, 'running');
  });
}

/** A client of the cluster that authenticates with this token alone. Throws AppError `KubeconfigInvalid`. */
async function openAs(flags: ClusterFlags, token: string): Promise<ClusterClient> {
  const server = await apiServerOf(flags);
  return new ClusterClient(new Transport({ ...server, credentials: { kind: 'token', token } }, userAgent('ui')));
}

/** How to reach the API server, read each time: its CA may be replaced. Without the pod's own credentials. */
async function apiServerOf(
  { kubeconfig, context }: ClusterFlags,
): Promise<Omit<ClusterConnection, 'credentials' | 'reread'>> {
  const { credentials: _, reread: __, ...server } =
    await connectionOf({ kubeconfigPath: kubeconfig, context }, environment());
  return server;
}

function listenAddress(text: string): ServiceAddress {
  const address = parseAddress(text);
  if (address === undefined) throw new AppError('BadInput', `--listen takes HOST:PORT, not "${text}".`);
  return address;
}

function collectHost(text: string, before: readonly string[]): readonly string[] {
  const name = isHostName(text) || isIPv4(text) ? text : ipv6Host(text);
  if (name === undefined) {
    throw new AppError(
      'BadInput', `--host takes a DNS name in lower case or an IP address, without a port, not "${text}".`,
    );
  }
  return collect(name, before);
}

/** An IPv6 address as browsers write it in the header Host: in its shortest form (RFC 5952) and in brackets. */
function ipv6Host(text: string): string | undefined {
  const address = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  return isIPv6(address) && !address.includes('%') ? new URL(`https://[${address}]`).hostname : undefined;
}
