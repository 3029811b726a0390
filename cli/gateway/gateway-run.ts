// `isthmus gateway run`: the gateway process of a cluster.
import { Command, Option } from 'commander';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import {
  parseAddress, parseServices, type AllowedServices, type ServiceAddress,
} from '../../gateway/protocol/allowed-services.ts';
import { IMPORT_PORTS, parsePortRange, type PortRange } from '../../gateway/local-end/import-listeners.ts';
import { startGateway } from '../../gateway/main.ts';
import { openCluster, userAgent, type OpenCluster } from '../../kubernetes/client/open-cluster.ts';
import { API_SERVER_SERVICE } from '../../model/network/gateway-names.ts';
import { AppError } from '../../process/errors.ts';
import { serveHealth } from '../../process/health-server.ts';
import { ownInstanceId } from '../../process/instance-id.ts';
import { runService, shutdownMs, untilStopped } from '../../process/lifecycle.ts';
import { createLogger, type LogLevel } from '../../process/logger.ts';
import { collect, healthPortOption, logLevelOption, wholeNumber } from '../clusters/run-flags.ts';
import { CONNECT_PORT, TUNNEL_PORT } from '../../manifests/objects/gateway.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';
import { OR_OWN_ACCOUNT } from '../clusters/cluster-flags.ts';
import { withClusterOptions, type ClusterFlags } from './gateway-membership.ts';

interface GatewayRunFlags extends ClusterFlags {
  readonly name: string;
  readonly listen: string;
  readonly connect: ServiceAddress;
  readonly connectAddress?: string;
  readonly service: readonly string[];
  readonly importAddress?: string;
  readonly importPorts: PortRange;
  readonly submarinerNamespace?: string;
  readonly drainSeconds: number;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
}

/** The command `gateway run`. */
export function gatewayRunCommand(): Command {
  return withClusterOptions(new Command('run'), 'the cluster', OR_OWN_ACCOUNT)
    .description('run a gateway of a cluster that has joined; several can run, one is active')
    .addOption(new Option('--name <name>', 'name of this process in its ClustersetGateway object').default(
      hostname(), "the host's name",
    ))
    .option(
      '--listen <address>', 'HOST:PORT for connections from gateways of other clusters, or "none" if they cannot ' +
        'reach it',
      hostPort(EVERY_ADDRESS, TUNNEL_PORT),
    )
    .addOption(
      new Option('--connect <address>', 'HOST:PORT of the CONNECT endpoint for the controllers of this cluster')
        .argParser(requireAddress('--connect'))
        .default({ host: '127.0.0.1', port: CONNECT_PORT }, hostPort('127.0.0.1', CONNECT_PORT)),
    )
    .option(
      '--connect-address <ip>',
      'address of the pod or host at which the other gateways of this cluster reach the CONNECT endpoint: a standby ' +
        'passes requests on to it; default: it refuses them',
      requireIp('--connect-address'),
    )
    .option(
      '--service <name=address>',
      `service that other clusters may reach, NAME=HOST:PORT, repeated; ${API_SERVER_SERVICE} is this cluster's API ` +
        'server unless set',
      collect, [],
    )
    .option(
      '--import-address <ip>',
      'listen on this address of the pod or host for Services that other clusters export, for members that no pod ' +
        'plane reaches; default: no import listeners',
      requireIp('--import-address'),
    )
    .addOption(
      new Option('--import-ports <range>', 'FIRST-LAST: ports for import listeners, one for each port of each Service')
        .argParser(requirePorts)
        .default(IMPORT_PORTS, `${IMPORT_PORTS.first}-${IMPORT_PORTS.last}`),
    )
    .option(
      '--submariner-namespace <name>',
      'namespace of an existing Submariner: its gateway connections are used as the pod plane; Submariner is not ' +
        'changed',
    )
    .option(
      '--drain-seconds <number>', 'how long streams may continue after this process is told to stop',
      wholeNumber('--drain-seconds', 0, 3_600), 20,
    )
    .addOption(healthPortOption())
    .addOption(logLevelOption())
    .action((flags: GatewayRunFlags) => runGateway(flags, untilStopped()));
}

async function runGateway(flags: GatewayRunFlags, asked: AbortSignal): Promise<void> {
  const logger = createLogger(flags.logLevel);
  await runService(asked, async ({ signal, shutdown }) => {
    const cluster =
      await openCluster({ kubeconfigPath: flags.kubeconfig, context: flags.context, userAgent: userAgent('gateway') });
    shutdown.add({ name: 'connections', stop: () => cluster.client.transport.close() });
    const gateway = await startGateway(
      {
        client: cluster.client, namespace: flags.namespace,
        name: flags.name, identity: ownInstanceId(), services: allowedServices(flags.service, cluster),
        listen: flags.listen === 'none' ? undefined : requireAddress('--listen')(flags.listen), connect: flags.connect,
        connectAddress: flags.connectAddress && hostPort(flags.connectAddress, flags.connect.port),
        imports: flags.importAddress === undefined
          ? undefined
          : { host: flags.importAddress, address: flags.importAddress, ports: flags.importPorts },
        submarinerNamespace: flags.submarinerNamespace, drainMs: flags.drainSeconds * 1_000, logger,
      },
      signal,
    );
    shutdown.add({ name: 'gateway', stop: () => gateway.ended });
    await serveHealth({ port: flags.healthPort, checks: { members: () => gateway.hasSynced } }, shutdown);
    logger.info({ connect: gateway.connectPort }, 'running');
  }, { timeoutMs: shutdownMs(flags.drainSeconds * 1_000) });
}

/** What other clusters may reach: the API server first. Throws AppError `BadInput`. */
export function allowedServices(
  entries: readonly string[], { connection }: Pick<OpenCluster, 'connection'>,
): AllowedServices {
  const parsed = parseServices(entries);
  if (parsed.kind === 'invalid') throw new AppError('BadInput', `--service: ${parsed.message}.`);
  const { hostname: host, port } = connection.server;
  const apiServer: ServiceAddress = { host: host.replace(/^\[|\]$/g, ''), port: port === '' ? 443 : Number(port) };
  return new Map([[API_SERVER_SERVICE, apiServer], ...parsed.services]);
}

function requireAddress(option: string): (text: string) => ServiceAddress {
  return (text) => {
    const address = parseAddress(text);
    if (address === undefined) throw new AppError('BadInput', `${option} takes HOST:PORT, not "${text}".`);
    return address;
  };
}

function requireIp(option: string): (text: string) => string {
  return (text) => {
    if (isIP(text) !== 0) return text;
    throw new AppError('BadInput', `${option} takes an IP address of this host or pod, not "${text}".`);
  };
}

function requirePorts(text: string): PortRange {
  const range = parsePortRange(text);
  if (range === undefined) {
    throw new AppError('BadInput', `--import-ports takes FIRST-LAST within 1024 and 65535, not "${text}".`);
  }
  return range;
}
