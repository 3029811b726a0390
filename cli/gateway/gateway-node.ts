// `isthmus gateway node`: the pod plane on one node. It needs permission to change the node's network.
import { Command, Option } from 'commander';
import { hostname } from 'node:os';
import { parseAddress } from '../../gateway/protocol/allowed-services.ts';
import { startPodPlaneNode } from '../../pod-plane/nodes/pod-plane-node-controller.ts';
import { openCluster, userAgent } from '../../kubernetes/client/open-cluster.ts';
import { WIREGUARD_PORT } from '../../model/network/pod-plane.ts';
import { environment } from '../../process/config.ts';
import { AppError } from '../../process/errors.ts';
import { serveHealth } from '../../process/health-server.ts';
import { ownInstanceId } from '../../process/instance-id.ts';
import { runService, untilStopped } from '../../process/lifecycle.ts';
import { createLogger, type LogLevel } from '../../process/logger.ts';
import { ensureWireguard } from '../../pod-plane/wireguard/wireguard-program.ts';
import { collect, healthPortOption, logLevelOption, parsePort, wholeNumber } from '../clusters/run-flags.ts';
import { OR_OWN_ACCOUNT } from '../clusters/cluster-flags.ts';
import { withClusterOptions, type ClusterFlags } from './gateway-membership.ts';

interface GatewayNodeFlags extends ClusterFlags {
  readonly nodeName: string;
  readonly address: readonly string[];
  readonly listenPort: number;
  readonly mtu: number;
  readonly wireguard?: string;
  readonly healthPort?: number;
  readonly logLevel: LogLevel;
}

const NO_ADDRESS = 'none';

/** The command `gateway node`. */
export function gatewayNodeCommand(): Command {
  return withClusterOptions(new Command('node'), 'the cluster', OR_OWN_ACCOUNT)
    .description(
      'run the pod plane on this node, as root: pods of all clusters reach one another over WireGuard; run it on ' +
        'every node, one is the gateway',
    )
    .addOption(new Option('--node-name <name>', 'name of the Node object of this machine').default(
      hostname(), "the host's name",
    ))
    .option(
      '--address <host:port>',
      `UDP address where gateways of other clusters reach this one, repeated; "${NO_ADDRESS}" if it can only dial ` +
        `out; default: the nodes' own`,
      collect, [],
    )
    .option('--listen-port <number>', 'UDP port of WireGuard', parsePort('--listen-port'), WIREGUARD_PORT)
    .option('--mtu <bytes>', 'largest packet between clusters', wholeNumber('--mtu', 1_280, 65_535), 1_500)
    .option(
      '--wireguard <file>',
      'the binary of pod-plane/wireguard/program; default: built on first use, which needs Go',
    )
    .addOption(healthPortOption())
    .addOption(logLevelOption())
    .action((flags: GatewayNodeFlags) => runNode(flags, untilStopped()));
}

async function runNode(flags: GatewayNodeFlags, asked: AbortSignal): Promise<void> {
  const logger = createLogger(flags.logLevel);
  const addresses = planeAddresses(flags.address);
  const program = flags.wireguard
    ?? (await ensureWireguard(environment(), (text) => logger.info({ text }, 'building'), asked));
  await runService(asked, async ({ signal, shutdown }) => {
    const { client } = await openCluster(
      { kubeconfigPath: flags.kubeconfig, context: flags.context, userAgent: userAgent('pod-plane') },
    );
    shutdown.add({ name: 'connections', stop: () => client.transport.close() });
    const { namespace, nodeName: node, listenPort, mtu: pathMtu } = flags;
    const plane = startPodPlaneNode(
      { client, namespace, node, program, listenPort, addresses, pathMtu, instanceId: ownInstanceId(), logger },
      signal,
    );
    shutdown.add({ name: 'pod plane', stop: () => plane.ended });
    await serveHealth({ port: flags.healthPort, checks: { objects: () => plane.hasSynced } }, shutdown);
    logger.info({ node }, 'running');
  });
}

/** Where peers reach the gateway; undefined for the nodes' own addresses. Throws AppError `BadInput`. */
export function planeAddresses(given: readonly string[]): readonly string[] | undefined {
  if (given.length === 0) return undefined;
  if (given.includes(NO_ADDRESS)) {
    if (given.length > 1) {
      throw new AppError('BadInput', `--address ${NO_ADDRESS} says that there is none; give no other.`);
    }
    return [];
  }
  const wrong = given.find((address) => parseAddress(address) === undefined);
  if (wrong !== undefined) throw new AppError('BadInput', `--address takes HOST:PORT, not "${wrong}".`);
  return given;
}
