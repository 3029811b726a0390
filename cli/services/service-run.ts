// `isthmus service run`: the service discovery process of a cluster.
import { Command } from 'commander';
import { DEFAULT_INSTALL_NAMESPACE } from '../../api/objects/keys.ts';
import { parseAddress } from '../../gateway/protocol/allowed-services.ts';
import { DNS_PORT } from '../../manifests/objects/service-discovery.ts';
import { startServiceDiscovery } from '../../service-discovery/main.ts';
import { AppError } from '../../process/errors.ts';
import { serveHealth } from '../../process/health-server.ts';
import { ownInstanceId } from '../../process/instance-id.ts';
import { runService } from '../../process/lifecycle.ts';
import { createLogger, type LogLevel } from '../../process/logger.ts';
import { healthPortOption, logLevelOption } from '../clusters/run-flags.ts';
import { withCluster, withClusterFlags, type ClusterFlags } from '../clusters/cluster-flags.ts';
import { EVERY_ADDRESS, hostPort } from '../../model/network/socket-address.ts';

interface ServiceRunFlags extends ClusterFlags {
  readonly namespace: string;
  readonly dns: string;
  readonly exportFollowed?: boolean;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
}

/** The command `service run`. */
export function serviceRunCommand(): Command {
  return withClusterFlags(new Command('run'))
    .description(
      "run service discovery: publish this cluster's exports, import those of others, serve DNS; several can run",
    )
    .option('--namespace <name>', 'install namespace', DEFAULT_INSTALL_NAMESPACE)
    .option(
      '--dns <address>', 'HOST:PORT of the DNS server for clusterset.local, UDP and TCP, or "none"',
      hostPort(EVERY_ADDRESS, DNS_PORT),
    )
    .option(
      '--export-followed',
      'export every Service that follows elected pods; set it in the target clusters as well',
    )
    .addOption(healthPortOption())
    .addOption(logLevelOption())
    .action((flags: ServiceRunFlags) => withCluster(
      flags, 'service-discovery', ({ client }, signal) => run(flags, client, signal),
    ));
}

async function run(
  { namespace, dns, exportFollowed = false, healthPort, logLevel }: ServiceRunFlags,
  client: Parameters<typeof startServiceDiscovery>[0]['client'], asked: AbortSignal,
): Promise<void> {
  const logger = createLogger(logLevel);
  const listen = dns === 'none' ? undefined : parseAddress(dns);
  if (dns !== 'none' && listen === undefined) {
    throw new AppError('BadInput', `--dns takes HOST:PORT or "none", not "${dns}".`);
  }
  await runService(asked, async ({ signal, shutdown }) => {
    const discovery = await startServiceDiscovery(
      {
        client, installNamespace: namespace, identity: ownInstanceId(), dns: listen,
        exportsFollowedServices: exportFollowed, logger,
      },
      signal,
    );
    shutdown.add({ name: 'service discovery', stop: async () => discovery.ended });
    await serveHealth({ port: healthPort, checks: { services: () => discovery.hasSynced } }, shutdown);
    logger.info({ dns: discovery.dnsPort }, 'running');
  });
}
