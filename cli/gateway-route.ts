// `--gateway` and `--gateway-cluster` of commands that peer: the target is reached through the gateway now, and by whoever uses it later.
import type { Command } from 'commander';
import type { GatewayRoute } from '../kubernetes/gateway-dialer.ts';
import { isClusterId } from '../model/gateway-names.ts';
import { AppError } from '../process/errors.ts';
import { parseGateways } from './run-flags.ts';

/** As commander gives them. */
export interface GatewayFlags {
  /** CONNECT endpoints of this cluster's gateways. */
  readonly gateway?: readonly URL[];
  /** ID of the target in the clusterset. */
  readonly gatewayCluster?: string;
}

/** Adds both options. */
export function withGatewayRoute(command: Command): Command {
  return command
    .option('--gateway <urls>', "CONNECT endpoints of the gateways of the source, http://HOST:PORT, comma separated: the target's server is reached through them", parseGateways)
    .option('--gateway-cluster <id>', 'ID of the target in the clusterset; its (Cluster)Target gets it as spec.gateway');
}

/** The way through the gateway; undefined when none is asked for. Throws AppError `BadInput` for one option without the other. */
export function gatewayRoute({ gateway, gatewayCluster }: GatewayFlags): GatewayRoute | undefined {
  if (gateway === undefined && gatewayCluster === undefined) return undefined;
  if (gateway === undefined || gatewayCluster === undefined) throw new AppError('BadInput', '--gateway and --gateway-cluster belong together: where to ask, and for whom.');
  if (!isClusterId(gatewayCluster)) throw new AppError('BadInput', `--gateway-cluster must be the ID of a cluster in the clusterset, not "${gatewayCluster}".`);
  return { clusterId: gatewayCluster, endpoints: gateway };
}
